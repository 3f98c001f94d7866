import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { bytesFromHex } from "../../kernel/bytes.ts";
import { crc16 } from "./crc16.ts";

/**
 * A TON account is identified by the hash of the StateInit that would deploy its wallet contract. That is a cell of flags which references
 * the code, the same for all wallets of a version, and the data, which contains the public key. The hash depends only on the hash and the
 * depth of the code (TON Blockchain, sections 3.1 and 4.1.6).
 */
interface WalletVersion {
  /** Representation hash of the contract's code cell. */
  readonly codeHash: Uint8Array;
  /** The number of levels of cells below the code cell. */
  readonly codeDepth: number;
  /** The contract's data before its first message, as binary digits. */
  readonly data: (publicKey: string) => string;
}

/** The subwallet id of wallets of versions 3 and 4, in workchain 0. */
const SUBWALLET = 698_983_191;
/** The wallet id of version 5: the global id of the main network, -239, xor the context of workchain 0 and subwallet 0. */
const V5R1_WALLET_ID = 2_147_483_409;
const SEQUENCE_NUMBER = "0".repeat(32);
const EMPTY_DICTIONARY = "0";
const SIGNATURE_ALLOWED = "1";

const TON_V3R2: WalletVersion = {
  codeHash: hash("84dafa449f98a6987789ba232358072bc0f76dc4524002a5d0918b9a75d2d599"),
  codeDepth: 0,
  data: (publicKey) => SEQUENCE_NUMBER + uint32(SUBWALLET) + publicKey,
};
const TON_V4R2: WalletVersion = {
  codeHash: hash("feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0"),
  codeDepth: 7,
  data: (publicKey) => SEQUENCE_NUMBER + uint32(SUBWALLET) + publicKey + EMPTY_DICTIONARY,
};
const TON_V5R1: WalletVersion = {
  codeHash: hash("20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f"),
  codeDepth: 6,
  data: (publicKey) => SIGNATURE_ALLOWED + SEQUENCE_NUMBER + uint32(V5R1_WALLET_ID) + publicKey + EMPTY_DICTIONARY,
};

export const tonV3R2Address = (publicKey: Uint8Array): string => walletAddress(TON_V3R2, publicKey);
export const tonV4R2Address = (publicKey: Uint8Array): string => walletAddress(TON_V4R2, publicKey);
export const tonV5R1Address = (publicKey: Uint8Array): string => walletAddress(TON_V5R1, publicKey);

const NON_BOUNCEABLE = 0x51;
const BOUNCEABLE = 0x11;
const TEST_ONLY = 0x80;
const TAGS = [NON_BOUNCEABLE, BOUNCEABLE, NON_BOUNCEABLE | TEST_ONLY, BOUNCEABLE | TEST_ONLY];
/** A tag, the workchain, the account and the checksum: 36 bytes in base64 of either alphabet. */
const USER_FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;
const RAW = /^0:[0-9a-fA-F]{64}$/;

/**
 * The form in which addresses are derived, for any other correct spelling of an account in workchain 0: user-friendly with any flags in
 * either alphabet (TEP-2), or raw. Undefined for everything else.
 */
export function tonSpelling(text: string): string | undefined {
  if (RAW.test(text)) return userFriendly(Buffer.from(text.slice(2), "hex"));
  if (!USER_FRIENDLY.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  const correct = TAGS.includes(bytes.readUInt8(0)) && bytes.readUInt8(1) === 0;
  if (!correct || crc16(bytes.subarray(0, 34)) !== bytes.readUInt16BE(34)) return undefined;
  return userFriendly(bytes.subarray(2, 34));
}

function walletAddress({ codeHash, codeDepth, data }: WalletVersion, publicKey: Uint8Array): string {
  const dataHash = cellHash(data([...publicKey].map((byte) => digits(byte, 8)).join("")), []);
  // No split depth, not special, code and data present, no libraries.
  const account = cellHash("00110", [
    { hash: codeHash, depth: codeDepth },
    { hash: dataHash, depth: 0 },
  ]);
  return userFriendly(account);
}

/** For an account in workchain 0 that may not exist yet, with the URL-safe alphabet. */
function userFriendly(account: Uint8Array): string {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt8(NON_BOUNCEABLE, 0);
  bytes.set(account, 2);
  bytes.writeUInt16BE(crc16(bytes.subarray(0, 34)), 34);
  return bytes.toString("base64url");
}

/** The representation hash of an ordinary cell of level 0 (TON Blockchain, section 3.1.5). */
function cellHash(bits: string, references: readonly { hash: Uint8Array; depth: number }[]): Uint8Array {
  const whole = Math.floor(bits.length / 8);
  const padded = bits.length % 8 === 0 ? bits : `${bits}1`.padEnd((whole + 1) * 8, "0");
  const content = Uint8Array.from(padded.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
  return sha256(
    concatBytes(
      Uint8Array.of(references.length, whole + content.length),
      content,
      ...references.map(({ depth }) => Uint8Array.of(depth >> 8, depth & 0xff)),
      ...references.map((reference) => reference.hash),
    ),
  );
}

function digits(value: number, length: number): string {
  return value.toString(2).padStart(length, "0");
}

function uint32(value: number): string {
  return digits(value, 32);
}

function hash(hex: string): Uint8Array {
  return bytesFromHex(hex) as Uint8Array;
}
