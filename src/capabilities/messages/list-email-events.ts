import { type Static, Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { newestFirst, pageOf } from "../../engine/paging.ts";
import { lookupOf } from "./events.ts";

const EmailEvent = Type.Object(
  {
    id: Type.String(),
    organizationId: Type.String(),
    messageId: Type.String(),
    eventType: Type.String(),
    fromAddress: Type.String(),
    toAddress: Type.String(),
    senderTenant: Type.Optional(Type.String()),
    timestamp: Type.String(),
    createdAt: Type.String(),
    details: Type.Object({
      bounceType: Type.Optional(Type.String()),
      bounceSubType: Type.Optional(Type.String()),
      diagnosticCode: Type.Optional(Type.String()),
      deliverySmtpResponse: Type.Optional(Type.String()),
      deliveryProcessingTimeMillis: Type.Optional(Type.String()),
      deliveryDelayType: Type.Optional(Type.String()),
      complaintFeedbackType: Type.Optional(Type.String()),
    }),
  },
  { $id: "EmailEvent" },
);

export const listEmailEvents = query({
  path: "list_email_events",
  summary:
    "List the events of mails that were sent for the organization to an address in the last 30 days, newest first.",
  request: Type.Object({
    organizationId: Id,
    email: Type.String({ minLength: 1, maxLength: 254 }),
    eventType: Type.Optional(Type.String({ maxLength: 64 })),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ emailEvents: Type.Array(EmailEvent) }),
  async run({ request: { email, eventType, paginationOptions }, read, organization }) {
    const page = pageOf(paginationOptions);
    const rows = await read
      .selectFrom("email_events")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .where("lookup", "=", lookupOf(email))
      .$if(Boolean(eventType), (some) => some.where("event_type", "=", eventType as string))
      .$if(page.before !== undefined, (some) => some.where("id", "<", page.before as string))
      .$if(page.after !== undefined, (some) => some.where("id", ">", page.after as string))
      .orderBy("id", page.after === undefined ? "desc" : "asc")
      .limit(page.limit)
      .execute();
    const emailEvents = newestFirst(rows, page).map(
      (row): Static<typeof EmailEvent> => ({
        id: row.id,
        organizationId: row.organization_id,
        messageId: row.message_id,
        eventType: row.event_type,
        fromAddress: row.from_address,
        toAddress: row.to_address,
        ...(row.sender_tenant === null ? {} : { senderTenant: row.sender_tenant }),
        timestamp: String(row.occurred_at),
        createdAt: String(row.created_at),
        details: JSON.parse(row.details),
      }),
    );
    return { emailEvents };
  },
});
