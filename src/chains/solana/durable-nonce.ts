import type { SolanaTransaction } from "./transaction.ts";
import { SYSTEM_PROGRAM } from "./transfers.ts";

/** Of the System program, by the number that its data begin with. */
const ADVANCE_NONCE_ACCOUNT = 4;

/** Whether the blockhash is the value of a nonce account, which the first instruction advances: it then never gets too old by itself. */
export function usesDurableNonce({ instructions: [first] }: SolanaTransaction): boolean {
  if (first?.program.key !== SYSTEM_PROGRAM || first.data.length < 4) return false;
  return first.data.readUInt32LE(0) === ADVANCE_NONCE_ACCOUNT;
}
