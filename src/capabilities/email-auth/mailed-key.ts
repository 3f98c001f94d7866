import { Type } from "typebox";
import type { NewApiKey } from "../../authority/rules/credentials.ts";
import { requireFeature } from "../../authority/rules/features.ts";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import type { Grade } from "../../authority/state.ts";
import type { Draft } from "../../authority/view.ts";
import { Email, Label, Seconds, Strict } from "../../engine/fields.ts";
import { TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { Templates } from "../../providers/templates/templates.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import {
  checkEmailCustomization,
  checkTemplate,
  EmailCustomization,
  senderFields,
  senderOfIntent,
} from "../messages/model.ts";
import { queueMail, type SealedMail, sealMail } from "../messages/store.ts";
import { credentialBundleOf, sessionKeyOf, type Terms, termsOf } from "../sessions/store.ts";

/**
 * What signing in and recovering by mail have in common: a key for a while, in a mail to its user, that takes the secret of
 * `targetPublicKey` to open. Who asks for it gets neither.
 */

/** What both are asked with, beside the customization of the mail. */
export const mailedKeyFields = {
  email: Email,
  targetPublicKey: TargetPublicKey,
  expirationSeconds: Type.Optional(Seconds),
  ...senderFields,
};

/** The newest versions want the name of the app. */
export const NamedCustomization = Strict({ ...EmailCustomization.properties, appName: Label });

interface Intent {
  email: string;
  targetPublicKey: string;
  expirationSeconds?: string;
  emailCustomization: EmailCustomization;
  sendFromEmailAddress?: string;
  sendFromEmailSenderName?: string;
  replyToEmailAddress?: string;
}

type Kind = "email_auth" | "recovery";

const CUSTOMIZATION = "parameters.emailCustomization";

/** @throws KeysteadError FIELD_INVALID */
export async function checkMailedKey(kind: Kind, intent: Intent, templates: Templates): Promise<void> {
  const { emailCustomization } = intent;
  targetOf(intent);
  checkEmailCustomization(emailCustomization, CUSTOMIZATION);
  await checkTemplate(templates, kind, emailCustomization, CUSTOMIZATION);
}

export interface MailedKey {
  userId: string;
  /** As the user has it. */
  email: string;
  publicKey: string;
  terms: Terms;
  mail: SealedMail;
}

interface Preparing {
  intent: Intent;
  read: Reader;
  organization: Organization;
  signer: AskedSigner<"issueCredential" | "sealJobSecret">;
}

/** @throws KeysteadError RESOURCE_NOT_FOUND or FIELD_INVALID unless one user of the organization has the address */
export async function prepareMailedKey(
  kind: Kind,
  { intent, read, organization, signer }: Preparing,
): Promise<MailedKey> {
  const { id: organizationId } = organization;
  const { emailCustomization: customization } = intent;
  const { userId, email } = await findUserByEmail(read, organizationId, intent.email);
  const targetPublicKey = targetOf(intent);
  const { publicKey, message } = await signer.ask({ verb: "issueCredential", organizationId, targetPublicKey });
  const secret = credentialBundleOf(message);
  const content = { to: email, kind, secret, sender: senderOfIntent(intent), customization };
  const mail = await sealMail({ read, signer }, content);
  return { userId, email, publicKey, terms: await termsOf(read, organization, intent), mail };
}

/** Addresses are compared without case. An organization has few users, and none of them is found by another one's. */
async function findUserByEmail(
  read: Reader,
  organizationId: string,
  email: string,
): Promise<{ userId: string; email: string }> {
  const users = await read
    .selectFrom("users")
    .select(["id", "email"])
    .where("organization_id", "=", organizationId)
    .where("email", "is not", null)
    .execute();
  const [user, another] = users.filter((each) => each.email?.toLowerCase() === email.toLowerCase());
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "a user with the e-mail address", id: email, organizationId });
  if (another) fail("FIELD_INVALID", { field: "parameters.email", reason: "is the address of more than one user" });
  return { userId: user.id, email: user.email as string };
}

/**
 * Adds the key that the mail is about.
 *
 * @throws KeysteadError FEATURE_OFF, RESOURCE_NOT_FOUND where the user is gone or has another address by now
 */
export function addMailedKey(
  draft: Draft,
  { userId, email, publicKey, terms }: MailedKey,
  key: Pick<NewApiKey, "id" | "name" | "type"> & { feature: string; grade: Grade; invalidateExisting: boolean },
  now: number,
): void {
  const { feature, invalidateExisting, ...rest } = key;
  requireFeature(draft, feature);
  requireUsers(draft, [userId]);
  if (draft.part("user", userId)?.email !== email) {
    const kind = "a user with the e-mail address";
    fail("RESOURCE_NOT_FOUND", { kind, id: email, organizationId: draft.organizationId });
  }
  const sessionKey = sessionKeyOf({ ...rest, publicKey }, terms);
  addSessionKey(draft, { userId, key: sessionKey, invalidateExisting }, now, "parameters");
}

/** Queues the mail, which is of use for as long as the key lives. */
export async function queueMailedKey({
  tx,
  prepared: { mail, terms },
  organization: { id: organizationId },
  now,
}: {
  tx: Transactor;
  prepared: MailedKey;
  organization: Organization;
  now: number;
}): Promise<void> {
  await queueMail(tx, { mail, organizationId, now, expiresAt: now + terms.expirationSeconds * 1000 });
}
