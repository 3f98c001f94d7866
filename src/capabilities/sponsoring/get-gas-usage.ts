import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { gasUsage } from "./gas-usage.ts";

export const getGasUsage = query({
  path: "get_gas_usage",
  summary:
    "What the service paid for the organization, for a parent with its sub-organizations, in the rolling window, and the limit: 0 for none.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({
    windowDurationMinutes: Type.Integer(),
    windowLimitUsd: Type.String(),
    usageUsd: Type.String(),
  }),
  async run({ read, organization, now }) {
    const { windowMinutes, limitUsd, usageUsd } = await gasUsage(read, organization, now);
    return { windowDurationMinutes: windowMinutes, windowLimitUsd: limitUsd, usageUsd };
  },
});
