import type { SolanaTransaction } from "./transaction.ts";
import { SYSTEM_PROGRAM } from "./transfers.ts";

/** The instruction number of the System program, with which its data begins. */
const ADVANCE_NONCE_ACCOUNT = 4;

/** Whether the blockhash is the value of a nonce account, which the first instruction advances. It then does not expire with time. */
export function usesDurableNonce({ instructions: [first] }: SolanaTransaction): boolean {
  if (first?.program.key !== SYSTEM_PROGRAM || first.data.length < 4) return false;
  return first.data.readUInt32LE(0) === ADVANCE_NONCE_ACCOUNT;
}
