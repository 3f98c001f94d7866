import { feePayerOf } from "../../chains/solana/transaction.ts";
import { hasAddress, type OpenKey } from "./keys.ts";
import { SigningRefused } from "./refused.ts";
import { type Signature, signPayload } from "./sign.ts";

/** EIP-1559 and EIP-7702: both contain their chain and a maximum cost. */
const ETHEREUM_TYPES: readonly (number | undefined)[] = [2, 4];

/**
 * Signs a transaction that the installation pays for: on Ethereum its hash, on Solana the message itself, whose fee it pays. That an
 * activity asks for this transaction was checked before (`sponsored-message.ts`).
 *
 * @throws SigningRefused if the bytes are not such a transaction
 */
export function signSponsorTransaction(key: OpenKey, transaction: Uint8Array): Signature {
  if (key.curve === "CURVE_SECP256K1") {
    if (!ETHEREUM_TYPES.includes(transaction[0]))
      throw new SigningRefused("the sponsor signs only transactions of types 2 and 4");
    return signPayload(key, "keccak256", transaction);
  }
  const address = feePayerOf(transaction);
  if (!hasAddress(key, { format: "ADDRESS_FORMAT_SOLANA", address }))
    throw new SigningRefused("the sponsor is not the fee payer of the message that it was asked to sign");
  return signPayload(key, "none", transaction);
}
