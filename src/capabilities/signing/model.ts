import { type EvmTransaction, ethereumFacts } from "../../chains/evm/transaction.ts";
import { solanaFacts } from "../../chains/solana/facts.ts";
import type { SolanaTransaction } from "../../chains/solana/transaction.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import type { Reader } from "../../storage/engine.ts";
import { callOf, programInterfaces } from "./interfaces.ts";

export { interfaceOfContract } from "./interfaces.ts";
/** The interface for other capabilities: how to name a signing key and sign with it. */
export { SignWith } from "./payloads.ts";
export { askSigner } from "./sign.ts";

/** The facts that policies see about a transaction that `from` signs; calls are decoded by the contract's stored interface. */
export async function ethereumTransactionFacts(
  read: Reader,
  organizationId: string,
  transaction: EvmTransaction,
  from: string,
): Promise<PolicyFacts> {
  const call = await callOf(read, organizationId, transaction);
  return { eth: { tx: ethereumFacts(transaction, from, call) } };
}

/** The same for a Solana transaction; instructions are decoded by the programs' stored interfaces. */
export async function solanaTransactionFacts(
  read: Reader,
  organizationId: string,
  transaction: SolanaTransaction,
): Promise<PolicyFacts> {
  return { solana: { tx: solanaFacts(transaction, await programInterfaces(read, organizationId, transaction)) } };
}
