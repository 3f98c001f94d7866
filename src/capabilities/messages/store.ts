import { type Static, Type } from "typebox";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { type Gates, gatesOf } from "../../engine/jobs/gates.ts";
import { enqueue, type JobResult, moveLane } from "../../engine/jobs/jobs.ts";
import { type SealedSecret, sealJobSecret } from "../../engine/jobs/sealed-secrets.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import {
  MAX_CONNECTIONS_PER_HOST,
  MAX_MAIL_LANES,
  MAX_MESSAGE_LIFETIME_MS,
  MAX_SLOW_MAIL_LANES,
  MAX_SLOW_MAIL_LANES_OF_ONE_PARENT,
  MAX_SLOW_SMS_LANES,
  MAX_SLOW_SMS_LANES_OF_ONE_PARENT,
  SLOW_MESSAGE_MS,
} from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { MailContent, SmsContent } from "./model.ts";

/**
 * How an operation sends a message: it seals the message before the transaction, in `prepare`, and queues it in the transaction, so that there is
 * a message exactly if there is an activity. Only the job that sends the message can read it.
 */

export const SEND_MAIL = "send_mail";
export const SEND_SMS = "send_sms";
type MessageKind = typeof SEND_MAIL | typeof SEND_SMS;

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
  await queue(tx, SEND_MAIL, { ...queued, sealed: mail.sealed });
}

/** Queues a text message in the transaction of the activity. */
export const queueSms = (tx: Transactor, { sms, ...queued }: Queued & { sms: SealedSms }): Promise<void> =>
  queue(tx, SEND_SMS, { ...queued, sealed: sms.sealed });

/**
 * The number of lanes for the messages of one kind of an organization and its sub-organizations. A slow recipient delays only those in its lane,
 * and a parent with many sub-organizations delays nobody else.
 */
const LANES = 4;

/** The last digits of an id are random. */
const messageLaneOf = (kind: string, rootId: string, id: string): string =>
  `${kind}:${rootId}:${Number.parseInt(id.slice(-1), 16) % LANES}`;

/** The most lanes at a time, of all parents; and those among them whose last attempt was slow, of all parents and of one. */
const MOST_LANES: Record<MessageKind, { all: number; slow: number; slowOfOneParent: number; slowName: string }> = {
  [SEND_MAIL]: {
    all: MAX_MAIL_LANES,
    slow: MAX_SLOW_MAIL_LANES,
    slowOfOneParent: MAX_SLOW_MAIL_LANES_OF_ONE_PARENT,
    slowName: "slow-mail",
  },
  [SEND_SMS]: {
    all: MAX_CONNECTIONS_PER_HOST,
    slow: MAX_SLOW_SMS_LANES,
    slowOfOneParent: MAX_SLOW_SMS_LANES_OF_ONE_PARENT,
    slowName: "slow-sms",
  },
};

/**
 * The limits on workers for the messages of a lane. A mail server may take its time with some recipients, for example if it asks their server
 * first, and a gateway with some numbers. Lanes whose last attempt was slow have additional limits, so that they delay the messages of other
 * parents once at most. The prefix keeps the gates distinct from hosts, which are the gates of webhooks.
 */
function messageGateOf(kind: MessageKind, rootId: string, isSlow: boolean): Gates {
  const { all, slow, slowOfOneParent, slowName } = MOST_LANES[kind];
  const gate = { name: `message:${kind}`, lanes: all };
  if (!isSlow) return gatesOf(gate);
  return gatesOf(gate, { name: slowName, lanes: slow }, { name: `${slowName}:${rootId}`, lanes: slowOfOneParent });
}

/** Moves the lane of a message, with the outcome of an attempt, between the workers of slow and those of other lanes. */
export function withGate(
  { record, ...result }: JobResult,
  kind: MessageKind,
  { organizationId, id, parentId }: { organizationId: string; id: string; parentId: string | null },
  tookMs: number,
): JobResult {
  const rootId = rootIdOf({ id: organizationId, parentId });
  const lane = messageLaneOf(kind, rootId, id);
  const gate = messageGateOf(kind, rootId, tookMs >= SLOW_MESSAGE_MS);
  return {
    ...result,
    async record(tx) {
      await moveLane(tx, { lane, gate });
      await record?.(tx);
    },
  };
}

async function queue(
  tx: Transactor,
  kind: MessageKind,
  { organization, expiresAt, isForNobody, now, id, sealed }: Queued & { sealed: SealedSecret },
): Promise<void> {
  const organizationId = organization.id;
  const rootId = rootIdOf(organization);
  await enqueue(tx, {
    kind,
    payload: {
      organizationId,
      id,
      expiresAt: Math.min(expiresAt, now + MAX_MESSAGE_LIFETIME_MS),
      ...(isForNobody ? { isForNobody } : {}),
    },
    secret: sealed,
    lane: messageLaneOf(kind, rootId, id),
    gate: messageGateOf(kind, rootId, false),
    organizationId,
    runAt: now,
    now,
  });
}
