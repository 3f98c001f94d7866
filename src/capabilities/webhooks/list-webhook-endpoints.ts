import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { WebhookEndpoint } from "./model.ts";
import { findEndpoints } from "./store.ts";

export const listWebhookEndpoints = query({
  path: "list_webhook_endpoints",
  summary: "List all webhook endpoints of the organization with their subscriptions.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ webhookEndpoints: Type.Array(WebhookEndpoint) }),
  run: async ({ read, organization }) => ({ webhookEndpoints: await findEndpoints(read, organization.id) }),
});
