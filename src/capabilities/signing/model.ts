import { type EvmTransaction, ethereumFacts } from "../../chains/evm/transaction.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import type { Reader } from "../../storage/engine.ts";
import { callOf } from "./interfaces.ts";

/** What policies see of a transaction that `from` signs, by the interface that the organization stored for the contract. */
export async function ethereumTransactionFacts(
  read: Reader,
  organizationId: string,
  transaction: EvmTransaction,
  from: string,
): Promise<PolicyFacts> {
  const call = await callOf(read, organizationId, transaction);
  return { eth: { tx: ethereumFacts(transaction, from, call) } };
}
