import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { dropJobs } from "../../engine/jobs/jobs.ts";
import { laneOf } from "./queue-delivery.ts";
import { removeDeliveries, requireEndpoint } from "./store.ts";

export const deleteWebhookEndpoint = activity({
  path: "delete_webhook_endpoint",
  summary: "Delete an endpoint with its subscriptions, its queued deliveries and their log.",
  intent: Strict({ endpointId: Id }),
  result: Type.Object({ endpointId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WEBHOOK_ENDPOINT", action: "DELETE" }),
  async run({ intent: { endpointId }, tx, organization }) {
    await requireEndpoint(tx, organization.id, endpointId);
    // First, so that an attempt that is just being recorded is waited for and not met halfway.
    await dropJobs(tx, laneOf(endpointId), organization.id);
    // They go with the endpoint's row, which on SQLite is long where there are many.
    if (tx.kind === "sqlite") await removeDeliveries(tx, organization.id, endpointId);
    await tx
      .deleteFrom("webhook_endpoints")
      .where("organization_id", "=", organization.id)
      .where("id", "=", endpointId)
      .execute();
    return { endpointId };
  },
});
