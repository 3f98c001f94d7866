import { enqueue } from "../../engine/jobs/jobs.ts";
import type { Transactor } from "../../storage/engine.ts";

/** The job kind that sends deliveries; `deliver.ts` declares it. */
export const DELIVER_WEBHOOK = "deliver_webhook";

export interface DeliveryRef {
  /** The endpoint's. */
  organizationId: string;
  deliveryId: string;
  endpointId: string;
  url: string;
  /** Milliseconds. */
  now: number;
}

/** Deliveries to one endpoint are made one after the other ... */
export const laneOf = (endpointId: string): string => `webhook:${endpointId}`;
/** ... and endpoints of one host share their workers. */
export const gateOf = (url: string): string => new URL(url).host;
/** A delivery that is queued twice is queued once. */
export const jobKeyOf = (deliveryId: string): string => `webhook-delivery:${deliveryId}`;

/** Queues a delivery behind the others of its endpoint. */
export function enqueueDelivery(tx: Transactor, delivery: DeliveryRef): Promise<void> {
  const { organizationId, deliveryId, endpointId, url, now } = delivery;
  return enqueue(tx, {
    kind: DELIVER_WEBHOOK,
    payload: { organizationId, deliveryId },
    lane: laneOf(endpointId),
    gate: gateOf(url),
    organizationId,
    runAt: now,
    now,
    key: jobKeyOf(deliveryId),
  });
}
