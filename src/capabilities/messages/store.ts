import { createHash } from "node:crypto";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { type SealedSecret, sealJobSecret } from "../../engine/jobs/sealed-secrets.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_MESSAGE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { MailContent, SmsContent } from "./model.ts";

/**
 * How an operation has a message sent: it is sealed before the transaction, in `prepare`, and queued in it, so that there is
 * a message exactly where there is an activity. Nobody but the job that sends it can read what is in it.
 */

export const SEND_MAIL = "send_mail";
export const SEND_SMS = "send_sms";

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
  /** Who asks for the message; its events are theirs. */
  organizationId: string;
  /** When what is in it is of no use any more: then it is dropped. Milliseconds. */
  expiresAt: number;
  /** Milliseconds. */
  now: number;
}

/** Queues a mail in the transaction of what asks for it; resolves to its id. */
export async function queueMail(tx: Transactor, { mail, ...queued }: Queued & { mail: SealedMail }): Promise<string> {
  const { organizationId, now } = queued;
  const id = newId();
  await tx
    .insertInto("mails")
    .values({ organization_id: organizationId, id, to_address: mail.to, message_id: null, created_at: now })
    .execute();
  await queue(tx, SEND_MAIL, { ...queued, id, sealed: mail.sealed });
  return id;
}

/** Queues a text message in the transaction of what asks for it; resolves to its id. */
export async function queueSms(tx: Transactor, { sms, ...queued }: Queued & { sms: SealedSms }): Promise<string> {
  const id = newId();
  await queue(tx, SEND_SMS, { ...queued, id, sealed: sms.sealed });
  return id;
}

/** An organization's messages of one kind go out in so many lines, so that a recipient that is slow holds up few others. */
const LANES = 4;

async function queue(
  tx: Transactor,
  kind: string,
  { organizationId, expiresAt, now, id, sealed }: Queued & { id: string; sealed: SealedSecret },
): Promise<void> {
  const line = (createHash("sha256").update(id).digest()[0] as number) % LANES;
  await enqueue(tx, {
    kind,
    payload: { organizationId, id, expiresAt: Math.min(expiresAt, now + MAX_MESSAGE_LIFETIME_MS) },
    secret: sealed,
    lane: `${kind}:${organizationId}:${line}`,
    // Not to be taken for a host, which is what webhooks wait for.
    gate: `message:${kind}`,
    organizationId,
    runAt: now,
    now,
  });
}
