import { type Static, Type } from "typebox";

/** Signed transactions on their way: what there is to know of one, whichever chain it is for. */

const sendStatuses = ["INITIALIZED", "BROADCASTING", "INCLUDED", "FAILED"] as const;
export type SendStatus = (typeof sendStatuses)[number];
/** Those in which it is still to be followed. */
export const openStatuses = ["INITIALIZED", "BROADCASTING"] as const satisfies readonly SendStatus[];

/** A call that reverted, and why. */
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

/** Why a transaction was not sent, or what became of one that was. */
export const TxError = Type.Object(
  {
    message: Type.String(),
    /** The outermost call first; the same in `eth`. */
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
