import type { EvmChain } from "../../../chains/evm/networks.ts";
import { parseSignedTransaction } from "../../../chains/evm/signed-transaction.ts";
import { type Receipt, type Revert, revertOf } from "../../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import type { Reader } from "../../../storage/engine.ts";
import type { TxError } from "../model.ts";
import type { SentTransaction } from "../store.ts";
import { batchError } from "./batches.ts";
import { decidedOn } from "./sign.ts";
import { callOfPlan, revertError } from "./transaction.ts";

/** What a transaction in a block cost its payer, in wei; undefined if its receipt does not contain the fee. */
export function paidFor({ signedTransaction }: SentTransaction, { fee, isSuccess }: Receipt): bigint | undefined {
  if (fee === undefined || !isSuccess) return fee;
  return fee + parseSignedTransaction(signedTransaction, "signedTransaction").transaction.value;
}

/** Why a transaction failed in its block, as far as that can be determined. */
export async function minedFailure(
  read: Reader,
  evm: EvmNodes,
  one: SentTransaction,
  blockNumber: number,
): Promise<TxError> {
  const { plan } = await decidedOn(read, one);
  const text = "the transaction was included in a block, but failed";
  // Use the signed data: calls through the gas station get their data only when they are signed.
  const { transaction } = parseSignedTransaction(one.signedTransaction, "signedTransaction");
  const call = { ...callOfPlan(plan), data: transaction.data };
  const calls = plan.execution?.calls ?? plan.calls;
  const errorOf = (revert: Revert) =>
    calls
      ? batchError(read, one.organizationId, text, { to: plan.to, calls }, revert)
      : revertError(read, one.organizationId, text, plan.to, revert);
  // Simulate it before its block, and then in it, because earlier transactions in the block may be the reason. An authorization is effective
  // only in its block.
  for (const block of transaction.type === "TYPE_4" ? [blockNumber] : [blockNumber - 1, blockNumber]) {
    const revert = await revertOf(evm, one.caip2 as EvmChain, call, block).catch(() => undefined);
    if (revert) return errorOf(revert);
  }
  return errorOf({ message: "execution reverted", data: "0x" });
}
