import { Type } from "typebox";
import { findActivity } from "../../engine/activities/records.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { AppProof, findAppProofs } from "../../engine/proofs/app-proofs.ts";
import { fail } from "../../kernel/errors.ts";

export const listAppProofs = query({
  path: "list_app_proofs",
  summary: "The app proofs of one activity; none unless it was sent with `generateAppProofs` and carried out.",
  request: Type.Object({ organizationId: Id, activityId: Id }),
  response: Type.Object({ appProofs: Type.Array(AppProof) }),
  async run({ request: { activityId }, read, organization: { id: organizationId } }) {
    const activity = await findActivity(read, organizationId, activityId);
    if (!activity) fail("RESOURCE_NOT_FOUND", { kind: "activity", id: activityId, organizationId });
    return { appProofs: await findAppProofs(read, organizationId, activityId) };
  },
});
