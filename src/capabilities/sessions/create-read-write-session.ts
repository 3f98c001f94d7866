import { type Static, Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Email, Id, Label, Seconds, Strict } from "../../engine/fields.ts";
import { loadUser } from "../../engine/identity/users.ts";
import { parseTargetPublicKey, TargetPublicKey } from "../../engine/keys/bundle-envelopes.ts";
import { fail } from "../../kernel/errors.ts";
import { credentialBundleOf, sessionKeyOf, sessionName, termsOf } from "./store.ts";

const Intent = Strict({
  targetPublicKey: TargetPublicKey,
  userId: Type.Optional(Id),
  apiKeyName: Type.Optional(Label),
  expirationSeconds: Type.Optional(Seconds),
  invalidateExisting: Type.Optional(Type.Boolean()),
});
const IntentV1 = Strict({
  targetPublicKey: TargetPublicKey,
  email: Email,
  apiKeyName: Type.Optional(Label),
  expirationSeconds: Type.Optional(Seconds),
});
/** The address that the first version names its user by stays with the newest form of it. */
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
  summary: "Sign a user in with a fresh key that only they can open, and that stamps requests for a while.",
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
  check: ({ targetPublicKey }) => void parseTargetPublicKey(targetPublicKey, "parameters.targetPublicKey"),
  async prepare({ intent, read, organization, signer, submitterId }) {
    const { targetPublicKey, userId = submitterId, email } = intent as Intent;
    const user = await loadUser(read, organization.id, userId);
    if (!user) return fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId: organization.id });
    if (email !== undefined && email.toLowerCase() !== user.userEmail?.toLowerCase()) {
      fail("FIELD_INVALID", { field: "parameters.email", reason: "is not the e-mail address of the user who asks" });
    }
    const { publicKey, message } = await signer.ask({
      verb: "issueCredential",
      organizationId: organization.id,
      targetPublicKey: parseTargetPublicKey(targetPublicKey, "parameters.targetPublicKey"),
    });
    const terms = await termsOf(read, organization, intent);
    const { userName: username } = user;
    return { userId, username, publicKey, credentialBundle: credentialBundleOf(message), terms, organization };
  },
  change: ({ view, id, intent, now, prepared: { userId, publicKey, terms } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      const { apiKeyName: name = sessionName("Read Write Session", now), invalidateExisting = false } = intent;
      const type = "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256";
      const key = sessionKeyOf({ id: id("apiKey"), name, type, publicKey, grade: "stamp" }, terms);
      addSessionKey(draft, { userId, key, invalidateExisting }, now, "parameters");
    }),
  answer: ({ id, prepared: { userId, username, credentialBundle, organization } }) => ({
    organizationId: organization.id,
    organizationName: organization.name,
    userId,
    username,
    apiKeyId: id("apiKey"),
    credentialBundle,
  }),
});
