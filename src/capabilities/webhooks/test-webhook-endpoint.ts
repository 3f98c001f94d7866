import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { fail } from "../../kernel/errors.ts";
import { WEBHOOK_TEST_PAUSE_SECONDS } from "../../kernel/limits.ts";
import { sendTest } from "./events.ts";
import { requireEndpoint } from "./store.ts";

export const testWebhookEndpoint = activity({
  path: "test_webhook_endpoint",
  isExtension: true,
  summary:
    "Send a test event to an endpoint, whatever it is subscribed to. It is signed, retried and logged like any other. An extension of this server.",
  intent: Strict({ endpointId: Id }),
  result: Type.Object({ deliveryId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "UPDATE" }),
  async run({ intent: { endpointId }, tx, organization, now }) {
    const organizationId = organization.id;
    const endpoint = await requireEndpoint(tx, organizationId, endpointId);
    if (!endpoint.isActive) {
      const reason = "is an endpoint that is disabled; enable it with update_webhook_endpoint first";
      fail("FIELD_INVALID", { field: "parameters.endpointId", reason });
    }
    // The statement itself checks the pause, so that only one of two concurrent tests is sent.
    const { numUpdatedRows } = await tx
      .updateTable("webhook_endpoints")
      .set({ tested_at: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", endpointId)
      .where((row) =>
        row.or([row("tested_at", "is", null), row("tested_at", "<=", now - WEBHOOK_TEST_PAUSE_SECONDS * 1000)]),
      )
      .executeTakeFirst();
    if (numUpdatedRows === 0n) fail("WEBHOOK_TESTED_TOO_SOON", { seconds: WEBHOOK_TEST_PAUSE_SECONDS });
    const { url, name } = endpoint;
    return {
      deliveryId: await sendTest(tx, { organizationId, rootId: rootIdOf(organization), endpointId, url, name, now }),
    };
  },
});
