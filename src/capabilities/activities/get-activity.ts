import { Type } from "typebox";
import { findActivity, findVotes } from "../../engine/activities/rows.ts";
import { AnyActivity } from "../../engine/activities/schema.ts";
import { sizeOfActivity } from "../../engine/activities/size.ts";
import { Electorate } from "../../engine/decisions/electorate.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { viewFor } from "./view.ts";

export const getActivity = query({
  path: "get_activity",
  summary: "Get an activity with its votes.",
  needs: ["registry"],
  request: Type.Object({ organizationId: Id, activityId: Id }),
  response: Type.Object({ activity: AnyActivity }),
  async run(context) {
    const { request, read, organization, takeRoom } = context;
    const { activityId: id } = request;
    await takeRoom(await sizeOfActivity(read, organization.id, id));
    const activity = await findActivity(read, organization.id, id);
    if (!activity) fail("RESOURCE_NOT_FOUND", { kind: "activity", id, organizationId: organization.id });
    const votes = await findVotes(read, activity);
    return { activity: await viewFor(context, activity, votes, new Electorate(organization.id)) };
  },
});
