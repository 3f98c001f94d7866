import { Type } from "typebox";
import { activityOfRow, activityStatuses, findVotes } from "../../engine/activities/rows.ts";
import { ActivityType, AnyActivity } from "../../engine/activities/schema.ts";
import { shownBytes } from "../../engine/activities/size.ts";
import { Electorate } from "../../engine/decisions/electorate.ts";
import { query } from "../../engine/declare.ts";
import { Id, List, OneOf, Pagination } from "../../engine/fields.ts";
import { newestFirst, pageOf } from "../../engine/paging.ts";
import { MAX_PAGE_BYTES } from "../../kernel/limits.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { findIdsOfUser, findIdsOnPage, requireUserOrVotes } from "./store.ts";
import { viewFor } from "./view.ts";

export const listActivities = query({
  path: "list_activities",
  summary:
    "List the activities of the organization, newest first. `filterByUserId`, an extension of this server, finds those that a user submitted or voted on.",
  needs: ["registry"],
  request: Type.Object({
    organizationId: Id,
    filterByStatus: Type.Optional(List(OneOf(activityStatuses))),
    paginationOptions: Type.Optional(Pagination),
    filterByType: Type.Optional(List(ActivityType)),
    filterByUserId: Type.Optional(Id),
  }),
  response: Type.Object({
    activities: Type.Array(AnyActivity),
    hasMore: Type.Optional(
      Type.Boolean({
        description:
          "True if the page is shorter than requested, because its activities are large or because the request has searched as many of a user's activities as one request may.",
      }),
    ),
  }),
  async run(context) {
    const { request, read, organization, takeRoom } = context;
    const { filterByStatus = [], filterByType = [] } = request;
    const page = pageOf(request.paginationOptions);
    const filter = { organizationId: organization.id, types: filterByType, statuses: filterByStatus };
    const { filterByUserId: userId } = request;
    const { ids, isCut } = userId
      ? await findIdsOfUser(read, { ...filter, userId }, page)
      : { ids: await findIdsOnPage(read, filter, page), isCut: false };
    if (ids.length === 0) {
      if (userId) await requireUserOrVotes(read, organization.id, userId);
      return { activities: [], ...(isCut ? { hasMore: true } : {}) };
    }
    // Reads the sizes first, so that memory is reserved before any activity is read.
    const found = await read
      .selectFrom("activities")
      .select(["id", shownBytes.as("bytes")])
      .where("organization_id", "=", organization.id)
      .where("id", "in", ids)
      .orderBy("id", page.after === undefined ? "desc" : "asc")
      .execute();
    const sizes = new Map(found.map(({ id, bytes }) => [id, Number(bytes)]));
    const sizeOf = ({ id }: { id: string }): number => sizes.get(id) ?? 0;
    const toRead = withinBytes(found, sizeOf);
    await takeRoom(toRead.reduce((sum, row) => sum + sizeOf(row), 0));
    const rows = await read
      .selectFrom("activities")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .where(
        "id",
        "in",
        toRead.map(({ id }) => id),
      )
      .orderBy("id", page.after === undefined ? "desc" : "asc")
      .execute();
    const electorate = new Electorate(organization.id);
    // One after the other, so that other requests get a turn in between.
    const views = await mapInTurns(
      rows,
      async (row) => {
        const activity = activityOfRow(row);
        return viewFor(context, activity, await findVotes(read, activity), electorate);
      },
      organization.id,
    );
    const activities = withinBytes(views, (view) => sizeOf(view) + bytesOfVoters(view));
    return {
      activities: newestFirst(activities, page),
      ...(isCut || activities.length < found.length ? { hasMore: true } : {}),
    };
  },
});

/** The size of the voters. They are shown in full, often many times on a page, and the activities' stored sizes do not include them. */
const bytesOfVoters = ({ votes }: { votes: unknown[] }): number =>
  (votes as { user: unknown }[]).reduce((sum, { user }) => sum + JSON.stringify(user).length, 0);

/** The rows nearest to the cursor that fit into a page; at least one. */
function withinBytes<Row>(rows: readonly Row[], sizeOf: (row: Row) => number): Row[] {
  let total = 0;
  const end = rows.findIndex((row, index) => {
    total += sizeOf(row);
    return index > 0 && total > MAX_PAGE_BYTES;
  });
  return rows.slice(0, end < 0 ? rows.length : end);
}
