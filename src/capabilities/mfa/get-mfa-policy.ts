import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { MfaPolicy } from "../../engine/identity/user-schemas.ts";
import { requireMfaPolicy } from "./store.ts";

export const getMfaPolicy = query({
  path: "get_mfa_policy",
  summary: "Get an MFA policy of a user.",
  request: Type.Object({ organizationId: Id, userId: Id, mfaPolicyId: Id }),
  response: Type.Object({ mfaPolicy: MfaPolicy }),
  async run({ request: { userId, mfaPolicyId }, read, organization }) {
    return { mfaPolicy: await requireMfaPolicy(read, organization.id, userId, mfaPolicyId) };
  },
});
