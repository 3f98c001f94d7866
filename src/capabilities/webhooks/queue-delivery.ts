import { type Gates, gatesOf } from "../../engine/jobs/gates.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import { MAX_WEBHOOK_LANES, MAX_WEBHOOK_LANES_OF_ONE_PARENT } from "../../kernel/limits.ts";
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
 * ... and endpoints of one host share their workers, whatever their port; so do those of one organization, and of a parent with all its
 * sub-organizations. Some workers are never those of webhooks: receivers that do not answer keep no mail and no transaction waiting.
 */
export const gateOf = (url: string, { organizationId, rootId }: { organizationId: string; rootId: string }): Gates =>
  gatesOf(
    new URL(url).hostname,
    `webhooks:${organizationId}`,
    { name: `webhooks-below:${rootId}`, lanes: MAX_WEBHOOK_LANES_OF_ONE_PARENT },
    { name: "webhooks", lanes: MAX_WEBHOOK_LANES },
  );
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
