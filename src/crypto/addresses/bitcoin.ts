import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { bech32, bech32m } from "@scure/base";
import { taprootOutputKey } from "../taproot.ts";
import { base58check } from "./base58check.ts";
import { hash160 } from "./hash160.ts";

/** The properties of one network's addresses; all functions here take compressed public keys. */
export interface BitcoinNetwork {
  /** Version byte of P2PKH. */
  readonly pubKeyHash: number;
  /** Version byte of P2SH. */
  readonly scriptHash: number;
  /** Human-readable part of SegWit addresses (BIP-173). */
  readonly bech32: string;
}

export const BITCOIN_MAINNET: BitcoinNetwork = { pubKeyHash: 0x00, scriptHash: 0x05, bech32: "bc" };
export const BITCOIN_TESTNET: BitcoinNetwork = { pubKeyHash: 0x6f, scriptHash: 0xc4, bech32: "tb" };
/** BIP-325 uses the addresses of testnet. */
export const BITCOIN_SIGNET: BitcoinNetwork = { ...BITCOIN_TESTNET };
export const BITCOIN_REGTEST: BitcoinNetwork = { ...BITCOIN_TESTNET, bech32: "bcrt" };

const OP_CHECKSIG = 0xac;

/** Pay to public key hash. */
export const p2pkh =
  ({ pubKeyHash }: Pick<BitcoinNetwork, "pubKeyHash">) =>
  (publicKey: Uint8Array): string =>
    base58check(pubKeyHash, hash160(publicKey));

/** P2WPKH nested in P2SH (BIP-49): the redeem script is the witness program `0 <hash160(public key)>`. */
export const p2sh =
  ({ scriptHash }: BitcoinNetwork) =>
  (publicKey: Uint8Array): string => {
    const redeemScript = concatBytes(Uint8Array.of(0, 20), hash160(publicKey));
    return base58check(scriptHash, hash160(redeemScript));
  };

/** Pay to public key hash as a witness program (BIP-141). */
export const p2wpkh =
  (network: BitcoinNetwork) =>
  (publicKey: Uint8Array): string =>
    witnessProgram(network, 0, hash160(publicKey));

/** Pay to the witness script `<public key> OP_CHECKSIG` (BIP-141). */
export const p2wsh =
  (network: BitcoinNetwork) =>
  (publicKey: Uint8Array): string => {
    const witnessScript = concatBytes(Uint8Array.of(publicKey.length), publicKey, Uint8Array.of(OP_CHECKSIG));
    return witnessProgram(network, 0, sha256(witnessScript));
  };

/** Pay to the Taproot output key, without a script path (BIP-86). */
export const p2tr =
  (network: BitcoinNetwork) =>
  (publicKey: Uint8Array): string =>
    witnessProgram(network, 1, taprootOutputKey(publicKey.subarray(1)));

/** Encoded by BIP-173 for version 0 and by BIP-350 above. */
function witnessProgram({ bech32: prefix }: BitcoinNetwork, version: 0 | 1, program: Uint8Array): string {
  const encoding = version === 0 ? bech32 : bech32m;
  return encoding.encode(prefix, [version, ...encoding.toWords(program)]);
}
