import { capability } from "../../engine/capability.ts";
import { ethSendRawTransaction } from "./eth-send-raw-transaction.ts";

export const sending = capability({
  title: "Sending",
  operations: [ethSendRawTransaction],
});
