import { capability } from "../../engine/capability.ts";
import { ethSendRawTransaction } from "./eth-send-raw-transaction.ts";
import { ethSendTransaction } from "./eth-send-transaction.ts";
import { ethUndelegate7702 } from "./eth-undelegate-7702.ts";
import { followEvmSends } from "./evm/follow.ts";
import { settleEvmSend } from "./evm/settle.ts";
import { getSendTransactionStatus } from "./get-send-transaction-status.ts";
import { solSendTransaction } from "./sol-send-transaction.ts";
import { followSolanaSends } from "./solana/follow.ts";

export const sending = capability({
  title: "Sending",
  operations: [
    ethSendRawTransaction,
    ethSendTransaction,
    ethUndelegate7702,
    solSendTransaction,
    getSendTransactionStatus,
  ],
  jobs: [followSolanaSends, followEvmSends, settleEvmSend],
  events: ["SEND_TRANSACTION_STATUS_UPDATES"],
  erases: ["own_transactions"],
  large: ["own_transactions"],
  keeps: {
    send_transactions: "what was decided on is sent, and its parent is told what became of it",
    send_nonces: "they belong to what is sent",
  },
});
