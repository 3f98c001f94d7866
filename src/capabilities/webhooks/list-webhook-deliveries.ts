import { sql } from "kysely";
import { type Static, Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Pagination, Timestamp, timestampOf } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { MAX_SHOWN_ATTEMPTS } from "../../kernel/limits.ts";
import { requireEndpoint } from "./store.ts";

const Attempt = Type.Object(
  {
    startedAt: Timestamp,
    durationMs: Type.Integer(),
    statusCode: Type.Optional(Type.Integer()),
    error: Type.Optional(Type.String()),
  },
  { $id: "WebhookAttempt" },
);

const Delivery = Type.Object(
  {
    deliveryId: Type.String(),
    eventId: Type.String(),
    eventType: Type.String(),
    status: OneOf(["PENDING", "DELIVERED", "FAILED", "CANCELLED"]),
    attempts: Type.Array(Attempt),
    nextAttemptAt: Type.Optional(Timestamp),
    createdAt: Timestamp,
  },
  { $id: "WebhookDelivery" },
);

export const listWebhookDeliveries = query({
  path: "list_webhook_deliveries",
  isExtension: true,
  summary:
    "List the deliveries to an endpoint, newest first, with the last 100 attempts of each. An extension of this server.",
  request: Type.Object({ organizationId: Id, endpointId: Id, paginationOptions: Type.Optional(Pagination) }),
  response: Type.Object({ deliveries: Type.Array(Delivery) }),
  async run({ request, read, organization: { id: organizationId } }) {
    const { endpointId } = request;
    await requireEndpoint(read, organizationId, endpointId);
    const page = pageOf(request.paginationOptions);
    const rows = await read
      .selectFrom("webhook_deliveries as d")
      .innerJoin("webhook_events as e", "e.id", "d.event_id")
      .select(["d.id", "d.event_id", "e.event_type", "d.status", "d.attempts", "d.next_attempt_at", "d.created_at"])
      .where("d.organization_id", "=", organizationId)
      .where("d.endpoint_id", "=", endpointId)
      .$if(page.before !== undefined, (some) => some.where("d.id", "<", page.before as string))
      .$if(page.after !== undefined, (some) => some.where("d.id", ">", page.after as string))
      .orderBy("d.id", page.after === undefined ? "desc" : "asc")
      .limit(page.limit)
      .execute();
    const ids = rows.map(({ id }) => id);
    const attempts =
      ids.length === 0
        ? []
        : await read
            .selectFrom("webhook_attempts")
            .selectAll()
            .where("organization_id", "=", organizationId)
            .where("delivery_id", "in", ids)
            .where((attempt) =>
              attempt(
                "number",
                ">",
                attempt
                  .selectFrom("webhook_deliveries as d")
                  .select(sql<number>`d.attempts - ${sql.lit(MAX_SHOWN_ATTEMPTS)}`.as("hidden"))
                  .whereRef("d.organization_id", "=", "webhook_attempts.organization_id")
                  .whereRef("d.id", "=", "webhook_attempts.delivery_id"),
              ),
            )
            .orderBy("number")
            .execute();
    const byDelivery = Map.groupBy(attempts, ({ delivery_id }) => delivery_id);
    const newestFirst = page.after === undefined ? rows : rows.reverse();
    const deliveries = newestFirst.map(
      (row): Static<typeof Delivery> => ({
        deliveryId: row.id,
        eventId: row.event_id,
        eventType: row.event_type,
        status: row.status,
        // An attempt that was stored between the two reads would contradict the status.
        attempts: (byDelivery.get(row.id) ?? [])
          .filter(({ number }) => number <= row.attempts)
          .map((attempt) => ({
            startedAt: timestampOf(attempt.started_at),
            durationMs: attempt.duration_ms,
            ...(attempt.status_code === null ? {} : { statusCode: attempt.status_code }),
            ...(attempt.error === null ? {} : { error: attempt.error }),
          })),
        ...(row.next_attempt_at === null ? {} : { nextAttemptAt: timestampOf(row.next_attempt_at) }),
        createdAt: timestampOf(row.created_at),
      }),
    );
    return { deliveries };
  },
});
