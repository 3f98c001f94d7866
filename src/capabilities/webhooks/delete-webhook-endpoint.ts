import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { removeEndpoint, requireEndpoint } from "./store.ts";

export const deleteWebhookEndpoint = activity({
  path: "delete_webhook_endpoint",
  summary: "Delete an endpoint with its subscriptions, its queued deliveries and their log.",
  intent: Strict({ endpointId: Id }),
  result: Type.Object({ endpointId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "DELETE" }),
  async run({ intent: { endpointId }, tx, organization: { id: organizationId }, now }) {
    await requireEndpoint(tx, organizationId, endpointId);
    await removeEndpoint(tx, { organizationId, endpointId }, now);
    return { endpointId };
  },
});
