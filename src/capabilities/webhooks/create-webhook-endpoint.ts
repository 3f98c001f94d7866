import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Label, Strict } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { fail } from "../../kernel/errors.ts";
import {
  billingScopedEventTypes,
  checkEndpointUrl,
  EndpointUrl,
  parseFilters,
  Subscriptions,
  WebhookEndpoint,
} from "./model.ts";
import { addSubscriptions, MAX_ENDPOINTS, requireEndpoint } from "./store.ts";

export const createWebhookEndpoint = activity({
  path: "create_webhook_endpoint",
  summary: "Send events to a URL. Every delivery is signed with the published webhook key.",
  needs: ["outboundPolicy"],
  intent: Strict({ url: EndpointUrl, name: Label, subscriptions: Type.Optional(Subscriptions) }),
  result: Type.Object({ endpointId: Type.String(), webhookEndpoint: WebhookEndpoint }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "CREATE" }),
  check({ url, subscriptions = [] }, { outboundPolicy }) {
    checkEndpointUrl(url, outboundPolicy);
    for (const [index, { filtersJson }] of subscriptions.entries()) {
      if (filtersJson) parseFilters(filtersJson, `parameters.subscriptions.${index}.filtersJson`);
    }
  },
  async run({ intent: { url, name, subscriptions = [] }, tx, organization, id, now }) {
    const billing = subscriptions.findIndex(({ eventType }) => billingScopedEventTypes.includes(eventType));
    if (organization.parentId !== null && billing >= 0) {
      const reason = `Only the parent organization may subscribe to ${subscriptions[billing]?.eventType}.`;
      fail("PERMISSION_DENIED", { reason });
    }
    const endpointId = id("endpoint");
    const row = { id: endpointId, organization_id: organization.id, url, name, is_active: 1, failing_since: null };
    await tx
      .insertInto("webhook_endpoints")
      .values({ ...row, created_at: now, updated_at: now })
      .execute();
    await addSubscriptions(tx, organization.id, endpointId, subscriptions);
    const quota = { table: "webhook_endpoints", kind: "webhook endpoints", limit: MAX_ENDPOINTS } as const;
    await enforceQuota(tx, quota, { organization_id: organization.id, erasing: 0 });
    return { endpointId, webhookEndpoint: await requireEndpoint(tx, organization.id, endpointId) };
  },
});
