import { type Static, Type } from "typebox";
import { gradeByStamp, refuseLimited } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Email, Id, Strict } from "../../engine/fields.ts";
import { loadUser } from "../../engine/identity/users.ts";
import { targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { fail } from "../../kernel/errors.ts";
import { addIssuedKey, issuedKeyFields, issueKey } from "./store.ts";

const Intent = Strict({ ...issuedKeyFields, userId: Type.Optional(Id) });
const { invalidateExisting: _, ...fieldsOfV1 } = issuedKeyFields;
const IntentV1 = Strict({ ...fieldsOfV1, email: Email });
/** Version 1 names the user by email address, which is kept when the intent is upgraded to the newest version. */
type Intent = Static<typeof Intent> & { email?: string };

const Result = Type.Object({
  organizationId: Type.String(),
  organizationName: Type.String(),
  userId: Type.String(),
  username: Type.String(),
  apiKeyId: Type.String(),
  credentialBundle: Type.String(),
});

export const createReadWriteSession = activity({
  path: "create_read_write_session",
  summary: "Sign a user in: return a new key that only they can decrypt, and that can stamp requests for a while.",
  version: 2,
  asks: ["issueCredential"],
  intent: Intent,
  result: Result,
  resultKey: "createReadWriteSessionResultV2",
  versions: {
    1: {
      intent: IntentV1,
      upgrade: (intent: Static<typeof IntentV1>): Intent => intent,
      result: { schema: Result, from: (result: Static<typeof Result>) => result, key: "createReadWriteSessionResult" },
    },
  },
  subject: ({ userId }) => ({
    governedBy: "policies",
    resource: "AUTH",
    action: "CREATE",
    ...(userId === undefined ? { isOwn: true as const } : { ownerId: userId }),
  }),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer, submitter }) {
    const { userId = submitter.userId, email } = intent as Intent;
    refuseLimited(submitter.credential);
    const user = await loadUser(read, organization.id, userId);
    if (!user) return fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId: organization.id });
    if (email !== undefined && email.toLowerCase() !== user.userEmail?.toLowerCase()) {
      fail("FIELD_INVALID", {
        field: "parameters.email",
        reason: "is not the email address of the user who sends the request",
      });
    }
    const issued = await issueKey({ read, organization, signer }, intent);
    return { userId, username: user.userName, issued, organization, submitter };
  },
  change: ({ view, id, intent, now, prepared: { userId, issued, submitter } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      const type = "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256";
      const grade = gradeByStamp(draft, submitter.userId, submitter.credential);
      const key = { id: id("apiKey"), what: "Read Write Session", type, grade, now } as const;
      addIssuedKey(draft, userId, issued, intent, key);
    }),
  answer: ({ id, prepared: { userId, username, issued, organization } }) => ({
    organizationId: organization.id,
    organizationName: organization.name,
    userId,
    username,
    apiKeyId: id("apiKey"),
    credentialBundle: issued.credentialBundle,
  }),
});
