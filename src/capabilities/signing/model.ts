import { type EvmTransaction, ethereumFacts } from "../../chains/evm/transaction.ts";
import { solanaFacts } from "../../chains/solana/facts.ts";
import type { SolanaTransaction } from "../../chains/solana/transaction.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import type { Reader } from "../../storage/engine.ts";
import { callOf, programInterfaces } from "./interfaces.ts";

export { interfaceOfContract } from "./interfaces.ts";
/** How other capabilities name the keys that they sign with, and have them sign. */
export { SignWith } from "./payloads.ts";
export { askSigner } from "./sign.ts";

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

/** The same of a Solana transaction, by the interfaces that the organization stored for its programs. */
export async function solanaTransactionFacts(
  read: Reader,
  organizationId: string,
  transaction: SolanaTransaction,
): Promise<PolicyFacts> {
  return { solana: { tx: solanaFacts(transaction, await programInterfaces(read, organizationId, transaction)) } };
}
