import { newIdAt } from "../../kernel/ids.ts";
import type { Transactor } from "../../storage/engine.ts";

/** Mail events, as in the API. */

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
  /** The organization that sent the mail. */
  organizationId: string;
  mailId: string;
  eventType: EventType;
  messageId: string;
  from: string;
  to: string;
  senderTenant?: string;
  /** In milliseconds. */
  occurredAt: number;
  details: EventDetails;
  /** The id of the report, if the same report may arrive twice. */
  source?: string;
  now: number;
}

/** Addresses are compared case-insensitively. */
export const lookupOf = (address: string): string => address.toLowerCase();

/** Stores an event, unless it was reported before. */
export async function recordEvent(tx: Transactor, event: NewEvent): Promise<void> {
  const { eventType, mailId, occurredAt, to } = event;
  // A mail is sent once, whoever reports it.
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
