import { addOrganization } from "../../src/capabilities/organizations/store.ts";
import { addDeliveries, type EventReceiver } from "../../src/capabilities/webhooks/events.ts";
import { addSubscriptions } from "../../src/capabilities/webhooks/store.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Database } from "../../src/storage/database.ts";

/** Endpoints and deliveries made through the stores, for loads that requests would take too long to make. */

const ENDPOINTS_PER_ORGANIZATION = 20;
/** In one transaction, which has its time also on a busy machine. */
const EVENTS_AT_ONCE = 50;

/** Adds one endpoint for each URL, listening to activities, in as many organizations without users as that takes. */
export async function addEndpoints(database: Database, urls: readonly string[]): Promise<EventReceiver[]> {
  const receivers: EventReceiver[] = [];
  const now = Date.now();
  for (let start = 0; start < urls.length; start += ENDPOINTS_PER_ORGANIZATION) {
    await database.transact("installation", async (tx) => {
      const sealedKey = Buffer.alloc(0);
      const organizationId = newId();
      const organization = { id: organizationId, name: "Receivers", parentId: null, sealedKey, now };
      await addOrganization(tx, organization, () => {});
      for (const url of urls.slice(start, start + ENDPOINTS_PER_ORGANIZATION)) {
        const id = newId();
        const row = { id, organization_id: organizationId, url, name: "hook", is_active: 1, failing_since: null };
        await tx
          .insertInto("webhook_endpoints")
          .values({ ...row, created_at: now, updated_at: now })
          .execute();
        await addSubscriptions(tx, organizationId, id, [{ eventType: "ACTIVITY_UPDATES" }]);
        receivers.push({ endpointId: id, organizationId, rootId: organizationId, url });
      }
    });
  }
  return receivers;
}

/** Queues `count` events, each for one of the receivers in turn, to be sent from `dueAt` on (milliseconds). */
export async function queueDeliveries(
  database: Database,
  receivers: readonly EventReceiver[],
  options: { count: number; body: string; dueAt: number },
): Promise<void> {
  const { count, body, dueAt } = options;
  for (let start = 0; start < count; start += EVENTS_AT_ONCE) {
    await database.transact(undefined, async (tx) => {
      for (let index = start; index < Math.min(count, start + EVENTS_AT_ONCE); index++) {
        const receiver = receivers[index % receivers.length] as EventReceiver;
        const { organizationId } = receiver;
        const event = { organizationId, eventType: "ACTIVITY_UPDATES", body, activityId: null, now: dueAt } as const;
        await addDeliveries(tx, event, [receiver]);
      }
    });
  }
}

/** How many deliveries are still to be sent. */
export async function countPending(database: Database): Promise<number> {
  const { count } = await database.read
    .selectFrom("webhook_deliveries")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("status", "=", "PENDING")
    .executeTakeFirstOrThrow();
  return count;
}
