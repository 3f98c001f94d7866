import { type Static, Type } from "typebox";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { EmailCustomization } from "../messages/model.ts";
import { sessionName } from "../sessions/store.ts";
import {
  addMailedKey,
  checkMailedKey,
  mailedKeyFields,
  NamedCustomization,
  prepareMailedKey,
  queueMailedKey,
} from "./mailed-key.ts";
import { RECOVERY_KEY } from "./recover-user.ts";

const IntentV1 = Strict({ ...mailedKeyFields, emailCustomization: Type.Optional(EmailCustomization) });

export const initUserEmailRecovery = activity({
  path: "init_user_email_recovery",
  summary:
    "Mail a user a key that only they can open, and that registers one passkey by recover_user. For a parent's users, in their own organization or a sub-organization.",
  version: 2,
  only: "parents",
  byParents: true,
  needs: ["mailTemplates"],
  asks: ["issueCredential", "sealJobSecret"],
  intent: Strict({ ...mailedKeyFields, emailCustomization: NamedCustomization }),
  result: Type.Object({ userId: Type.String() }),
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ emailCustomization, ...rest }: Static<typeof IntentV1>) => ({
        ...rest,
        emailCustomization: { appName: "", ...emailCustomization },
      }),
    },
  },
  subject: () => ({ governedBy: "policies", resource: "RECOVERY", action: "CREATE" }),
  check: (intent, { mailTemplates }) => checkMailedKey("recovery", intent, mailTemplates),
  prepare: (context) => prepareMailedKey("recovery", context),
  change: ({ view, id, now, prepared }) =>
    changesOn(view, (draft) => {
      const key = {
        id: id("apiKey"),
        name: sessionName("Recovery", now),
        type: RECOVERY_KEY,
        grade: "recovery" as const,
        feature: "FEATURE_NAME_EMAIL_RECOVERY",
        // Two mails may be on their way; the first that is used ends all of them.
        invalidateExisting: false,
      };
      addMailedKey(draft, prepared, key, now);
    }),
  also: queueMailedKey,
  answer: ({ prepared: { userId } }) => ({ userId }),
});
