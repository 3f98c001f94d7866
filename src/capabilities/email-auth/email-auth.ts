import { type Static, Type } from "typebox";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Label, Strict } from "../../engine/fields.ts";
import {
  addMailedKey,
  checkMailedKey,
  mailedKeyFields,
  NamedCustomization,
  olderCustomization,
  prepareMailedKey,
  queueMailedKey,
  upgradeCustomization,
} from "./mailed-key.ts";

const fields = {
  ...mailedKeyFields,
  apiKeyName: Type.Optional(Label),
  invalidateExisting: Type.Optional(Type.Boolean()),
};
/** Versions 1 and 2 have the same intent. */
const OlderIntent = Strict({ ...fields, ...olderCustomization });
const older = { intent: OlderIntent, upgrade: upgradeCustomization<Static<typeof OlderIntent>> };

export const emailAuth = activity({
  path: "email_auth",
  summary:
    "Mail a user a key that only they can decrypt, and that can stamp requests for a while. Only users of a parent can send it, for their own organization or a sub-organization.",
  version: 3,
  only: "parents",
  byParents: true,
  needs: ["mailTemplates"],
  asks: ["issueCredential", "sealJobSecret"],
  intent: Strict({ ...fields, emailCustomization: NamedCustomization }),
  result: Type.Object({ userId: Type.String(), apiKeyId: Type.String() }),
  versions: { 1: older, 2: older },
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: (intent, { mailTemplates }) => checkMailedKey("email_auth", intent, mailTemplates),
  prepare: (context) => prepareMailedKey("email_auth", context),
  change: ({ view, id, intent, now, prepared }) =>
    changesOn(view, (draft) => {
      const type = "CREDENTIAL_TYPE_EMAIL_AUTH_KEY_P256";
      const feature = "FEATURE_NAME_EMAIL_AUTH";
      // Only the server vouches that the user reads the mail at this address.
      const key = { id: id("apiKey"), what: "Email Auth", type, grade: "server", feature, now } as const;
      addMailedKey(draft, prepared, intent, key);
    }),
  alsoStore: queueMailedKey,
  answer: ({ id, prepared: { userId } }) => ({ userId, apiKeyId: id("apiKey") }),
});
