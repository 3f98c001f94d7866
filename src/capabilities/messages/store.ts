import { type Static, Type } from "typebox";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { type SealedSecret, sealJobSecret } from "../../engine/jobs/sealed-secrets.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { MAX_MESSAGE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { MailContent, SmsContent } from "./model.ts";

/**
 * How an operation has a message sent: it is sealed before the transaction, in `prepare`, and queued in it, so that there is
 * a message exactly where there is an activity. Nobody but the job that sends it can read what is in it.
 */

export const SEND_MAIL = "send_mail";
export const SEND_SMS = "send_sms";

/** What a job that sends a message is told in clear. */
export const QueuedMessage = Type.Object({
  organizationId: Type.String(),
  id: Type.String(),
  expiresAt: Type.Integer(),
  isForNobody: Type.Optional(Type.Boolean()),
});
export type QueuedMessage = Static<typeof QueuedMessage>;

interface Sealing {
  read: Reader;
  signer: AskedSigner<"sealJobSecret">;
}

export interface SealedMail {
  to: string;
  sealed: SealedSecret;
}

export interface SealedSms {
  sealed: SealedSecret;
}

/** Seals a mail; what asks for it has `asks: ["sealJobSecret"]`. */
export async function sealMail(
  sealing: Sealing,
  { to, ...content }: MailContent & { to: string },
): Promise<SealedMail> {
  return { to, sealed: await sealJobSecret(sealing, SEND_MAIL, { ...content, to }) };
}

export async function sealSms(sealing: Sealing, content: SmsContent & { to: string }): Promise<SealedSms> {
  return { sealed: await sealJobSecret(sealing, SEND_SMS, content) };
}

interface Queued {
  id: string;
  /** Who asks for the message; its events are theirs. */
  organization: Pick<Organization, "id" | "parentId">;
  /** When what is in it is of no use any more: then it is dropped. Milliseconds. */
  expiresAt: number;
  /** It is never sent: an answer that takes as long as others must not tell that there is nobody to send it to. */
  isForNobody?: true;
  /** Milliseconds. */
  now: number;
}

/** Queues a mail in the transaction of what asks for it. */
export async function queueMail(tx: Transactor, { mail, ...queued }: Queued & { mail: SealedMail }): Promise<void> {
  const { id, organization, now } = queued;
  await tx
    .insertInto("mails")
    .values({ organization_id: organization.id, id, to_address: mail.to, message_id: null, created_at: now })
    .execute();
  await queue(tx, SEND_MAIL, { ...queued, sealed: mail.sealed });
}

/** Queues a text message in the transaction of what asks for it. */
export const queueSms = (tx: Transactor, { sms, ...queued }: Queued & { sms: SealedSms }): Promise<void> =>
  queue(tx, SEND_SMS, { ...queued, sealed: sms.sealed });

/**
 * The messages of one kind of an organization and all below it go out in so many lines, so that a recipient that is slow holds up
 * few others, and whoever makes many sub-organizations holds up nobody else.
 */
const LANES = 4;

async function queue(
  tx: Transactor,
  kind: string,
  { organization, expiresAt, isForNobody, now, id, sealed }: Queued & { sealed: SealedSecret },
): Promise<void> {
  const organizationId = organization.id;
  // The last digits of an id are random.
  const line = Number.parseInt(id.slice(-1), 16) % LANES;
  await enqueue(tx, {
    kind,
    payload: {
      organizationId,
      id,
      expiresAt: Math.min(expiresAt, now + MAX_MESSAGE_LIFETIME_MS),
      ...(isForNobody ? { isForNobody } : {}),
    },
    secret: sealed,
    lane: `${kind}:${rootIdOf(organization)}:${line}`,
    // Not to be taken for a host, which is what webhooks wait for.
    gate: `message:${kind}`,
    organizationId,
    runAt: now,
    now,
  });
}
