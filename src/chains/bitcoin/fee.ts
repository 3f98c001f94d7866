import type { BitcoinTransaction } from "./psbt.ts";
import { spendsOf } from "./signing.ts";

/** The fee in satoshis, or the inputs whose amounts have to be proved before it is known. */
export type ProvedFee = { readonly fee: bigint } | { readonly unproved: readonly number[] };

/**
 * The fee, where every signature that `publicKey` makes would be worthless if it were another. An amount is proved by the
 * transaction that the input spends, and otherwise only by signatures that cover it. Where the key signs nothing, or there is
 * none, signatures prove nothing.
 */
export function provedFee(transaction: BitcoinTransaction, publicKey: Uint8Array | undefined): ProvedFee {
  const { inputs, statedFee } = transaction;
  const signed = publicKey === undefined ? [] : spendsOf(transaction, publicKey).unsigned;
  // A taproot signature covers the amounts of all inputs (BIP-341), one of BIP-143 its own input's alone. Those before cover
  // none, and their inputs are always proved.
  const narrow = signed.filter(({ spend }) => spend.type !== "P2TR");
  const isCovered = (index: number): boolean => signed.length > 0 && narrow.every((each) => each.index === index);
  const unproved = inputs.flatMap(({ isProved }, index) => (isProved || isCovered(index) ? [] : [index]));
  return unproved.length === 0 ? { fee: statedFee } : { unproved };
}
