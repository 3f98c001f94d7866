import { enqueue } from "../../engine/jobs.ts";
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

/** Queues a delivery behind the others of its endpoint; endpoints of one host share their workers. */
export function enqueueDelivery(tx: Transactor, delivery: DeliveryRef): Promise<void> {
  const { organizationId, deliveryId, endpointId, url, now } = delivery;
  return enqueue(tx, {
    kind: DELIVER_WEBHOOK,
    payload: { organizationId, deliveryId },
    lane: `webhook:${endpointId}`,
    gate: new URL(url).host,
    organizationId,
    runAt: now,
    now,
    key: `webhook-delivery:${deliveryId}`,
  });
}
