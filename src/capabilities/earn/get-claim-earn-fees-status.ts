import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { statusFields } from "./model.ts";
import { shownStatus } from "./status.ts";

export const getClaimEarnFeesStatus = query({
  path: "get_claim_earn_fees_status",
  summary: "Get the status of a claim of fees: PENDING, COMPLETED, or FAILED with the reason.",
  only: "parents",
  request: Type.Object({ organizationId: Id, claimRequestId: Id }),
  response: Type.Object({ ...statusFields, claimTxHash: Type.Optional(Type.String()) }),
  async run({ read, organization, request: { claimRequestId } }) {
    const { hash, ...shown } = await shownStatus(read, organization, claimRequestId, "CLAIM");
    return hash === undefined ? shown : { ...shown, claimTxHash: hash };
  },
});
