import { capability } from "../../engine/capability.ts";
import { getNonces } from "./get-nonces.ts";
import { getWalletAddressBalances } from "./get-wallet-address-balances.ts";
import { listEthTransactionHistory } from "./list-eth-transaction-history.ts";
import { listSolTransactionHistory } from "./list-sol-transaction-history.ts";
import { listSupportedAssets } from "./list-supported-assets.ts";

export { backfill } from "./backfill.ts";
export { Tracing } from "./follow.ts";
export { findFollowed } from "./following.ts";
export { chainWatchers } from "./watcher.ts";

export const history = capability({
  title: "History and balances",
  operations: [
    listEthTransactionHistory,
    listSolTransactionHistory,
    getWalletAddressBalances,
    listSupportedAssets,
    getNonces,
  ],
  events: ["BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"],
  erases: ["eth_history"],
  large: ["eth_history"],
});
