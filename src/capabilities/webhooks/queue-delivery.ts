import { type Gates, gatesOf } from "../../engine/jobs/gates.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { MAX_WEBHOOK_LANES, MAX_WEBHOOK_LANES_BELOW_ONE_PARENT } from "../../kernel/limits.ts";
import type { Transactor } from "../../storage/engine.ts";

/** The job kind that sends deliveries; `deliver.ts` declares it. */
export const DELIVER_WEBHOOK = "deliver_webhook";

export interface DeliveryRef {
  /** The endpoint's organization. */
  organizationId: string;
  /** The parent of that organization, or itself. */
  rootId: string;
  deliveryId: string;
  endpointId: string;
  url: string;
  /** Milliseconds. */
  now: number;
}

/** Deliveries to one endpoint are sent one at a time. */
export const laneOf = (endpointId: string): string => `webhook:${endpointId}`;
/**
 * The limits on workers for an endpoint's deliveries. All endpoints on one host, on any port, share a limit; so do all endpoints of one
 * organization, and those of all sub-organizations below a parent, which leaves workers for the parent's own. Endpoints of sub-organizations
 * whose last attempt failed have an additional limit, so that many unresponsive receivers do not delay those of siblings for long. Webhooks
 * together never use all workers, so that unresponsive receivers delay no mail and no transaction.
 */
export function gateOf(url: string, { organizationId, rootId, isFailing = false }: EndpointHolder): Gates {
  const { hostname } = new URL(url);
  const all = { name: "webhooks", lanes: MAX_WEBHOOK_LANES };
  const own = `webhooks:${organizationId}`;
  if (organizationId === rootId) return gatesOf(hostname, own, all);
  const below = { name: `webhooks-below:${rootId}`, lanes: MAX_WEBHOOK_LANES_BELOW_ONE_PARENT };
  return gatesOf(hostname, own, below, all, ...(isFailing ? [`webhooks-failing-below:${rootId}`] : []));
}

interface EndpointHolder {
  organizationId: string;
  rootId: string;
  /** Whether the last attempt failed; false by default. */
  isFailing?: boolean;
}

/** The key prevents queuing a delivery twice. */
export const jobKeyOf = (deliveryId: string): string => `webhook-delivery:${deliveryId}`;

/** Queues a delivery after the others of its endpoint. */
export function enqueueDelivery(tx: Transactor, delivery: DeliveryRef): Promise<void> {
  const { organizationId, rootId, deliveryId, endpointId, url, now } = delivery;
  return enqueue(tx, {
    kind: DELIVER_WEBHOOK,
    payload: { organizationId, deliveryId },
    lane: laneOf(endpointId),
    gate: gateOf(url, { organizationId, rootId }),
    organizationId,
    runAt: now,
    now,
    key: jobKeyOf(deliveryId),
  });
}
