import { Type } from "typebox";
import { sizeOfActivity } from "../../engine/activities/size.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { AppProof, findAppProofs } from "../../engine/proofs/app-proofs.ts";

export const listAppProofs = query({
  path: "list_app_proofs",
  summary:
    "List the app proofs of an activity. There are some only if it was sent with `generateAppProofs` and carried out.",
  request: Type.Object({ organizationId: Id, activityId: Id }),
  response: Type.Object({ appProofs: Type.Array(AppProof) }),
  async run({ request: { activityId }, read, takeRoom, organization: { id: organizationId } }) {
    await takeRoom(await sizeOfActivity(read, organizationId, activityId));
    return { appProofs: await findAppProofs(read, organizationId, activityId) };
  },
});
