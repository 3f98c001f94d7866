import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { statusFields } from "./model.ts";
import { shownStatus } from "./status.ts";

export const getEarnWithdrawStatus = query({
  path: "get_earn_withdraw_status",
  summary: "Get the status of a withdrawal from a wrapper: PENDING, COMPLETED, or FAILED with the reason.",
  request: Type.Object({ organizationId: Id, withdrawRequestId: Id }),
  response: Type.Object({ ...statusFields, withdrawTxHash: Type.Optional(Type.String()) }),
  async run({ read, organization, request: { withdrawRequestId } }) {
    const { hash, ...shown } = await shownStatus(read, organization, withdrawRequestId, "WITHDRAW");
    return hash === undefined ? shown : { ...shown, withdrawTxHash: hash };
  },
});
