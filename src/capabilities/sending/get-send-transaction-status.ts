import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TxError } from "./model.ts";
import { requireSend, toldHash } from "./store.ts";

export const getSendTransactionStatus = query({
  path: "get_send_transaction_status",
  summary:
    "Get the status of a transaction that was submitted for sending: INITIALIZED, BROADCASTING, INCLUDED in a block, or FAILED and in no block.",
  request: Type.Object({ organizationId: Id, sendTransactionStatusId: Id }),
  response: Type.Object({
    txStatus: Type.String(),
    eth: Type.Optional(Type.Object({ txHash: Type.Optional(Type.String()) })),
    solana: Type.Optional(Type.Object({ signature: Type.Optional(Type.String()) })),
    txError: Type.Optional(Type.String()),
    error: Type.Optional(TxError),
  }),
  async run({ read, organization, request: { sendTransactionStatusId } }) {
    const send = await requireSend(read, organization.id, sendTransactionStatusId);
    const { status, caip2, error } = send;
    const shown = status === "INITIALIZED" ? undefined : toldHash(send);
    return {
      txStatus: status,
      ...(caip2.startsWith("solana:")
        ? { solana: shown === undefined ? {} : { signature: shown } }
        : { eth: shown === undefined ? {} : { txHash: shown } }),
      ...(error === undefined ? {} : { txError: error.message, error }),
    };
  },
});
