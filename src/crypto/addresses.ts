import { keccak_256 } from "@noble/hashes/sha3.js";
import { base58 } from "@scure/base";
import { toHex } from "../kernel/bytes.ts";
import { type Curve, decompressPublicKey, type WeierstrassCurve } from "./curves.ts";

/** How a format makes an address of a public key: 33 bytes compressed, or the 32 bytes of Ed25519. */
type Supported = {
  readonly [C in Curve]?: (publicKey: Uint8Array) => string;
};

const NOT_YET: Supported = {};

/** Every format in the order of the public API, with the curves it takes. */
const formats = {
  ADDRESS_FORMAT_UNCOMPRESSED: {
    CURVE_SECP256K1: (publicKey) => uncompressedHex("CURVE_SECP256K1", publicKey),
    CURVE_P256: (publicKey) => uncompressedHex("CURVE_P256", publicKey),
  },
  ADDRESS_FORMAT_COMPRESSED: { CURVE_SECP256K1: toHex, CURVE_ED25519: toHex, CURVE_P256: toHex },
  ADDRESS_FORMAT_ETHEREUM: { CURVE_SECP256K1: ethereumAddress },
  ADDRESS_FORMAT_SOLANA: { CURVE_ED25519: solanaAddress },
  ADDRESS_FORMAT_COSMOS: NOT_YET,
  ADDRESS_FORMAT_TRON: NOT_YET,
  ADDRESS_FORMAT_SUI: NOT_YET,
  ADDRESS_FORMAT_APTOS: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2PKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2SH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WSH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2PKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2SH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WSH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2TR: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2PKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2SH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WPKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2WSH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_SIGNET_P2TR: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2PKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2SH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WPKH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2WSH: NOT_YET,
  ADDRESS_FORMAT_BITCOIN_REGTEST_P2TR: NOT_YET,
  ADDRESS_FORMAT_SEI: NOT_YET,
  ADDRESS_FORMAT_XLM: NOT_YET,
  ADDRESS_FORMAT_DOGE_MAINNET: NOT_YET,
  ADDRESS_FORMAT_DOGE_TESTNET: NOT_YET,
  ADDRESS_FORMAT_TON_V3R2: NOT_YET,
  ADDRESS_FORMAT_TON_V4R2: NOT_YET,
  ADDRESS_FORMAT_TON_V5R1: NOT_YET,
  ADDRESS_FORMAT_XRP: NOT_YET,
  ADDRESS_FORMAT_SPARK_MAINNET: NOT_YET,
  ADDRESS_FORMAT_SPARK_REGTEST: NOT_YET,
} as const satisfies Record<string, Supported>;

export type AddressFormat = keyof typeof formats;

/** Every address format of the public API, in its order; some are not supported yet. */
export const ADDRESS_FORMATS = Object.keys(formats) as readonly AddressFormat[];

const supportedBy = (format: AddressFormat): Supported => formats[format];
const curvesOf = (format: AddressFormat): string[] => Object.keys(supportedBy(format));

/** Why keys of `curve` have no address in `format`, to follow the name of a field; undefined where they have one. */
export function addressFormatProblem(format: AddressFormat, curve: Curve): string | undefined {
  if (supportedBy(format)[curve] !== undefined) return undefined;
  const curves = curvesOf(format);
  if (curves.length > 0) return `takes ${curves.join(" or ")} keys`;
  const supported = ADDRESS_FORMATS.filter((each) => curvesOf(each).length > 0);
  return `is not supported yet; supported are ${supported.join(", ")}`;
}

/**
 * The address of a public key: 33 bytes compressed on secp256k1 and P-256, 32 bytes on Ed25519.
 *
 * @throws Error where `addressFormatProblem` names a problem, for bytes of another length, and for a
 * point off the curve in the formats that need both of its coordinates
 */
export function deriveAddress(format: AddressFormat, curve: Curve, publicKey: Uint8Array): string {
  const derive = supportedBy(format)[curve];
  if (derive === undefined) throw new TypeError(`${format} ${addressFormatProblem(format, curve)}`);
  const length = curve === "CURVE_ED25519" ? 32 : 33;
  if (publicKey.length !== length) throw new RangeError(`a ${curve} public key has ${length} bytes`);
  return derive(publicKey);
}

/** The spelling under which an address is looked up: Ethereum addresses match in any case, all others exactly. */
export function normalizeAddress(text: string): string {
  return /^0x[0-9a-fA-F]{40}$/.test(text) ? text.toLowerCase() : text;
}

function uncompressedHex(curve: WeierstrassCurve, publicKey: Uint8Array): string {
  return toHex(decompressPublicKey(curve, publicKey));
}

/** The last 20 bytes of `keccak256(X ‖ Y)`, in the mixed case that carries a checksum (EIP-55). */
function ethereumAddress(publicKey: Uint8Array): string {
  const point = decompressPublicKey("CURVE_SECP256K1", publicKey).subarray(1);
  const digits = toHex(keccak_256(point).subarray(12));
  const checksum = toHex(keccak_256(Buffer.from(digits)));
  return `0x${digits.replace(/[a-f]/g, (digit, at: number) => (checksum.charAt(at) >= "8" ? digit.toUpperCase() : digit))}`;
}

/** The public key itself in base58. */
function solanaAddress(publicKey: Uint8Array): string {
  return base58.encode(publicKey);
}
