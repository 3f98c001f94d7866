import { Type } from "typebox";
import { activityStatuses, findActivity, findVotes } from "../../engine/activities/records.ts";
import { ActivityType, AnyActivity } from "../../engine/activities/schema.ts";
import { electorateOf } from "../../engine/decisions/electorate.ts";
import { query } from "../../engine/declare.ts";
import { Id, List, OneOf, Pagination } from "../../engine/fields.ts";
import { newestFirst, pageOf } from "../../engine/paging.ts";
import { mapInTurns } from "../../kernel/turns.ts";
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
  response: Type.Object({ activities: Type.Array(AnyActivity) }),
  async run(context) {
    const { request, read, organization } = context;
    const { filterByStatus = [], filterByType = [] } = request;
    const page = pageOf(request.paginationOptions);
    const rows = await read
      .selectFrom("activities")
      .select("id")
      .where("organization_id", "=", organization.id)
      .$if(filterByStatus.length > 0, (rows) => rows.where("status", "in", filterByStatus))
      .$if(filterByType.length > 0, (rows) => rows.where("type", "in", filterByType))
      .$if(page.before !== undefined, (rows) => rows.where("id", "<", page.before as string))
      .$if(page.after !== undefined, (rows) => rows.where("id", ">", page.after as string))
      .orderBy("id", page.after === undefined ? "desc" : "asc")
      .limit(page.limit)
      .execute();
    const electorate = electorateOf(organization.id);
    // One after the other, as each may be long: others have their turn in between.
    const activities = await mapInTurns(
      newestFirst(rows, page),
      async ({ id }) => {
        const activity = await findActivity(read, organization.id, id);
        return activity ? [await viewFor(context, activity, await findVotes(read, activity), electorate)] : [];
      },
      organization.id,
    );
    return { activities: activities.flat() };
  },
});
