import { type Static, Type } from "typebox";
import { solanaChains } from "../../chains/solana/networks.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_GAS_WINDOW_MINUTES } from "../../kernel/limits.ts";
import { findConfig, putConfig, unpricedChains } from "./gas-usage.ts";
import { microUsd } from "./usd.ts";

const LimitUsd = Type.String({
  pattern: "^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?$",
  description: "an amount of US dollars, such as 100.00; 0 for no limit",
});

const Intent = Strict({
  orgWindowLimitUsd: LimitUsd,
  subOrgWindowLimitUsd: LimitUsd,
  windowDurationMinutes: Type.String({ pattern: "^[1-9][0-9]{0,4}$", description: "a number of minutes" }),
  enabled: Type.Optional(Type.Boolean()),
  solanaConfig: Type.Optional(Strict({ rentPrefundEnabled: Type.Optional(Type.Boolean()) })),
});

export const upsertGasUsageConfig = activity({
  path: "upsert_gas_usage_config",
  summary:
    "Limit what the service pays for the organization and its sub-organizations in a rolling window, in total and for each of them, or make it pay nothing.",
  only: "parents",
  needs: ["evm", "solana", "assets", "rentPaid"],
  intent: Intent,
  result: Type.Object({ gasUsageConfigId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "SPONSORSHIP", action: "UPDATE" }),
  check,
  async run({ intent, tx, organization, evm, solana, assets, rentPaid, id, now }) {
    const { orgWindowLimitUsd, subOrgWindowLimitUsd, windowDurationMinutes, enabled, solanaConfig } = intent;
    const { rentPrefundEnabled } = solanaConfig ?? {};
    if (rentPrefundEnabled === true && !solanaChains.some(rentPaid.on)) {
      const reason =
        "must be false or absent: this server does not pay rent, because `sponsorRent` is not set for any of its chains";
      fail("FIELD_INVALID", { field: "parameters.solanaConfig.rentPrefundEnabled", reason });
    }
    if ([orgWindowLimitUsd, subOrgWindowLimitUsd].some((limit) => microUsd(limit) > 0n)) {
      const [unpriced] = unpricedChains({ evm, solana, assets });
      if (unpriced) fail("GAS_PRICE_UNKNOWN", { chain: unpriced });
    }
    const known = await findConfig(tx, organization.id);
    const gasUsageConfigId = known?.id ?? id("gasUsageConfig");
    await putConfig(tx, {
      organizationId: organization.id,
      id: gasUsageConfigId,
      orgLimitUsd: orgWindowLimitUsd,
      subOrgLimitUsd: subOrgWindowLimitUsd,
      windowMinutes: Number(windowDurationMinutes),
      enabled: (enabled ?? known?.isEnabled ?? true) ? 1 : 0,
      paysRent: (rentPrefundEnabled ?? known?.paysRent ?? true) ? 1 : 0,
      now,
    });
    return { gasUsageConfigId };
  },
});

function check({ windowDurationMinutes }: Static<typeof Intent>): void {
  if (Number(windowDurationMinutes) > MAX_GAS_WINDOW_MINUTES) {
    const reason = `must be at most ${MAX_GAS_WINDOW_MINUTES} minutes`;
    fail("FIELD_INVALID", { field: "parameters.windowDurationMinutes", reason });
  }
}
