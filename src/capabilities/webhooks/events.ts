import type { Kysely } from "kysely";
import type { ActivityChange } from "../../engine/activities/ballot.ts";
import { renderActivity, viewActivity } from "../../engine/activities/view.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_CACHED_FILTER_BYTES, MAX_CACHED_FILTERS } from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { eventToStore } from "./event-body.ts";
import {
  type EventFacts,
  type EventType,
  type Filters,
  matchesFilters,
  parseFilters,
  type SentEventType,
  TEST_EVENT,
} from "./model.ts";
import { enqueueDelivery } from "./queue-delivery.ts";

/** Turns events into queued deliveries, in the transaction in which the event happens. */

/** An endpoint that receives an event. */
export interface EventReceiver {
  endpointId: string;
  /** The endpoint's organization, which may be the parent of the event's. */
  organizationId: string;
  /** The parent of that organization, or itself. */
  rootId: string;
  url: string;
}

/** Announces an activity's new status to the endpoints of its organization and its parent. The body is the activity itself. */
export async function announceActivity(tx: Transactor, change: ActivityChange): Promise<void> {
  const { activity, votes, organization, now } = change;
  const { id: organizationId, parentId } = organization;
  const facts: EventFacts = { organizationId, type: activity.type, status: activity.status };
  const receivers = await findReceivers(tx, { organizationId, parentId }, "ACTIVITY_UPDATES", facts);
  if (receivers.length === 0) return;
  const view = await viewActivity(tx, activity, votes, { rights: { mayApprove: true, mayReject: true }, now });
  const body = eventToStore(activity.body, renderActivity(view, "text"));
  const activityId = activity.body === undefined ? null : activity.id;
  await addDeliveries(tx, { organizationId, eventType: "ACTIVITY_UPDATES", body, activityId, now }, receivers);
}

/** Announces to the organization's other endpoints that one of them was disabled. */
export async function announceDisabledEndpoint(
  tx: Transactor,
  endpoint: { organizationId: string; endpointId: string; url: string; name: string; now: number },
): Promise<void> {
  const { organizationId, endpointId, url, name, now } = endpoint;
  const eventType = "WEBHOOK_ENDPOINT_UPDATES";
  const receivers = await findReceivers(tx, { organizationId, parentId: null }, eventType, { organizationId });
  const msg = { endpointId, url, name, isActive: false, timestamp: Math.floor(now / 1000) };
  const body = JSON.stringify({ type: "webhooks:endpoint_disabled", organizationId, msg });
  await addDeliveries(tx, { organizationId, eventType, body, activityId: null, now }, receivers);
}

/**
 * Sends a test event to one endpoint. The event identifies itself as a test.
 *
 * @returns the delivery's id
 */
export async function sendTest(
  tx: Transactor,
  endpoint: EventReceiver & { name: string; now: number },
): Promise<string> {
  const { organizationId, endpointId, url, name, now } = endpoint;
  const msg = { endpointId, url, name, timestamp: Math.floor(now / 1000) };
  const body = JSON.stringify({ type: "webhooks:endpoint_test", organizationId, msg });
  const eventId = await addEvent(tx, { organizationId, eventType: TEST_EVENT, body, activityId: null, now });
  return addDelivery(tx, { eventId, now }, endpoint);
}

/** An event about a resource of an organization, for the endpoints of the organization and its parent. */
export interface OwnedEvent {
  eventType: EventType;
  organization: { id: string; parentId: string | null };
  /** The event's name in its body. */
  type: string;
  /** The properties by which endpoints can filter it, besides the organization and the name. */
  facts: EventFacts;
  msg: object;
  /** Milliseconds. */
  now: number;
}

/** Announces an event in the transaction in which it happens. */
export async function announceEvent(
  tx: Transactor,
  { eventType, organization, type, facts, msg, now }: OwnedEvent,
): Promise<void> {
  const { id: organizationId, parentId } = organization;
  const about = { ...facts, organizationId, type };
  const receivers = await findReceivers(tx, { organizationId, parentId }, eventType, about);
  const body = JSON.stringify({ type, organizationId, parentOrganizationId: parentId ?? organizationId, msg });
  await addDeliveries(tx, { organizationId, eventType, body, activityId: null, now }, receivers);
}

/** The endpoints that may be subscribed to an organization's activities. */
export const findActivityListeners = (
  read: Reader,
  { id: organizationId, parentId }: ActivityChange["organization"],
): Promise<unknown> => findListeners(read, { organizationId, parentId, eventType: "ACTIVITY_UPDATES" });

/** For an organization without a parent, the query names it twice, which costs nothing extra. */
const findListeners = (
  read: Reader,
  { organizationId, parentId, eventType }: { organizationId: string; parentId: string | null; eventType: EventType },
) => selectListeners[read.kind](read, { organizationId, parentId: parentId ?? organizationId, eventType });

async function findReceivers(
  tx: Transactor,
  { organizationId, parentId }: { organizationId: string; parentId: string | null },
  eventType: EventType,
  facts: EventFacts,
): Promise<EventReceiver[]> {
  const rows = await findListeners(tx, { organizationId, parentId, eventType });
  const rootId = rootIdOf({ id: organizationId, parentId });
  const receivers = new Map<string, EventReceiver>();
  for (const row of rows) {
    if (row.filters_json !== null && !matchesFilters(filtersOf(row.filters_json), facts)) continue;
    // An endpoint receives the event once, even if several of its subscriptions match.
    const { endpoint_id: endpointId, organization_id, url } = row;
    receivers.set(endpointId, { endpointId, organizationId: organization_id, rootId, url });
  }
  return [...receivers.values()];
}

const cachedFilters = recentlyUsed<Filters>({
  entries: MAX_CACHED_FILTERS,
  bytes: MAX_CACHED_FILTER_BYTES,
  sizeOf: (_, json) => Buffer.byteLength(json),
});

function filtersOf(json: string): Filters {
  const known = cachedFilters.get(json);
  if (known) return known;
  const filters = parseFilters(json, "filtersJson");
  cachedFilters.set(json, filters);
  return filters;
}

interface Event {
  organizationId: string;
  eventType: SentEventType;
  body: string;
  activityId: string | null;
  now: number;
}

/** Stores an event with one queued delivery for each receiver. */
export async function addDeliveries(tx: Transactor, event: Event, receivers: readonly EventReceiver[]): Promise<void> {
  if (receivers.length === 0) return;
  const eventId = await addEvent(tx, event);
  for (const receiver of receivers) await addDelivery(tx, { eventId, now: event.now }, receiver);
}

async function addEvent(tx: Transactor, event: Event): Promise<string> {
  const id = newId();
  await insertEvent(tx, { ...event, id });
  return id;
}

/** @returns the delivery's id */
async function addDelivery(
  tx: Transactor,
  { eventId, now }: { eventId: string; now: number },
  { endpointId, organizationId, rootId, url }: EventReceiver,
): Promise<string> {
  const deliveryId = newId();
  await insertDelivery(tx, { organizationId, id: deliveryId, endpointId, eventId, now });
  await enqueueDelivery(tx, { organizationId, rootId, deliveryId, endpointId, url, now });
  return deliveryId;
}

interface Listening extends Record<string, unknown> {
  organizationId: string;
  parentId: string;
  eventType: EventType;
}

const listeners = (db: Pick<Kysely<Schema>, "selectFrom">, { organizationId, parentId, eventType }: Listening) =>
  db
    .selectFrom("webhook_endpoints as e")
    .innerJoin("webhook_subscriptions as s", (join) =>
      join.onRef("s.organization_id", "=", "e.organization_id").onRef("s.endpoint_id", "=", "e.id"),
    )
    .select(["e.id as endpoint_id", "e.organization_id", "e.url", "s.filters_json"])
    .where("e.organization_id", "in", [organizationId, parentId])
    .where("e.is_active", "=", 1)
    .where("s.is_active", "=", 1)
    .where("s.event_type", "=", eventType)
    .orderBy("e.id");

/** On PostgreSQL, the found endpoints are locked against deletion by concurrent transactions until this one ends. */
const selectListeners = {
  sqlite: prepared<Listening>()(listeners),
  postgres: prepared<Listening>()((db, listening) => listeners(db, listening).forKeyShare("e"), { isTogether: true }),
};

const insertEvent = preparedWrite<{
  id: string;
  organizationId: string;
  eventType: string;
  body: string;
  activityId: string | null;
  now: number;
}>()((db, row) =>
  db
    .insertInto("webhook_events")
    .values({
      id: row.id,
      organization_id: row.organizationId,
      event_type: row.eventType,
      body: row.body,
      activity_id: row.activityId,
      created_at: row.now,
    })
    .returning("id"),
);

const insertDelivery = preparedWrite<{
  organizationId: string;
  id: string;
  endpointId: string;
  eventId: string;
  now: number;
}>()((db, row) =>
  db
    .insertInto("webhook_deliveries")
    .values({
      organization_id: row.organizationId,
      id: row.id,
      endpoint_id: row.endpointId,
      event_id: row.eventId,
      status: "PENDING",
      attempts: 0,
      next_attempt_at: row.now,
      created_at: row.now,
      updated_at: row.now,
    })
    .returning("id"),
);
