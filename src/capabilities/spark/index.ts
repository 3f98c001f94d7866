import { capability } from "../../engine/capability.ts";
import { sparkClaimTransfer } from "./spark-claim-transfer.ts";
import { sparkPrepareLightningReceive } from "./spark-prepare-lightning-receive.ts";
import { sparkPrepareTransfer } from "./spark-prepare-transfer.ts";
import { sparkSignFrost } from "./spark-sign-frost.ts";

export const spark = capability({
  title: "Spark",
  operations: [sparkSignFrost, sparkPrepareTransfer, sparkClaimTransfer, sparkPrepareLightningReceive],
});
