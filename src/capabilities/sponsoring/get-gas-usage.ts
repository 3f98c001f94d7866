import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { gasUsage, unpricedChains } from "./gas-usage.ts";

export const getGasUsage = query({
  path: "get_gas_usage",
  summary:
    "Get what the service paid for the organization (for a parent, including its sub-organizations) in the rolling window, and the limit: 0 for none.",
  needs: ["evm", "solana", "assets"],
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({
    windowDurationMinutes: Type.Integer(),
    windowLimitUsd: Type.String(),
    usageUsd: Type.String(),
    uncountedChains: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "An extension of this server: chains whose native asset has no price here. The usage does not include what is paid on them.",
      }),
    ),
  }),
  async run({ read, organization, evm, solana, assets, now }) {
    const { windowMinutes, limitUsd, usageUsd } = await gasUsage(read, organization, now);
    const uncountedChains = unpricedChains({ evm, solana, assets });
    return {
      windowDurationMinutes: windowMinutes,
      windowLimitUsd: limitUsd,
      usageUsd,
      ...(uncountedChains.length === 0 ? {} : { uncountedChains }),
    };
  },
});
