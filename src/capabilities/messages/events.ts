import { newIdAt } from "../../kernel/ids.ts";
import type { Transactor } from "../../storage/engine.ts";

/** What became of mail, as the API shows it. */

export const eventTypes = ["Send", "Delivery", "Bounce", "DeliveryDelay", "Complaint"] as const;
export type EventType = (typeof eventTypes)[number];

export interface EventDetails {
  bounceType?: string;
  bounceSubType?: string;
  diagnosticCode?: string;
  deliverySmtpResponse?: string;
  deliveryProcessingTimeMillis?: string;
  deliveryDelayType?: string;
  complaintFeedbackType?: string;
}

export interface NewEvent {
  /** Who asked for the mail. */
  organizationId: string;
  mailId: string;
  eventType: EventType;
  messageId: string;
  from: string;
  to: string;
  senderTenant?: string;
  /** Milliseconds. */
  occurredAt: number;
  details: EventDetails;
  /** What told of it, where that may tell it twice. */
  source?: string;
  now: number;
}

/** Addresses are compared without case. */
export const lookupOf = (address: string): string => address.toLowerCase();

/** Stores an event; one that was told before is left as it is. */
export async function recordEvent(tx: Transactor, event: NewEvent): Promise<void> {
  const { eventType, mailId, occurredAt, to } = event;
  // A mail is handed over once, whoever tells of it.
  const source = eventType === "Send" ? `send:${mailId}` : (event.source ?? `${eventType}:${mailId}`);
  await tx
    .insertInto("email_events")
    .values({
      organization_id: event.organizationId,
      id: newIdAt(occurredAt),
      source,
      lookup: lookupOf(to),
      message_id: event.messageId,
      event_type: eventType,
      from_address: event.from,
      to_address: to,
      sender_tenant: event.senderTenant ?? null,
      details: JSON.stringify(event.details),
      occurred_at: occurredAt,
      created_at: event.now,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "source"]).doNothing())
    .execute();
}
