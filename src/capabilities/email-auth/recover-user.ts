import { Type } from "typebox";
import { addAuthenticators, expiryOf } from "../../authority/rules/credentials.ts";
import { useUpKeys } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { findAllowedOrigins } from "../../engine/identity/passkey-origins.ts";
import { noteSpentKey } from "../../engine/identity/spent-keys.ts";
import { AuthenticatorParams, newAuthenticators, verifyAuthenticator } from "../credentials/model.ts";

export const RECOVERY_KEY = "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256";

const FIELD = "parameters.authenticator";

export const recoverUser = activity({
  path: "recover_user",
  summary: "Register your own passkey with a key that init_user_email_recovery mailed. The key can be used only once.",
  stampedWith: RECOVERY_KEY,
  intent: Strict({ authenticator: AuthenticatorParams, userId: Id }),
  result: Type.Object({ authenticatorId: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({
    governedBy: "policies",
    resource: "RECOVERY",
    action: "CREATE",
    ownerId: userId,
    onlyUserId: userId,
  }),
  async prepare({ intent: { authenticator }, read, organization, submitter }) {
    const allowedOrigins = await findAllowedOrigins(read, organization);
    const checked = await verifyAuthenticator(authenticator, FIELD, allowedOrigins);
    return { checked, keyId: submitter.credential.id };
  },
  change: ({ view, id, intent: { userId }, now, prepared: { checked, keyId } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      useUpKeys(draft, { userId, type: RECOVERY_KEY, keyId }, now);
      addAuthenticators(draft, userId, newAuthenticators([checked], id, "authenticators"), now, () => FIELD);
    }),
  answer: ({ id }) => ({ authenticatorId: [id("authenticators.0")] }),
  async alsoStore({ tx, organization: { id: organizationId }, changes, prepared: { keyId: id } }) {
    const removed = changes.flatMap((change) => (change.do === "removeApiKeys" ? change.apiKeys : []));
    const expiresAt = removed.map((key) => (key.id === id ? expiryOf(key) : undefined)).find((time) => time != null);
    if (expiresAt != null) await noteSpentKey(tx, { organizationId, id, expiresAt });
  },
});
