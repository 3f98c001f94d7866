import { type Static, Type } from "typebox";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
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
import { RECOVERY_KEY } from "./recover-user.ts";

const IntentV1 = Strict({ ...mailedKeyFields, ...olderCustomization });

export const initUserEmailRecovery = activity({
  path: "init_user_email_recovery",
  summary:
    "Mail a user a key that only they can decrypt, and that can register one passkey with recover_user. Only users of a parent can send it, for their own organization or a sub-organization.",
  version: 2,
  only: "parents",
  byParents: true,
  needs: ["mailTemplates"],
  asks: ["issueCredential", "sealJobSecret"],
  intent: Strict({ ...mailedKeyFields, emailCustomization: NamedCustomization }),
  result: Type.Object({ userId: Type.String() }),
  versions: { 1: { intent: IntentV1, upgrade: upgradeCustomization<Static<typeof IntentV1>> } },
  subject: () => ({ governedBy: "policies", resource: "RECOVERY", action: "CREATE" }),
  check: (intent, { mailTemplates }) => checkMailedKey("recovery", intent, mailTemplates),
  prepare: (context) => prepareMailedKey("recovery", context),
  change: ({ view, id, now, prepared }) =>
    changesOn(view, (draft) => {
      const feature = "FEATURE_NAME_EMAIL_RECOVERY";
      const key = { id: id("apiKey"), what: "Recovery", type: RECOVERY_KEY, grade: "recovery", feature, now } as const;
      // Several mails may be pending. The first one that is used invalidates the others.
      addMailedKey(draft, prepared, { invalidateExisting: false }, key);
    }),
  alsoStore: queueMailedKey,
  answer: ({ prepared: { userId } }) => ({ userId }),
});
