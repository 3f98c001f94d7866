import type { BitcoinTransaction } from "./psbt.ts";
import { spendsOf } from "./signing.ts";

/** The fee in satoshis, or the inputs whose amounts must be proved before the fee is known. */
export type ProvedFee = { readonly fee: bigint } | { readonly unproved: readonly number[] };

/**
 * The fee, if every signature that `publicKey` makes would be invalid with any other fee. An amount is proved by the transaction that the
 * input spends, or else by signatures that cover it. If the key signs nothing, or there is no key, signatures prove nothing.
 */
export function provedFee(transaction: BitcoinTransaction, publicKey: Uint8Array | undefined): ProvedFee {
  const { inputs, statedFee } = transaction;
  const signed = publicKey === undefined ? [] : spendsOf(transaction, publicKey).unsigned;
  // A taproot signature covers the amounts of all inputs (BIP-341), a BIP-143 signature only that of its own input. Legacy signatures cover
  // none, but their inputs always come with proof.
  const narrow = signed.filter(({ spend }) => spend.type !== "P2TR");
  const isCovered = (index: number): boolean => signed.length > 0 && narrow.every((each) => each.index === index);
  const unproved = inputs.flatMap(({ isProved }, index) => (isProved || isCovered(index) ? [] : [index]));
  return unproved.length === 0 ? { fee: statedFee } : { unproved };
}
