import { createWebhookEndpoint } from "./create-webhook-endpoint.ts";
import { deleteWebhookEndpoint } from "./delete-webhook-endpoint.ts";
import { listWebhookDeliveries } from "./list-webhook-deliveries.ts";
import { listWebhookEndpoints } from "./list-webhook-endpoints.ts";
import { redeliverWebhook } from "./redeliver-webhook.ts";
import { updateWebhookEndpoint } from "./update-webhook-endpoint.ts";

export { deliverWebhook } from "./deliver.ts";
export { announceActivity } from "./events.ts";
export { pruneWebhookEvents } from "./prune.ts";
export { webhookKeySet, webhookVerificationKeys } from "./signing-keys.ts";

export const webhooks = [
  createWebhookEndpoint,
  updateWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  listWebhookDeliveries,
  redeliverWebhook,
];
