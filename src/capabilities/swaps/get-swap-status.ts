import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import { TxError } from "../sending/model.ts";
import { sponsoredOutcome } from "../sponsoring/store.ts";
import { Refund, swapKinds, swapStatuses } from "./model.ts";
import { asOfOrigin } from "./origin.ts";
import { requireSwap, type Swap } from "./store.ts";

const SwapError = Type.Object(
  {
    reason: OneOf(["ORIGIN_TRANSACTION_FAILED", "PROVIDER_FILL_FAILED"]),
    message: Type.String(),
    originTxError: Type.Optional(TxError),
    providerReason: Type.Optional(Type.String()),
  },
  { $id: "SwapError" },
);

export const getSwapStatus = query({
  path: "get_swap_status",
  summary:
    "Get the status of a swap: PENDING, COMPLETED with the amount received, or FAILED with the reason and the refund. Amounts and refunds may appear some seconds later.",
  request: Type.Object({
    organizationId: Id,
    swapRequestId: Type.String({
      pattern: "^sha256:[0-9a-f]{64}$",
      description: "the `swapRequestId` from execute_swap",
    }),
  }),
  response: Type.Object({
    status: OneOf(swapStatuses),
    swapKind: OneOf(swapKinds),
    provider: Type.String(),
    inputToken: Type.String(),
    outputToken: Type.String(),
    inputAmount: Type.String(),
    originTxHash: Type.Optional(Type.String()),
    destinationTxHashes: Type.Optional(Type.Array(Type.String())),
    outputAmount: Type.Optional(Type.String()),
    refund: Type.Optional(Refund),
    updatedAt: Type.String(),
    error: Type.Optional(SwapError),
  }),
  async run({ read, organization, request: { swapRequestId } }) {
    const swap = await requireSwap(read, organization.id, swapRequestId);
    const { provider, kind: swapKind, inputToken, outputToken, inputAmount, updatedAt } = swap;
    const common = { swapKind, provider, inputToken, outputToken, inputAmount, updatedAt: String(updatedAt) };
    return { ...common, ...(await outcomeOf(read, swap)) };
  },
});

async function outcomeOf(read: Reader, stored: Swap) {
  const origin = await sponsoredOutcome(read, stored.organizationId, stored.sendId);
  const { status, outputAmount, destinationHashes, refund, error } = asOfOrigin(stored, origin);
  return {
    status,
    ...("hash" in origin ? { originTxHash: origin.hash } : {}),
    ...(destinationHashes === undefined ? {} : { destinationTxHashes: destinationHashes }),
    ...(outputAmount === undefined ? {} : { outputAmount }),
    ...(refund === undefined ? {} : { refund }),
    ...(error === undefined ? {} : { error }),
  };
}
