import { Type } from "typebox";
import { type OutboundAnswer, OutboundError } from "../../delivery/outbound.ts";
import { type JobContext, type JobResult, job, moveLane } from "../../engine/jobs/jobs.ts";
import { currentServiceKey, signStatements } from "../../engine/keys/service-keys.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { inSpan, type Span } from "../../kernel/spans.ts";
import type { Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { storedEvent } from "./event-body.ts";
import { announceDisabledEndpoint } from "./events.ts";
import { TEST_EVENT } from "./model.ts";
import { unpackBody } from "./packed-body.ts";
import { DELIVER_WEBHOOK, gateOf, laneOf } from "./queue-delivery.ts";
import { webhookKey } from "./signing-keys.ts";

/** Sends one delivery: makes a signed POST request, logs the outcome, and schedules the next attempt. */

const MAX_ANSWER_BYTES = 64 * 1024;
const DISABLED_AFTER_MS = 5 * DAY_MS;
/** How long an endpoint's deliveries pause after a fault of this service, such as an unavailable signer. */
const OWN_TROUBLE_PAUSE_MS = 5000;

const Payload = Type.Object({ organizationId: Type.String(), deliveryId: Type.String() });
type Context = JobContext<
  { organizationId: string; deliveryId: string },
  "outbound" | "webhookSchedule" | "webhookObserver",
  "signStatements"
>;

/** `maxAttempts` is infinite, because the schedule decides when a delivery is given up. */
export const deliverWebhook = job({
  name: DELIVER_WEBHOOK,
  payload: Payload,
  needs: ["outbound", "webhookSchedule", "webhookObserver"],
  asks: ["signStatements"],
  maxAttempts: Number.POSITIVE_INFINITY,
  concurrent: true,
  run: (context) =>
    deliver(context).catch((error: Error): JobResult => {
      // Nothing was sent, so this does not count as an attempt.
      const { organizationId, deliveryId } = context.payload;
      context.log.warn({ organizationId, deliveryId, reason: error.message }, "a webhook could not be sent");
      return { next: { do: "pause", inMs: OWN_TROUBLE_PAUSE_MS } };
    }),
});

async function deliver(context: Context): Promise<JobResult> {
  const { payload, database, clock } = context;
  const { organizationId, deliveryId } = payload;
  const [delivery] = await selectDelivery(database.read, { organizationId, id: deliveryId });
  // It was deleted with its endpoint, or has ended. A FAILED delivery has a job only if an operator retries it.
  if (delivery === undefined || delivery.status === "DELIVERED" || delivery.status === "CANCELLED") {
    return { next: { do: "finish" } };
  }
  const isUnwanted = delivery.subscriptions === 0 && delivery.event_type !== TEST_EVENT;
  if (delivery.is_active !== 1 || isUnwanted) {
    return { next: { do: "finish" }, record: (tx) => end(tx, context, "CANCELLED") };
  }
  if (delivery.activity_id !== null && delivery.activity_body === null) {
    context.log.warn({ organizationId, deliveryId }, "a webhook was abandoned because its activity no longer exists");
    return { next: { do: "finish" }, record: (tx) => end(tx, context, "FAILED") };
  }
  const attempt = await inSpan("webhook", (span) => send(context, delivery, span), "client");
  return outcomeOf(context, delivery, attempt, clock());
}

type Delivery = Awaited<ReturnType<typeof selectDelivery>>[number];

interface Attempt {
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  /** Whether retrying cannot succeed. */
  isFinal: boolean;
}

async function send(context: Context, delivery: Delivery, span: Span | undefined): Promise<Attempt> {
  const { timeoutMs } = context.webhookSchedule;
  const startedAt = context.clock();
  const { activity_body: ofActivity } = delivery;
  const stored = unpackBody(delivery.body);
  const body = ofActivity === null ? stored : storedEvent(ofActivity, stored);
  const signed = await signedHeaders(context, { delivery, body }, startedAt);
  const headers = span ? { ...signed, traceparent: span.traceparent } : signed;
  span?.note({
    "keystead.endpoint_id": delivery.endpoint_id,
    "keystead.delivery_id": delivery.id,
    "keystead.event_type": delivery.event_type,
  });
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  try {
    const answer: OutboundAnswer = await context.outbound.request({
      method: "POST",
      url: delivery.url,
      headers,
      body,
      timeoutMs,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    const { status } = answer;
    span?.note({ "http.response.status_code": status });
    if (status >= 300) span?.failed();
    return { startedAt, durationMs: took(), statusCode: status, error: null, isFinal: status >= 300 && status < 500 };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    span?.failed(error.kind);
    const isFinal = error.kind === "url";
    return { startedAt, durationMs: took(), statusCode: null, error: `${error.kind}: ${error.message}`, isFinal };
  }
}

/** The signature covers the time of this attempt, so that receivers can reject old requests. */
async function signedHeaders(
  context: Context,
  { delivery, body }: { delivery: Delivery; body: string },
  now: number,
): Promise<Record<string, string>> {
  const { signer } = context;
  const { read } = context.database;
  const key = await currentServiceKey(read, webhookKey);
  const { event_id: eventId } = delivery;
  const seconds = Math.floor(now / 1000);
  const [signature, standardSignature] = await signStatements({ read, signer }, key, [
    { says: "delivery", keyId: key.id, timestampMs: now, eventId, body },
    { says: "standardDelivery", seconds, eventId, body },
  ]);
  return {
    "content-type": "application/json",
    "user-agent": "keystead-webhooks/1",
    "x-turnkey-organization-id": delivery.organization_id,
    "x-turnkey-event-type": delivery.event_type,
    "x-turnkey-timestamp": String(now),
    "x-turnkey-webhook-version": "1",
    "x-turnkey-event-id": eventId,
    "x-turnkey-signature-key-id": key.id,
    "x-turnkey-signature-algorithm": "ed25519",
    "x-turnkey-signature-version": "v1",
    "x-turnkey-signature": (signature as Buffer).toString("hex"),
    // The same data in the headers of Standard Webhooks.
    "webhook-id": eventId,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1a,${(standardSignature as Buffer).toString("base64")}`,
  };
}

/** 2xx is success; 3xx and 4xx are final; everything else is retried until the schedule ends. */
function outcomeOf(context: Context, delivery: Delivery, attempt: Attempt, now: number): JobResult {
  const { statusCode, error, isFinal } = attempt;
  const log = (tx: Transactor, status: string, nextAttemptAt: number | null) =>
    logAttempt(tx, { delivery, attempt, status, nextAttemptAt, now });
  const { attempted } = context.webhookObserver;
  if (statusCode !== null && statusCode >= 200 && statusCode < 300) {
    attempted("delivered");
    return {
      next: { do: "finish" },
      record: async (tx) => {
        const wasFailing = delivery.failing_since !== null;
        // The lane before the endpoint, the lock order of every transaction that changes both.
        if (wasFailing) await moveBehind(tx, delivery, { isFailing: false });
        await log(tx, "DELIVERED", null);
        if (wasFailing) await markHealthy(tx, delivery);
      },
    };
  }
  const reason = error ?? `status ${statusCode}`;
  const delay = context.webhookSchedule.retryDelaysMs[context.attempts + 1];
  const willRetry = !isFinal && delay !== undefined;
  attempted(willRetry ? "failed" : isFinal ? "refused" : "given_up");
  return {
    next: willRetry ? { do: "retry", inMs: delay } : isFinal ? { do: "finish" } : { do: "die" },
    reason,
    record: async (tx) => {
      await moveBehind(tx, delivery, { isFailing: true });
      await log(tx, willRetry ? "PENDING" : "FAILED", willRetry ? now + delay : null);
      await noteFailure(tx, context, delivery, now);
    },
  };
}

/** Moves a sub-organization's endpoint between the workers of failing and those of healthy endpoints. */
async function moveBehind(tx: Transactor, delivery: Delivery, { isFailing }: { isFailing: boolean }): Promise<void> {
  const { organization_id: organizationId, parent_id: rootId, endpoint_id: endpointId, url } = delivery;
  if (rootId === null) return;
  await moveLane(tx, { lane: laneOf(endpointId), gate: gateOf(url, { organizationId, rootId, isFailing }) });
}

async function logAttempt(
  tx: Transactor,
  entry: { delivery: Delivery; attempt: Attempt; status: string; nextAttemptAt: number | null; now: number },
): Promise<void> {
  const { delivery, attempt, status, nextAttemptAt, now } = entry;
  const number = delivery.attempts + 1;
  const ref = { organizationId: delivery.organization_id, id: delivery.id };
  const updated = await updateDelivery(tx, { ...ref, status, number, nextAttemptAt, now });
  // It was deleted with its endpoint in the meantime.
  if (updated.length === 0) return;
  const { startedAt, durationMs, statusCode, error } = attempt;
  await insertAttempt(tx, { ...ref, number, startedAt, durationMs, statusCode, error });
}

async function end(tx: Transactor, { payload, clock }: Context, status: "CANCELLED" | "FAILED"): Promise<void> {
  await tx
    .updateTable("webhook_deliveries")
    .set({ status, next_attempt_at: null, updated_at: clock() })
    .where("organization_id", "=", payload.organizationId)
    .where("id", "=", payload.deliveryId)
    .execute();
}

async function markHealthy(tx: Transactor, { organization_id, endpoint_id }: Delivery): Promise<void> {
  await tx
    .updateTable("webhook_endpoints")
    .set({ failing_since: null })
    .where("organization_id", "=", organization_id)
    .where("id", "=", endpoint_id)
    .execute();
}

/** Disables an endpoint after days without a success, and announces that to the organization's other endpoints. */
async function noteFailure(tx: Transactor, { log }: Context, delivery: Delivery, now: number): Promise<void> {
  const { organization_id, endpoint_id } = delivery;
  const endpoint = await tx
    .selectFrom("webhook_endpoints")
    .select(["failing_since", "is_active", "url", "name"])
    .where("organization_id", "=", organization_id)
    .where("id", "=", endpoint_id)
    .executeTakeFirst();
  if (!endpoint || endpoint.is_active === 0) return;
  const isOver = endpoint.failing_since !== null && now - endpoint.failing_since >= DISABLED_AFTER_MS;
  if (endpoint.failing_since !== null && !isOver) return;
  await tx
    .updateTable("webhook_endpoints")
    .set(isOver ? { is_active: 0, updated_at: now } : { failing_since: now })
    .where("organization_id", "=", organization_id)
    .where("id", "=", endpoint_id)
    .execute();
  if (!isOver) return;
  const days = DISABLED_AFTER_MS / DAY_MS;
  log.warn(
    { endpointId: endpoint_id, organizationId: organization_id, days },
    "a webhook endpoint failed for too long and was disabled",
  );
  const { url, name } = endpoint;
  await announceDisabledEndpoint(tx, { organizationId: organization_id, endpointId: endpoint_id, url, name, now });
}

const selectDelivery = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("webhook_deliveries as d")
    .innerJoin("webhook_events as e", "e.id", "d.event_id")
    .leftJoin("activities as a", (join) =>
      join.onRef("a.organization_id", "=", "e.organization_id").onRef("a.id", "=", "e.activity_id"),
    )
    .innerJoin("webhook_endpoints as w", (join) =>
      join.onRef("w.organization_id", "=", "d.organization_id").onRef("w.id", "=", "d.endpoint_id"),
    )
    .innerJoin("organizations as o", "o.id", "d.organization_id")
    .select([
      "d.id",
      "d.organization_id",
      "d.endpoint_id",
      "d.event_id",
      "d.status",
      "d.attempts",
      "e.event_type",
      "e.body",
      "e.activity_id",
      "a.body as activity_body",
      "w.url",
      "w.is_active",
      "w.failing_since",
      "o.parent_id",
    ])
    .select((eb) =>
      eb
        .selectFrom("webhook_subscriptions as s")
        .select(eb.fn.countAll<number>().as("count"))
        .whereRef("s.organization_id", "=", "d.organization_id")
        .whereRef("s.endpoint_id", "=", "d.endpoint_id")
        .whereRef("s.event_type", "=", "e.event_type")
        .where("s.is_active", "=", 1)
        .as("subscriptions"),
    )
    .where("d.organization_id", "=", organizationId)
    .where("d.id", "=", id),
);

const updateDelivery = preparedWrite<{
  organizationId: string;
  id: string;
  status: string;
  number: number;
  nextAttemptAt: number | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("webhook_deliveries")
    .set({
      status: row.status as "PENDING",
      attempts: row.number,
      next_attempt_at: row.nextAttemptAt,
      updated_at: row.now,
    })
    .where("organization_id", "=", row.organizationId)
    .where("id", "=", row.id)
    .returning("id"),
);

const insertAttempt = preparedWrite<{
  organizationId: string;
  id: string;
  number: number;
  startedAt: number;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
}>()((db, row) =>
  db
    .insertInto("webhook_attempts")
    .values({
      organization_id: row.organizationId,
      delivery_id: row.id,
      number: row.number,
      started_at: row.startedAt,
      duration_ms: row.durationMs,
      status_code: row.statusCode,
      error: row.error,
    })
    .returning("number"),
);
