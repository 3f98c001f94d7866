import type { OutboundClient } from "../../delivery/outbound.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/log.ts";
import { parseSesEvent, type SesEvent } from "../../providers/mail/ses/ses-event.ts";
import { createSns } from "../../providers/mail/ses/sns.ts";
import type { Database } from "../../storage/database.ts";
import { prepared } from "../../storage/prepared.ts";
import { recordEvent } from "./events.ts";

/** Events of Amazon SES, delivered by Amazon SNS. */

export interface SesReceiverOptions {
  database: Database;
  outbound: Pick<OutboundClient, "request">;
  clock: Clock;
  log: Logger;
  topicArns: readonly string[];
  certificateHosts: readonly string[];
}

/**
 * The receiver for messages of the topics. It stores each event of a mail that this installation sent once, and drops everything else.
 *
 * @throws KeysteadError for messages that are not from SNS; they change nothing
 */
export function createSesReceiver(options: SesReceiverOptions): (body: Buffer) => Promise<void> {
  const { database, clock, log } = options;
  const sns = createSns(options);
  return async (body) => {
    const message = await sns.read(body);
    if (message.Type !== "Notification") {
      await sns.confirm(message);
      log.info({ topicArn: message.TopicArn, type: message.Type }, "Amazon SNS sent a message about its subscription");
      return;
    }
    const event = parseSesEvent(message.Message);
    if (event !== undefined) await store(database, event, { source: `sns:${message.MessageId}`, now: clock() });
  };
}

async function store(
  database: Database,
  event: SesEvent,
  { source, now }: { source: string; now: number },
): Promise<void> {
  const mail = await findMail(database, event);
  if (mail === undefined) return;
  const { eventType, messageId, from = "", senderTenant, details } = event;
  await database.transact(undefined, (tx) =>
    recordEvent(tx, {
      organizationId: mail.organization_id,
      mailId: mail.id,
      eventType,
      messageId,
      from,
      to: mail.to_address,
      ...(senderTenant === undefined ? {} : { senderTenant }),
      occurredAt: Math.min(event.occurredAt ?? now, now),
      details,
      source,
      now,
    }),
  );
}

/** Finds a mail by the id in the server's reply, or by our own Message-ID if the event arrives before the reply is stored. */
async function findMail({ read }: Database, { messageId, originalMessageId = "" }: SesEvent) {
  const [known] = await selectByMessageId(read, { messageId });
  if (known !== undefined) return known;
  const id = originalMessageId.split("@")[0] as string;
  return isId(id) ? (await selectById(read, { id }))[0] : undefined;
}

const selectByMessageId = prepared<{ messageId: string }>()((db, { messageId }) =>
  db.selectFrom("mails").select(["organization_id", "id", "to_address"]).where("message_id", "=", messageId).limit(1),
);

const selectById = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom("mails").select(["organization_id", "id", "to_address"]).where("id", "=", id).limit(1),
);
