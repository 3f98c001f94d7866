import { fail } from "../../kernel/errors.ts";
import { deleteInTurns, rowId } from "../../storage/deletion-in-turns.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Subscription, WebhookEndpoint } from "./model.ts";

/** What other capabilities have told to endpoints. */
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

/** All endpoints of an organization, or the one named. */
export async function findEndpoints(read: Reader, organizationId: string, id?: string): Promise<WebhookEndpoint[]> {
  const endpoints = await read
    .selectFrom("webhook_endpoints")
    .selectAll()
    .where("organization_id", "=", organizationId)
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

/** Deletes what was and is to be sent to an endpoint, with the log of it, on SQLite. */
export async function removeDeliveries(tx: Transactor, organizationId: string, endpointId: string): Promise<void> {
  const deliveries = tx
    .selectFrom("webhook_deliveries")
    .select(rowId.as("row_id"))
    .where("organization_id", "=", organizationId)
    .where("endpoint_id", "=", endpointId)
    .orderBy("id");
  await deleteInTurns(organizationId, tx.deleteFrom("webhook_deliveries"), deliveries);
}
