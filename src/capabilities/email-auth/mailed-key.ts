import { Type } from "typebox";
import { requireFeature } from "../../authority/rules/features.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { contactOf } from "../../authority/state.ts";
import type { Draft } from "../../authority/view.ts";
import { Email, Label, Seconds, Strict } from "../../engine/fields.ts";
import { findUsersByContact, type Reached } from "../../engine/identity/contacts.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { IdFor } from "../../kernel/ids.ts";
import type { Templates } from "../../providers/templates/templates.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { findSettings } from "../auth-proxy/store.ts";
import {
  checkEmailCustomization,
  checkTemplate,
  EmailCustomization,
  senderFields,
  senderOfIntent,
} from "../messages/model.ts";
import { queueMail, type SealedMail, sealMail } from "../messages/store.ts";
import { addIssuedKey, type IssuedKey, issueKey } from "../sessions/store.ts";

/**
 * Shared by sign-in and recovery by email: the user is mailed a short-lived key, encrypted to `targetPublicKey`. The caller who requests it gets
 * neither the key nor the secret that decrypts it.
 */

/** The fields of both requests, except the mail's customization. */
export const mailedKeyFields = {
  email: Email,
  targetPublicKey: TargetPublicKey,
  expirationSeconds: Type.Optional(Seconds),
  ...senderFields,
};

/** The newest versions require the app's name. */
export const NamedCustomization = Strict({ ...EmailCustomization.properties, appName: Label });

/** The older versions do not; they are otherwise the same. */
export const olderCustomization = { emailCustomization: Type.Optional(EmailCustomization) };
export const upgradeCustomization = <Older extends { emailCustomization?: EmailCustomization }>({
  emailCustomization,
  ...rest
}: Older) => ({ ...rest, emailCustomization: { appName: "", ...emailCustomization } });

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
  await checkTemplate(templates, kind, emailCustomization, `${CUSTOMIZATION}.templateId`);
}

export interface MailedKey {
  userId: string;
  /** As stored in the user. */
  email: string;
  issued: IssuedKey;
  mail: SealedMail;
}

interface Preparing {
  intent: Intent;
  read: Reader;
  organization: Organization;
  signer: AskedSigner<"issueCredential" | "sealJobSecret">;
  mailTemplates: Templates;
}

/** @throws KeysteadError RESOURCE_NOT_FOUND or FIELD_INVALID unless one user of the organization has the address */
export async function prepareMailedKey(
  kind: Kind,
  { intent, read, organization, signer, mailTemplates }: Preparing,
): Promise<MailedKey> {
  const customization = await withTemplate(kind, intent.emailCustomization, { read, organization, mailTemplates });
  const { userId, text: email } = await findUserByEmail(read, organization, intent.email);
  const issued = await issueKey({ read, organization, signer }, intent);
  const { credentialBundle: secret } = issued;
  const content = { to: email, kind, secret, sender: senderOfIntent(intent), customization };
  const mail = await sealMail({ read, signer }, content);
  return { userId, email, issued, mail };
}

/**
 * For a sign-in, uses the parent's own template if the request names none.
 *
 * @throws KeysteadError FIELD_INVALID if that template no longer exists
 */
async function withTemplate(
  kind: Kind,
  customization: EmailCustomization,
  { read, organization, mailTemplates }: Pick<Preparing, "read" | "organization" | "mailTemplates">,
): Promise<EmailCustomization> {
  if (kind !== "email_auth" || customization.templateId) return customization;
  const { emailAuthTemplateId: templateId } = await findSettings(read, rootIdOf(organization));
  if (!templateId) return customization;
  const filled = { ...customization, templateId };
  await checkTemplate(mailTemplates, kind, filled, `${CUSTOMIZATION}.templateId`);
  return filled;
}

async function findUserByEmail(read: Reader, organization: Organization, email: string): Promise<Reached> {
  const [user, another] = await findUsersByContact(read, organization, contactOf("EMAIL", email));
  if (!user)
    fail("RESOURCE_NOT_FOUND", { kind: "a user with the e-mail address", id: email, organizationId: organization.id });
  if (another) fail("FIELD_INVALID", { field: "parameters.email", reason: "is the address of more than one user" });
  return user;
}

/**
 * Adds the mailed key to the user.
 *
 * @throws KeysteadError FEATURE_OFF, or RESOURCE_NOT_FOUND if the user was deleted or has changed the address
 */
export function addMailedKey(
  draft: Draft,
  { userId, email, issued }: MailedKey,
  intent: { apiKeyName?: string; invalidateExisting?: boolean },
  { feature, ...key }: { feature: string } & Parameters<typeof addIssuedKey>[4],
): void {
  requireFeature(draft, feature);
  requireUsers(draft, [userId]);
  if (draft.part("user", userId)?.email !== email) {
    const kind = "a user with the e-mail address";
    fail("RESOURCE_NOT_FOUND", { kind, id: email, organizationId: draft.organizationId });
  }
  addIssuedKey(draft, userId, issued, intent, key);
}

/** Queues the mail, which expires with the key. */
export async function queueMailedKey({
  tx,
  prepared: { mail, issued },
  organization,
  id,
  now,
}: {
  tx: Transactor;
  prepared: MailedKey;
  organization: Organization;
  id: IdFor;
  now: number;
}): Promise<void> {
  const expiresAt = now + issued.terms.expirationSeconds * 1000;
  await queueMail(tx, { id: id("mail"), mail, organization, now, expiresAt });
}
