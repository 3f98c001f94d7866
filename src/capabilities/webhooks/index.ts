import { capability } from "../../engine/capability.ts";
import { createWebhookEndpoint } from "./create-webhook-endpoint.ts";
import { deleteWebhookEndpoint } from "./delete-webhook-endpoint.ts";
import { deliverWebhook } from "./deliver.ts";
import { eraseEndpoint } from "./erase-endpoint.ts";
import { listWebhookDeliveries } from "./list-webhook-deliveries.ts";
import { listWebhookEndpoints } from "./list-webhook-endpoints.ts";
import { pruneWebhookEvents } from "./prune.ts";
import { redeliverWebhook } from "./redeliver-webhook.ts";
import { webhookKey } from "./signing-keys.ts";
import { testWebhookEndpoint } from "./test-webhook-endpoint.ts";
import { updateWebhookEndpoint } from "./update-webhook-endpoint.ts";

export { announceActivity, findActivityListeners } from "./events.ts";
export { DELIVER_WEBHOOK } from "./queue-delivery.ts";
export { webhookKeySet } from "./signing-keys.ts";

export const webhooks = capability({
  title: "Webhooks",
  operations: [
    createWebhookEndpoint,
    updateWebhookEndpoint,
    deleteWebhookEndpoint,
    listWebhookEndpoints,
    listWebhookDeliveries,
    redeliverWebhook,
    testWebhookEndpoint,
  ],
  jobs: [deliverWebhook, eraseEndpoint, pruneWebhookEvents],
  events: ["ACTIVITY_UPDATES", "WEBHOOK_ENDPOINT_UPDATES"],
  serviceKeys: [webhookKey],
  keeps: {
    webhook_endpoints: "the deletion itself is still to be told to them",
    webhook_subscriptions: "as their endpoints",
    webhook_events: "deliveries on their way need them; they are pruned after a month",
    webhook_deliveries: "as their events",
    webhook_attempts: "as their deliveries",
  },
});
