/** What webhooks need of the house beside what the engine has for all. */

declare module "../../engine/services.ts" {
  interface Services {
    /** When webhook deliveries are tried, and how long each try may take. */
    webhookSchedule: WebhookSchedule;
    webhookObserver: WebhookObserver;
  }
}

/** Is told of each attempt to deliver a webhook: taken, or not and to be tried again, refused for good, or the last one. */
export interface WebhookObserver {
  attempted(outcome: "delivered" | "failed" | "refused" | "given_up"): void;
}

export interface WebhookSchedule {
  /** Pause before each attempt; the first is at once. */
  retryDelaysMs: readonly number[];
  /** Bound of one attempt. */
  timeoutMs: number;
}
