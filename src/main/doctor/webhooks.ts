import { COUNT_FAILING_ENDPOINTS, type FailingEndpoints } from "../../capabilities/webhooks/failing.ts";
import type { Inspection } from "../../storage/inspection.ts";
import { type Finding, ok, warn } from "./finding.ts";

const CHECK = "webhooks";

/** Reports failing endpoints. One is usually its owner's problem, but if all fail at once, it is this network's. */
export async function checkWebhooks(inspection: Pick<Inspection, "all">): Promise<Finding> {
  const [found] = await inspection.all<FailingEndpoints>(COUNT_FAILING_ENDPOINTS);
  const { count, since } = found as FailingEndpoints;
  if (since === null) return ok(CHECK, "no endpoint is failing");
  const who = count === 1 ? "1 endpoint is failing" : `${count} endpoints are failing`;
  return warn(
    CHECK,
    `${who}, the first since ${new Date(since).toISOString()}; \`keystead webhooks failing\` lists them with the reasons. If it is all of them, check that this machine can reach the network`,
  );
}
