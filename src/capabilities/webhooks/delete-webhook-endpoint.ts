import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";

export const deleteWebhookEndpoint = activity({
  path: "delete_webhook_endpoint",
  summary: "Delete an endpoint with its subscriptions, its queued deliveries and their log.",
  intent: Strict({ endpointId: Id }),
  result: Type.Object({ endpointId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "DELETE" }),
  async run({ intent: { endpointId }, tx, organization }) {
    const { numDeletedRows } = await tx
      .deleteFrom("webhook_endpoints")
      .where("organization_id", "=", organization.id)
      .where("id", "=", endpointId)
      .executeTakeFirst();
    if (numDeletedRows === 0n) {
      fail("RESOURCE_NOT_FOUND", { kind: "webhook endpoint", id: endpointId, organizationId: organization.id });
    }
    return { endpointId };
  },
});
