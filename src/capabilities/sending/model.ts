import { type Static, Type } from "typebox";

/** The status and errors of sent transactions on all chains. */

const sendStatuses = ["INITIALIZED", "BROADCASTING", "INCLUDED", "FAILED"] as const;
export type SendStatus = (typeof sendStatuses)[number];
/** The statuses of transactions that have not ended. */
export const openStatuses = ["INITIALIZED", "BROADCASTING"] as const satisfies readonly SendStatus[];

/** The calls that reverted, and why. */
export const RevertChain = Type.Array(
  Type.Object(
    {
      address: Type.String(),
      errorType: Type.String(),
      displayMessage: Type.String(),
      unknown: Type.Optional(Type.Object({ selector: Type.String(), data: Type.String() })),
      native: Type.Optional(
        Type.Object({
          nativeType: Type.String(),
          message: Type.Optional(Type.String()),
          panicCode: Type.Optional(Type.String()),
        }),
      ),
      custom: Type.Optional(Type.Object({ errorName: Type.String(), paramsJson: Type.String() })),
    },
    { $id: "RevertChainEntry" },
  ),
);

/** Why a transaction was not sent, or why it failed on chain. */
export const TxError = Type.Object(
  {
    message: Type.String(),
    /** The outermost call first; `eth` has the same. */
    revertChain: Type.Optional(RevertChain),
    eth: Type.Optional(Type.Object({ revertChain: RevertChain })),
    solana: Type.Optional(
      Type.Object({
        source: Type.String(),
        rpcCode: Type.Optional(Type.Integer()),
        rpcMessage: Type.Optional(Type.String()),
        transactionErrorJson: Type.Optional(Type.String()),
        logs: Type.Optional(Type.Array(Type.String())),
        unitsConsumed: Type.Optional(Type.String()),
        innerInstructionsJson: Type.Optional(Type.String()),
      }),
    ),
  },
  { $id: "TxError" },
);
export type TxError = Static<typeof TxError>;
