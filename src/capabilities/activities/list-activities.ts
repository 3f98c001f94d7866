import { sql } from "kysely";
import { Type } from "typebox";
import { activityStatuses, findActivity, findVotes } from "../../engine/activities/records.ts";
import { ActivityType, AnyActivity } from "../../engine/activities/schema.ts";
import { query } from "../../engine/declare.ts";
import { Id, List, OneOf, Pagination } from "../../engine/fields.ts";
import { newestFirst, pageOf } from "../../engine/paging.ts";
import { MAX_PAGE_BYTES } from "../../kernel/limits.ts";
import { viewFor } from "./view.ts";

export const listActivities = query({
  path: "list_activities",
  summary: "Activities, newest first, narrowed by status and type.",
  needs: ["registry"],
  request: Type.Object({
    organizationId: Id,
    filterByStatus: Type.Optional(List(OneOf(activityStatuses))),
    paginationOptions: Type.Optional(Pagination),
    filterByType: Type.Optional(List(ActivityType)),
  }),
  response: Type.Object({
    activities: Type.Array(AnyActivity),
    hasMore: Type.Optional(
      Type.Boolean({ description: "True where the page is shorter than asked for because its activities are large." }),
    ),
  }),
  async run(context) {
    const { request, read, organization } = context;
    const { filterByStatus = [], filterByType = [] } = request;
    const page = pageOf(request.paginationOptions);
    // What they take is known before any of them is read.
    const sizes = await read
      .selectFrom("activities")
      .select(["id", storedBytes.as("bytes")])
      .where("organization_id", "=", organization.id)
      .$if(filterByStatus.length > 0, (rows) => rows.where("status", "in", filterByStatus))
      .$if(filterByType.length > 0, (rows) => rows.where("type", "in", filterByType))
      .$if(page.before !== undefined, (rows) => rows.where("id", "<", page.before as string))
      .$if(page.after !== undefined, (rows) => rows.where("id", ">", page.after as string))
      .orderBy("id", page.after === undefined ? "desc" : "asc")
      .limit(page.limit)
      .execute();
    const ids = idsWithinBytes(sizes);
    const found = await Promise.all(newestFirst(ids, page).map((id) => findActivity(read, organization.id, id)));
    const activities = await Promise.all(
      found
        .flatMap((activity) => activity ?? [])
        .map(async (activity) => viewFor(context, activity, await findVotes(read, activity))),
    );
    return { activities, ...(ids.length < sizes.length ? { hasMore: true } : {}) };
  },
});

/** Of an activity and its votes; a body is shown as the intent and as the message of a vote. */
const storedBytes = sql<number | string>`
  2 * coalesce(octet_length(body), 0) + octet_length(intent) + coalesce(octet_length(result), 0)
  + coalesce(octet_length(failure), 0) + (
    select coalesce(sum(octet_length(votes.message)), 0) from votes
    where votes.organization_id = activities.organization_id and votes.activity_id = activities.id
  )`;

/** Those next to the cursor, at least one of them. */
function idsWithinBytes(sizes: readonly { id: string; bytes: number | string }[]): string[] {
  let total = 0;
  const end = sizes.findIndex(({ bytes }, index) => {
    total += Number(bytes);
    return index > 0 && total > MAX_PAGE_BYTES;
  });
  return sizes.slice(0, end < 0 ? sizes.length : end).map(({ id }) => id);
}
