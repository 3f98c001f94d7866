import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { MfaPolicy } from "../../engine/identity/user-schemas.ts";
import { requireUser } from "./store.ts";

export const getMfaPolicies = query({
  path: "get_mfa_policies",
  summary: "List a user's MFA policies in the order in which they are checked.",
  request: Type.Object({ organizationId: Id, userId: Id }),
  response: Type.Object({ mfaPolicies: Type.Array(MfaPolicy) }),
  async run({ request: { userId }, read, organization }) {
    return { mfaPolicies: (await requireUser(read, organization.id, userId)).mfaPolicies };
  },
});
