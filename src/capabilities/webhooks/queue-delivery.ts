import { type Gates, gatesOf } from "../../engine/jobs/gates.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { MAX_WEBHOOK_LANES, MAX_WEBHOOK_LANES_BELOW_ONE_PARENT } from "../../kernel/limits.ts";
import type { Transactor } from "../../storage/engine.ts";

/** The job kind that sends deliveries; `deliver.ts` declares it. */
export const DELIVER_WEBHOOK = "deliver_webhook";

export interface DeliveryRef {
  /** The endpoint's. */
  organizationId: string;
  /** Of that organization: its parent, or itself. */
  rootId: string;
  deliveryId: string;
  endpointId: string;
  url: string;
  /** Milliseconds. */
  now: number;
}

/** Deliveries to one endpoint are made one after the other ... */
export const laneOf = (endpointId: string): string => `webhook:${endpointId}`;
/**
 * ... and endpoints of one host share their workers, whatever their port; so do those of one organization, and of all sub-organizations
 * below a parent, whose own endpoints have workers that those never have. Of these, endpoints that failed last have a part alone: whoever
 * makes sub-organizations with receivers that do not answer keeps no sibling waiting for long. Some workers are never those of webhooks:
 * such receivers keep no mail and no transaction waiting.
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
  /** Whether the last attempt came to nothing; not unless said. */
  isFailing?: boolean;
}

/** A delivery that is queued twice is queued once. */
export const jobKeyOf = (deliveryId: string): string => `webhook-delivery:${deliveryId}`;

/** Queues a delivery behind the others of its endpoint. */
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
