import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { statusFields } from "./model.ts";
import { shownStatus } from "./status.ts";

export const getEarnDepositStatus = query({
  path: "get_earn_deposit_status",
  summary: "Get the status of a deposit into a wrapper: PENDING, COMPLETED, or FAILED with the reason.",
  request: Type.Object({ organizationId: Id, depositRequestId: Id }),
  response: Type.Object({ ...statusFields, depositTxHash: Type.Optional(Type.String()) }),
  async run({ read, organization, request: { depositRequestId } }) {
    const { hash, ...shown } = await shownStatus(read, organization, depositRequestId, "DEPOSIT");
    return hash === undefined ? shown : { ...shown, depositTxHash: hash };
  },
});
