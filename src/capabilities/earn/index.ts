import { capability } from "../../engine/capability.ts";
import { claimEarnFees } from "./claim-earn-fees.ts";
import { earnDeployWrapper } from "./earn-deploy-wrapper.ts";
import { earnDeposit } from "./earn-deposit.ts";
import { earnSetWrapperState } from "./earn-set-wrapper-state.ts";
import { earnWithdraw } from "./earn-withdraw.ts";
import { followEarnRequest } from "./follow-request.ts";
import { getClaimEarnFeesStatus } from "./get-claim-earn-fees-status.ts";
import { getEarnDeployStatus } from "./get-earn-deploy-status.ts";
import { getEarnDepositStatus } from "./get-earn-deposit-status.ts";
import { getEarnWithdrawStatus } from "./get-earn-withdraw-status.ts";
import { listEarnEnabledVaults } from "./list-earn-enabled-vaults.ts";
import { listEarnPositions } from "./list-earn-positions.ts";
import { listEarnVaults } from "./list-earn-vaults.ts";
import { sampleEarnSharePrices } from "./share-prices.ts";

export { importVaults } from "./catalog.ts";

/** Earn: assets are deposited in third-party vaults, through wrappers that take a fee on the yield. */
export const earn = capability({
  title: "Earn",
  operations: [
    listEarnVaults,
    earnDeployWrapper,
    getEarnDeployStatus,
    listEarnEnabledVaults,
    earnSetWrapperState,
    earnDeposit,
    getEarnDepositStatus,
    earnWithdraw,
    getEarnWithdrawStatus,
    listEarnPositions,
    claimEarnFees,
    getClaimEarnFeesStatus,
  ],
  jobs: [followEarnRequest, sampleEarnSharePrices],
  erases: ["earn_positions", "earn_requests", "earn_wrappers"],
});
