import { createHash } from "node:crypto";
import { bech32, bech32m, createBase58check } from "@scure/base";
import { sha256 } from "./raw-transaction.ts";

/** The networks of the address formats. */
export type BitcoinNetwork = "MAINNET" | "TESTNET" | "SIGNET" | "REGTEST";

/** The kinds of output scripts that have an address here. */
export type AddressType = "P2PKH" | "P2SH" | "P2WPKH" | "P2WSH" | "P2TR";

/** The destination of an output script: a hash of 20 or 32 bytes, or a taproot output key of 32. */
export interface Destination {
  readonly type: AddressType;
  readonly program: Buffer;
}

const OP_PUSHDATA1 = 0x4c;
const OP_PUSHDATA2 = 0x4d;
const OP_PUSHDATA4 = 0x4e;
const OP_1 = 0x51;
const OP_CODESEPARATOR = 0xab;
const COMPRESSED_KEY_BYTES = 33;

/** The bytes before and after the program of each kind (BIP-16, BIP-141, BIP-341). */
const templates: readonly { type: AddressType; head: Buffer; length: number; tail: Buffer }[] = [
  { type: "P2PKH", head: Buffer.from("76a914", "hex"), length: 20, tail: Buffer.from("88ac", "hex") },
  { type: "P2SH", head: Buffer.from("a914", "hex"), length: 20, tail: Buffer.from("87", "hex") },
  { type: "P2WPKH", head: Buffer.from("0014", "hex"), length: 20, tail: Buffer.alloc(0) },
  { type: "P2WSH", head: Buffer.from("0020", "hex"), length: 32, tail: Buffer.alloc(0) },
  { type: "P2TR", head: Buffer.from("5120", "hex"), length: 32, tail: Buffer.alloc(0) },
];

/** The destination of an output script, or undefined for a kind without an address here. */
export function destinationOf(script: Buffer): Destination | undefined {
  for (const { type, head, length, tail } of templates) {
    const end = head.length + length;
    if (script.length !== end + tail.length) continue;
    if (!script.subarray(0, head.length).equals(head) || !script.subarray(end).equals(tail)) continue;
    return { type, program: script.subarray(head.length, end) };
  }
  return undefined;
}

/** `HASH160`: RIPEMD-160 of SHA-256. */
export const hash160 = (bytes: Uint8Array): Buffer => createHash("ripemd160").update(sha256(bytes)).digest();

/** The output script that pays to a public key's hash; it is also the script code of a P2WPKH input (BIP-143). */
export function payToPublicKeyHash(hash: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from("76a914", "hex"), hash, Buffer.from("88ac", "hex")]);
}

/** A script of the form `<version> <2 to 40 bytes>` (BIP-141). */
export function isWitnessProgram(script: Buffer): boolean {
  const [version = -1, length = 0] = script;
  const isVersion = version === 0 || (version >= OP_1 && version <= OP_1 + 15);
  return isVersion && length >= 2 && length <= 40 && script.length === 2 + length;
}

/**
 * The elements with the length of a compressed public key that a script pushes, and whether it contains OP_CODESEPARATOR; undefined if the
 * script ends within a push.
 */
export function readScript(script: Buffer): { pushes: Buffer[]; hasCodeSeparator: boolean } | undefined {
  const pushes: Buffer[] = [];
  let hasCodeSeparator = false;
  for (let at = 0; at < script.length; ) {
    const opcode = script[at] as number;
    if (opcode === OP_CODESEPARATOR) hasCodeSeparator = true;
    const start = at + 1 + widthOfLength(opcode);
    const end = start + lengthOfPush(script, at, opcode);
    if (start > script.length || end > script.length) return undefined;
    if (end - start === COMPRESSED_KEY_BYTES) pushes.push(script.subarray(start, end));
    at = end;
  }
  return { pushes, hasCodeSeparator };
}

/** The width of the number after the opcode that says how many bytes are pushed. */
function widthOfLength(opcode: number): number {
  if (opcode < OP_PUSHDATA1 || opcode > OP_PUSHDATA4) return 0;
  return opcode === OP_PUSHDATA1 ? 1 : opcode === OP_PUSHDATA2 ? 2 : 4;
}

function lengthOfPush(script: Buffer, at: number, opcode: number): number {
  if (opcode > OP_PUSHDATA4) return 0;
  if (opcode < OP_PUSHDATA1) return opcode;
  const width = widthOfLength(opcode);
  return at + 1 + width > script.length ? 0 : script.readUIntLE(at + 1, width);
}

const base58check = createBase58check(sha256);
const TEST_VERSIONS = { P2PKH: 0x6f, P2SH: 0xc4 };

const networks: Record<BitcoinNetwork, { versions: typeof TEST_VERSIONS; prefix: string }> = {
  MAINNET: { versions: { P2PKH: 0x00, P2SH: 0x05 }, prefix: "bc" },
  TESTNET: { versions: TEST_VERSIONS, prefix: "tb" },
  SIGNET: { versions: TEST_VERSIONS, prefix: "tb" },
  REGTEST: { versions: TEST_VERSIONS, prefix: "bcrt" },
};

/** The address of a destination (BIP-13, BIP-173, BIP-350). */
export function addressOf({ type, program }: Destination, network: BitcoinNetwork): string {
  const { versions, prefix } = networks[network];
  if (type === "P2PKH" || type === "P2SH")
    return base58check.encode(Buffer.concat([Buffer.of(versions[type]), program]));
  if (type === "P2TR") return bech32m.encode(prefix, [1, ...bech32m.toWords(program)]);
  return bech32.encode(prefix, [0, ...bech32.toWords(program)]);
}
