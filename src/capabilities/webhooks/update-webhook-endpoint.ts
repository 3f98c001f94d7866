import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Label, Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { moveLane } from "../../engine/jobs/jobs.ts";
import { fail } from "../../kernel/errors.ts";
import { checkEndpointUrl, EndpointUrl, WebhookEndpoint } from "./model.ts";
import { gateOf, laneOf } from "./queue-delivery.ts";
import { requireEndpoint } from "./store.ts";

export const updateWebhookEndpoint = activity({
  path: "update_webhook_endpoint",
  summary: "Change an endpoint's URL or name, or disable or enable it. Disabling also stops queued deliveries.",
  needs: ["outboundPolicy"],
  intent: Strict({
    endpointId: Id,
    url: Type.Optional(EndpointUrl),
    name: Type.Optional(Label),
    isActive: Type.Optional(Type.Boolean()),
  }),
  result: Type.Object({ endpointId: Type.String(), webhookEndpoint: WebhookEndpoint }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "UPDATE" }),
  check({ url }, { outboundPolicy }) {
    if (url !== undefined) checkEndpointUrl(url, outboundPolicy);
  },
  async run({ intent: { endpointId, url, name, isActive }, tx, organization, now }) {
    // The lane before the endpoint: the same lock order as when the outcome of an attempt is stored.
    if (url !== undefined) {
      const holder = { organizationId: organization.id, rootId: rootIdOf(organization) };
      await moveLane(tx, { lane: laneOf(endpointId), gate: gateOf(url, holder) });
    }
    const { numUpdatedRows } = await tx
      .updateTable("webhook_endpoints")
      .set({
        ...(url === undefined ? {} : { url }),
        ...(name === undefined ? {} : { name }),
        // Enabling the endpoint again or changing its URL resets its history of failure.
        ...(isActive === undefined ? {} : { is_active: isActive ? 1 : 0 }),
        ...(isActive === true || url !== undefined ? { failing_since: null } : {}),
        updated_at: now,
      })
      .where("organization_id", "=", organization.id)
      .where("id", "=", endpointId)
      .where("erasing", "=", 0)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) {
      fail("RESOURCE_NOT_FOUND", { kind: "webhook endpoint", id: endpointId, organizationId: organization.id });
    }
    return { endpointId, webhookEndpoint: await requireEndpoint(tx, organization.id, endpointId) };
  },
});
