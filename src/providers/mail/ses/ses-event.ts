import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { parseJsonOr } from "../../../crypto/json-object.ts";
import { parseMailbox } from "../sender.ts";

/**
 * Parses events of Amazon SES, from its event publishing and its older feedback notifications. They differ in the name of one member. Pure.
 */

const Recipient = Type.Object({ diagnosticCode: Type.Optional(Type.String()) });
const Time = Type.Optional(Type.String());
const SesMessage = Type.Object({
  eventType: Type.Optional(Type.String()),
  notificationType: Type.Optional(Type.String()),
  mail: Type.Object({
    messageId: Type.String({ minLength: 1, maxLength: 256 }),
    source: Type.Optional(Type.String()),
    timestamp: Time,
    headers: Type.Optional(Type.Array(Type.Object({ name: Type.String(), value: Type.String() }))),
    commonHeaders: Type.Optional(Type.Object({ messageId: Type.Optional(Type.String()) })),
    tags: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
  bounce: Type.Optional(
    Type.Object({
      bounceType: Type.Optional(Type.String()),
      bounceSubType: Type.Optional(Type.String()),
      bouncedRecipients: Type.Optional(Type.Array(Recipient)),
      timestamp: Time,
    }),
  ),
  delivery: Type.Optional(
    Type.Object({
      smtpResponse: Type.Optional(Type.String()),
      processingTimeMillis: Type.Optional(Type.Number()),
      timestamp: Time,
    }),
  ),
  deliveryDelay: Type.Optional(
    Type.Object({
      delayType: Type.Optional(Type.String()),
      delayedRecipients: Type.Optional(Type.Array(Recipient)),
      timestamp: Time,
    }),
  ),
  complaint: Type.Optional(Type.Object({ complaintFeedbackType: Type.Optional(Type.String()), timestamp: Time })),
});
type SesMessage = Static<typeof SesMessage>;
const sesMessage = Compile(SesMessage);

export interface SesEvent {
  eventType: "Send" | "Delivery" | "Bounce" | "DeliveryDelay" | "Complaint";
  /** The id that SES gave the mail, which its SMTP reply contains. */
  messageId: string;
  /** The identifier in the mail's original Message-ID header, without brackets. */
  originalMessageId?: string;
  /** The sender's address. */
  from?: string;
  senderTenant?: string;
  /** In milliseconds. */
  occurredAt?: number;
  details: Record<string, string>;
}

/** Parses the text of a notification. Undefined if it is not a mail event, or of a type that is not stored. */
export function parseSesEvent(text: string): SesEvent | undefined {
  const message = parseJsonOr(Buffer.from(text), () => undefined);
  if (!sesMessage.Check(message)) return undefined;
  const happened = happenedIn(message);
  if (happened === undefined) return undefined;
  const { eventType, timestamp, details } = happened;
  const { mail } = message;
  const originalMessageId = originalIdOf(mail);
  const from = parseMailbox(mail.source ?? "")?.address;
  const senderTenant = tenantOf(mail);
  const occurredAt = Date.parse(timestamp ?? mail.timestamp ?? "");
  return {
    eventType,
    messageId: mail.messageId,
    ...(originalMessageId === undefined ? {} : { originalMessageId }),
    ...(from === undefined ? {} : { from }),
    ...(senderTenant === undefined ? {} : { senderTenant }),
    ...(Number.isNaN(occurredAt) ? {} : { occurredAt }),
    details: bounded(details),
  };
}

type Details = Record<string, string | undefined>;
type Happened = { eventType: SesEvent["eventType"]; timestamp: string | undefined; details: Details };

function happenedIn({ eventType, notificationType, ...parts }: SesMessage): Happened | undefined {
  const { bounce, delivery, deliveryDelay, complaint, mail } = parts;
  switch (eventType ?? notificationType) {
    case "Send":
      return { eventType: "Send", timestamp: mail.timestamp, details: {} };
    case "Delivery": {
      const millis = delivery?.processingTimeMillis;
      const deliveryProcessingTimeMillis = millis === undefined ? undefined : String(Math.max(0, Math.round(millis)));
      const details = { deliverySmtpResponse: delivery?.smtpResponse, deliveryProcessingTimeMillis };
      return { eventType: "Delivery", timestamp: delivery?.timestamp, details };
    }
    case "Bounce": {
      const { bounceType, bounceSubType, bouncedRecipients, timestamp } = bounce ?? {};
      const diagnosticCode = bouncedRecipients?.[0]?.diagnosticCode;
      return { eventType: "Bounce", timestamp, details: { bounceType, bounceSubType, diagnosticCode } };
    }
    case "DeliveryDelay": {
      const { delayType, delayedRecipients, timestamp } = deliveryDelay ?? {};
      const details = { deliveryDelayType: delayType, diagnosticCode: delayedRecipients?.[0]?.diagnosticCode };
      return { eventType: "DeliveryDelay", timestamp, details };
    }
    case "Complaint": {
      const { complaintFeedbackType, timestamp } = complaint ?? {};
      return { eventType: "Complaint", timestamp, details: { complaintFeedbackType } };
    }
    default:
      return undefined;
  }
}

/** The headers are the original ones. SES replaces the Message-ID in the mail. */
function originalIdOf({ headers = [], commonHeaders }: SesMessage["mail"]): string | undefined {
  const header = headers.find(({ name }) => name.toLowerCase() === "message-id")?.value ?? commonHeaders?.messageId;
  return /^<?([^<>\s]{1,256})>?$/.exec(header ?? "")?.[1];
}

function tenantOf({ tags }: SesMessage["mail"]): string | undefined {
  const tenant = tags?.["ses:tenant-name"] ?? tags?.["ses:tenant"];
  const name = Array.isArray(tenant) ? tenant[0] : tenant;
  return typeof name === "string" ? name.slice(0, MAX_DETAIL_LENGTH) : undefined;
}

const MAX_DETAIL_LENGTH = 1000;

/** The members that exist, shortened. */
const bounded = (details: Details): Record<string, string> =>
  Object.fromEntries(
    Object.entries(details).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value.slice(0, MAX_DETAIL_LENGTH)]],
    ),
  );
