import { ed25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { base32nopad, base58, base58xrp, bech32, bech32m } from "@scure/base";
import { toHex } from "../kernel/bytes.ts";
import { inWords } from "../kernel/in-words.ts";
import { base58check } from "./addresses/base58check.ts";
import {
  BITCOIN_MAINNET,
  BITCOIN_REGTEST,
  BITCOIN_SIGNET,
  BITCOIN_TESTNET,
  p2pkh,
  p2sh,
  p2tr,
  p2wpkh,
  p2wsh,
} from "./addresses/bitcoin.ts";
import { crc16 } from "./addresses/crc16.ts";
import { ethereumAddress, tronAddress } from "./addresses/ethereum.ts";
import { hash160 } from "./addresses/hash160.ts";
import { tonSpelling, tonV3R2Address, tonV4R2Address, tonV5R1Address } from "./addresses/ton.ts";
import { type Curve, decompressPublicKey } from "./curves.ts";

/** Derives an address from a public key: 33 bytes compressed, or the 32 bytes of Ed25519. */
type Derive = (publicKey: Uint8Array) => string;
type ByCurve = { readonly [C in Curve]?: Derive };

const secp256k1 = (derive: Derive) => ({ CURVE_SECP256K1: derive });
const edwards = (derive: Derive) => ({ CURVE_ED25519: derive });

/** Every format in the order of the public API, with the curves it supports. */
const formats = {
  ADDRESS_FORMAT_UNCOMPRESSED: {
    CURVE_SECP256K1: (publicKey) => toHex(decompressPublicKey("CURVE_SECP256K1", publicKey)),
    CURVE_P256: (publicKey) => toHex(decompressPublicKey("CURVE_P256", publicKey)),
  },
  ADDRESS_FORMAT_COMPRESSED: { CURVE_SECP256K1: toHex, CURVE_ED25519: toHex, CURVE_P256: toHex },
  ADDRESS_FORMAT_ETHEREUM: secp256k1(ethereumAddress),
  ADDRESS_FORMAT_SOLANA: edwards(base58.encode),
  ADDRESS_FORMAT_COSMOS: secp256k1(cosmosAddress("cosmos")),
  ADDRESS_FORMAT_TRON: secp256k1(tronAddress),
  ADDRESS_FORMAT_SUI: edwards(suiAddress),
  ADDRESS_FORMAT_APTOS: edwards(aptosAddress),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2PKH: secp256k1(p2pkh(BITCOIN_MAINNET)),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2SH: secp256k1(p2sh(BITCOIN_MAINNET)),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH: secp256k1(p2wpkh(BITCOIN_MAINNET)),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WSH: secp256k1(p2wsh(BITCOIN_MAINNET)),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR: secp256k1(p2tr(BITCOIN_MAINNET)),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2PKH: secp256k1(p2pkh(BITCOIN_TESTNET)),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2SH: secp256k1(p2sh(BITCOIN_TESTNET)),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH: secp256k1(p2wpkh(BITCOIN_TESTNET)),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WSH: secp256k1(p2wsh(BITCOIN_TESTNET)),
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2TR: secp256k1(p2tr(BITCOIN_TESTNET)),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2PKH: secp256k1(p2pkh(BITCOIN_SIGNET)),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2SH: secp256k1(p2sh(BITCOIN_SIGNET)),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WPKH: secp256k1(p2wpkh(BITCOIN_SIGNET)),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WSH: secp256k1(p2wsh(BITCOIN_SIGNET)),
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2TR: secp256k1(p2tr(BITCOIN_SIGNET)),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2PKH: secp256k1(p2pkh(BITCOIN_REGTEST)),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2SH: secp256k1(p2sh(BITCOIN_REGTEST)),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WPKH: secp256k1(p2wpkh(BITCOIN_REGTEST)),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WSH: secp256k1(p2wsh(BITCOIN_REGTEST)),
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2TR: secp256k1(p2tr(BITCOIN_REGTEST)),
  ADDRESS_FORMAT_SEI: secp256k1(cosmosAddress("sei")),
  ADDRESS_FORMAT_XLM: edwards(stellarAddress),
  ADDRESS_FORMAT_DOGE_MAINNET: secp256k1(p2pkh({ pubKeyHash: 0x1e })),
  ADDRESS_FORMAT_DOGE_TESTNET: secp256k1(p2pkh({ pubKeyHash: 0x71 })),
  ADDRESS_FORMAT_TON_V3R2: edwards(tonV3R2Address),
  ADDRESS_FORMAT_TON_V4R2: edwards(tonV4R2Address),
  ADDRESS_FORMAT_TON_V5R1: edwards(tonV5R1Address),
  ADDRESS_FORMAT_XRP: secp256k1(xrpAddress),
  ADDRESS_FORMAT_SPARK_MAINNET: secp256k1(sparkAddress("spark")),
  ADDRESS_FORMAT_SPARK_REGTEST: secp256k1(sparkAddress("sparkrt")),
} as const satisfies Record<string, ByCurve>;

export type AddressFormat = keyof typeof formats;

/** Every address format of the public API, in its order. */
export const ADDRESS_FORMATS = Object.keys(formats) as readonly AddressFormat[];

const byCurve = (format: AddressFormat): ByCurve => formats[format];

/** Why keys of `curve` have no address in `format`, to follow the name of a field; undefined if they have one. */
export function addressFormatProblem(format: AddressFormat, curve: Curve): string | undefined {
  if (byCurve(format)[curve] !== undefined) return undefined;
  return `takes ${inWords(Object.keys(byCurve(format)), "or")} keys`;
}

/**
 * The address of a public key: 33 bytes compressed on secp256k1 and P-256, 32 bytes on Ed25519.
 *
 * @throws Error if `addressFormatProblem` names a problem, or if the bytes are not a point of the curve, because nobody could ever sign for
 *   that address
 */
export function deriveAddress(format: AddressFormat, curve: Curve, publicKey: Uint8Array): string {
  const derive = byCurve(format)[curve];
  if (derive === undefined) throw new TypeError(`${format} ${addressFormatProblem(format, curve)}`);
  requirePoint(curve, publicKey);
  return derive(publicKey);
}

function requirePoint(curve: Curve, publicKey: Uint8Array): void {
  if (curve === "CURVE_ED25519") ed25519.Point.fromBytes(publicKey);
  else decompressPublicKey(curve, publicKey);
}

const HEX_ACCOUNT = /^0x(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/;
/** The data part of bech32 does not use 1, B, I and O (BIP-173). */
const UPPER_CASE_BECH32 = /^[A-Z]+1[02-9AC-HJ-NP-Z]+$/;
const HEX_PUBLIC_KEY = /^(?:[0-9a-fA-F]{64}|0[23][0-9a-fA-F]{64}|04[0-9a-fA-F]{128})$/;

/**
 * The spelling under which an address is looked up. On some chains an address has several spellings: hex in any case (Ethereum, Sui, Aptos,
 * public keys), bech32 in upper case (BIP-173), and the forms of TON. All others must match exactly. Never throws; text that is not an
 * address is returned unchanged.
 */
export function normalizeAddress(text: string): string {
  if (HEX_ACCOUNT.test(text) || HEX_PUBLIC_KEY.test(text)) return text.toLowerCase();
  if (UPPER_CASE_BECH32.test(text)) return isBech32(text) ? text.toLowerCase() : text;
  return tonSpelling(text) ?? text;
}

const HEX = /^(?:0x)?[0-9a-fA-F]+$/;

/**
 * The possible beginnings of look-up spellings for addresses that begin with this text: unchanged, and in lowercase if that may be the same
 * address.
 */
export function normalizedBeginnings(text: string): string[] {
  const isCaseless = HEX.test(text) || UPPER_CASE_BECH32.test(text);
  return [...new Set([normalizeAddress(text), text, ...(isCaseless ? [text.toLowerCase()] : [])])];
}

function isBech32(text: string): boolean {
  return (bech32.decodeUnsafe(text) ?? bech32m.decodeUnsafe(text)) !== undefined;
}

/** Bech32 of the hash of the public key (Cosmos SDK, ADR 28). */
function cosmosAddress(prefix: string): Derive {
  return (publicKey) => bech32.encode(prefix, bech32.toWords(hash160(publicKey)));
}

/** BLAKE2b-256 of the flag of the signature scheme, 0 for Ed25519, followed by the public key. */
function suiAddress(publicKey: Uint8Array): string {
  return `0x${toHex(blake2b(concatBytes(Uint8Array.of(0), publicKey), { dkLen: 32 }))}`;
}

/** SHA3-256 of the public key followed by the authentication scheme, 0 for a single Ed25519 key. */
function aptosAddress(publicKey: Uint8Array): string {
  return `0x${toHex(sha3_256(concatBytes(publicKey, Uint8Array.of(0))))}`;
}

/** StrKey of an account (SEP-23): version byte, public key, checksum in little-endian order. */
function stellarAddress(publicKey: Uint8Array): string {
  const versioned = concatBytes(Uint8Array.of(6 << 3), publicKey);
  const checksum = crc16(versioned);
  return base32nopad.encode(concatBytes(versioned, Uint8Array.of(checksum & 0xff, checksum >> 8)));
}

/** The classic address: account type 0 and the hash of the public key, in XRP's own alphabet. */
function xrpAddress(publicKey: Uint8Array): string {
  return base58check(0, hash160(publicKey), base58xrp);
}

/** Bech32m of a protobuf message whose field 1 is the identity public key. */
function sparkAddress(prefix: string): Derive {
  return (publicKey) => bech32m.encode(prefix, bech32m.toWords(concatBytes(Uint8Array.of(0x0a, 33), publicKey)));
}
