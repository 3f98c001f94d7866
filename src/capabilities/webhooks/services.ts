/** The services that webhooks need in addition to the engine's. */

declare module "../../engine/services.ts" {
  interface Services {
    /** When deliveries are attempted, and the timeout of each attempt. */
    webhookSchedule: WebhookSchedule;
    webhookObserver: WebhookObserver;
  }
}

/**
 * Called after each attempt to deliver a webhook: `delivered`, `failed` (to be retried), `refused` (a final error), or `given_up` (the last
 * retry failed).
 */
export interface WebhookObserver {
  attempted(outcome: "delivered" | "failed" | "refused" | "given_up"): void;
}

export interface WebhookSchedule {
  /** The pause before each attempt; the first is immediate. */
  retryDelaysMs: readonly number[];
  /** The timeout of one attempt. */
  timeoutMs: number;
}
