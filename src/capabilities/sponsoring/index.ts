import { capability } from "../../engine/capability.ts";
import { getGasUsage } from "./get-gas-usage.ts";
import { sponsorKeys } from "./sponsor-keys.ts";
import { upsertGasUsageConfig } from "./upsert-gas-usage-config.ts";

export { sponsorAddresses } from "./sponsor-keys.ts";

export const sponsoring = capability({
  title: "Sponsoring",
  operations: [upsertGasUsageConfig, getGasUsage],
  serviceKeys: sponsorKeys,
  erases: ["gas_usage_configs", "gas_usage"],
  keeps: {
    sponsored_sends: "what was decided on is sent, and what was paid is known",
    gas_costs: "its parent is told what was paid",
  },
});
