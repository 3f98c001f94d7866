import { type Static, Type } from "typebox";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { type Gates, gatesOf } from "../../engine/jobs/gates.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { type SealedSecret, sealJobSecret } from "../../engine/jobs/sealed-secrets.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import {
  MAX_MAIL_LANES,
  MAX_MESSAGE_LIFETIME_MS,
  MAX_SLOW_MAIL_LANES,
  MAX_SLOW_MAIL_LANES_OF_ONE_PARENT,
} from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { MailContent, SmsContent } from "./model.ts";

/**
 * How an operation sends a message: it seals the message before the transaction, in `prepare`, and queues it in the transaction, so that there is
 * a message exactly if there is an activity. Only the job that sends the message can read it.
 */

export const SEND_MAIL = "send_mail";
export const SEND_SMS = "send_sms";

/** The unencrypted payload of a job that sends a message. */
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

/** Seals a mail. The operation must declare `asks: ["sealJobSecret"]`. */
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
  /** The organization that sends the message and owns its events. */
  organization: Pick<Organization, "id" | "parentId">;
  /** When its content expires, in milliseconds. The message is dropped then. */
  expiresAt: number;
  /** Set if there is no recipient. The message is queued but never sent, so that the response's time does not reveal that the contact is unknown. */
  isForNobody?: true;
  /** In milliseconds. */
  now: number;
}

/** Queues a mail in the transaction of the activity. */
export async function queueMail(tx: Transactor, { mail, ...queued }: Queued & { mail: SealedMail }): Promise<void> {
  const { id, organization, now } = queued;
  await tx
    .insertInto("mails")
    .values({ organization_id: organization.id, id, to_address: mail.to, message_id: null, created_at: now })
    .execute();
  const gate = mailGateOf(rootIdOf(organization), { isSlow: false });
  await queue(tx, SEND_MAIL, { ...queued, sealed: mail.sealed, gate });
}

/** Queues a text message in the transaction of the activity. */
export const queueSms = (tx: Transactor, { sms, ...queued }: Queued & { sms: SealedSms }): Promise<void> =>
  queue(tx, SEND_SMS, { ...queued, sealed: sms.sealed, gate: `message:${SEND_SMS}` });

/**
 * The number of lanes for the messages of one kind of an organization and its sub-organizations. A slow recipient delays only those in its lane,
 * and a parent with many sub-organizations delays nobody else.
 */
const LANES = 4;

/** The last digits of an id are random. */
export const messageLaneOf = (kind: string, rootId: string, id: string): string =>
  `${kind}:${rootId}:${Number.parseInt(id.slice(-1), 16) % LANES}`;

/**
 * The limits on workers for the mails of a lane. A mail server may take its time with some recipients, for example if it asks their server
 * first. Lanes whose last attempt was slow have additional limits, so that they delay the mail of other parents once at most. The prefix keeps
 * the gates distinct from hosts, which are the gates of webhooks.
 */
export function mailGateOf(rootId: string, { isSlow }: { isSlow: boolean }): Gates {
  const all = { name: `message:${SEND_MAIL}`, lanes: MAX_MAIL_LANES };
  if (!isSlow) return gatesOf(all);
  const slow = { name: "slow-mail", lanes: MAX_SLOW_MAIL_LANES };
  return gatesOf(all, slow, { name: `slow-mail:${rootId}`, lanes: MAX_SLOW_MAIL_LANES_OF_ONE_PARENT });
}

async function queue(
  tx: Transactor,
  kind: string,
  { organization, expiresAt, isForNobody, now, id, sealed, gate }: Queued & { sealed: SealedSecret; gate: Gates },
): Promise<void> {
  const organizationId = organization.id;
  await enqueue(tx, {
    kind,
    payload: {
      organizationId,
      id,
      expiresAt: Math.min(expiresAt, now + MAX_MESSAGE_LIFETIME_MS),
      ...(isForNobody ? { isForNobody } : {}),
    },
    secret: sealed,
    lane: messageLaneOf(kind, rootIdOf(organization), id),
    gate,
    organizationId,
    runAt: now,
    now,
  });
}
