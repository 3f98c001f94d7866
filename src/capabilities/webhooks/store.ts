import { dropJobs, enqueue } from "../../engine/jobs/jobs.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ERASED_AT_ONCE } from "../../kernel/limits.ts";
import { areMoreThan, deleteInTurns, rowId } from "../../storage/deletion-in-turns.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Subscription, WebhookEndpoint } from "./model.ts";
import { laneOf } from "./queue-delivery.ts";

/** For other capabilities, to announce events to endpoints. */
export { announceEvent } from "./events.ts";

/** Endpoints and their subscriptions. */

export const MAX_ENDPOINTS = 20;

export async function addSubscriptions(
  tx: Transactor,
  organizationId: string,
  endpointId: string,
  subscriptions: readonly Subscription[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const rows = subscriptions.map(({ eventType, filtersJson, isActive = true }, position) => ({
    organization_id: organizationId,
    endpoint_id: endpointId,
    position,
    event_type: eventType,
    filters_json: filtersJson || null,
    is_active: isActive ? 1 : 0,
  }));
  await tx.insertInto("webhook_subscriptions").values(rows).execute();
}

/** All endpoints of an organization, or only the one with this id. */
export async function findEndpoints(read: Reader, organizationId: string, id?: string): Promise<WebhookEndpoint[]> {
  const endpoints = await read
    .selectFrom("webhook_endpoints")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("erasing", "=", 0)
    .$if(id !== undefined, (rows) => rows.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  const subscriptions = await read
    .selectFrom("webhook_subscriptions")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (rows) => rows.where("endpoint_id", "=", id as string))
    .orderBy("position")
    .execute();
  const byEndpoint = Map.groupBy(subscriptions, ({ endpoint_id }) => endpoint_id);
  return endpoints.map((endpoint) => ({
    endpointId: endpoint.id,
    organizationId,
    url: endpoint.url,
    name: endpoint.name,
    isActive: endpoint.is_active === 1,
    subscriptions: (byEndpoint.get(endpoint.id) ?? []).map(({ event_type, filters_json, is_active }) => ({
      eventType: event_type,
      ...(filters_json === null ? {} : { filtersJson: filters_json }),
      isActive: is_active === 1,
    })),
  }));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireEndpoint(read: Reader, organizationId: string, id: string): Promise<WebhookEndpoint> {
  const [endpoint] = await findEndpoints(read, organizationId, id);
  return endpoint ?? fail("RESOURCE_NOT_FOUND", { kind: "webhook endpoint", id, organizationId });
}

export const ERASE_ENDPOINT = "erase_webhook_endpoint";

interface EndpointRef {
  organizationId: string;
  endpointId: string;
}

/**
 * Deletes an endpoint with its subscriptions, its queued deliveries and the log of deliveries. If these are more than one transaction should
 * delete, the endpoint is disabled and hidden at once, and a job deletes it.
 */
export async function removeEndpoint(tx: Transactor, ref: EndpointRef, now: number): Promise<void> {
  const { organizationId, endpointId } = ref;
  if (!(await areMoreThan(MAX_ERASED_AT_ONCE, deliveriesTo(tx, ref)))) {
    // The jobs first, to wait for an attempt that is being recorded right now.
    await dropJobs(tx, laneOf(endpointId), organizationId);
    // Deliveries are deleted by cascade with the endpoint's row, which takes long on SQLite if there are many.
    if (tx.kind === "sqlite") {
      const deliveries = deliveriesTo(tx, ref).select(rowId.as("row_id"));
      await deleteInTurns(organizationId, tx.deleteFrom("webhook_deliveries"), deliveries);
    }
    return removeEndpointRow(tx, ref);
  }
  await tx
    .updateTable("webhook_endpoints")
    .set({ is_active: 0, erasing: 1, updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("id", "=", endpointId)
    .execute();
  await enqueue(tx, {
    kind: ERASE_ENDPOINT,
    payload: ref,
    lane: `${ERASE_ENDPOINT}/${endpointId}`,
    gate: `${ERASE_ENDPOINT}*1`,
    organizationId,
    runAt: now,
    now,
  });
}

/** Deletes an endpoint's row and, by cascade, its subscriptions and remaining deliveries. */
export async function removeEndpointRow(tx: Transactor, { organizationId, endpointId }: EndpointRef): Promise<void> {
  await tx
    .deleteFrom("webhook_endpoints")
    .where("organization_id", "=", organizationId)
    .where("id", "=", endpointId)
    .execute();
}

export const deliveriesTo = (tx: Transactor, { organizationId, endpointId }: EndpointRef) =>
  tx
    .selectFrom("webhook_deliveries")
    .where("organization_id", "=", organizationId)
    .where("endpoint_id", "=", endpointId)
    .orderBy("id");
