import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { fail } from "../../kernel/errors.ts";
import { enqueueDelivery } from "./queue-delivery.ts";
import { requireEndpoint } from "./store.ts";

export const redeliverWebhook = activity({
  path: "redeliver_webhook",
  isExtension: true,
  summary: "Send a delivery again, whatever its status. It keeps its event ID. An extension of this server.",
  intent: Strict({ deliveryId: Id }),
  result: Type.Object({ deliveryId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "UPDATE" }),
  async run({ intent: { deliveryId }, tx, organization, now }) {
    const organizationId = organization.id;
    const delivery = await tx
      .selectFrom("webhook_deliveries")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("id", "=", deliveryId)
      .executeTakeFirst();
    if (!delivery) fail("RESOURCE_NOT_FOUND", { kind: "webhook delivery", id: deliveryId, organizationId });
    const endpoint = await requireEndpoint(tx, organizationId, delivery.endpoint_id);
    if (!endpoint.isActive) {
      const reason = "belongs to an endpoint that is disabled; enable it with update_webhook_endpoint first";
      fail("FIELD_INVALID", { field: "parameters.deliveryId", reason });
    }
    await tx
      .updateTable("webhook_deliveries")
      .set({ status: "PENDING", next_attempt_at: now, updated_at: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", deliveryId)
      .execute();
    const { endpointId, url } = endpoint;
    await enqueueDelivery(tx, { organizationId, rootId: rootIdOf(organization), deliveryId, endpointId, url, now });
    return { deliveryId };
  },
});
