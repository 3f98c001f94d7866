import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { compactSize, sized } from "../../src/chains/bitcoin/byte-reader.ts";
import { type PsbtMap, psbtRecord, serializePsbt } from "../../src/chains/bitcoin/psbt-maps.ts";
import { parseUnsignedTransaction } from "../../src/chains/bitcoin/raw-transaction.ts";
import { hash160, payToPublicKeyHash } from "../../src/chains/bitcoin/scripts.ts";
import { taprootOutputKey } from "../../src/crypto/taproot.ts";

/** PSBTs as large as the limits allow, made without any library, which would take seconds. */

export type SpendKind = "P2PKH" | "P2SH" | "P2WPKH" | "P2WSH" | "P2TR";

const NONE = Buffer.alloc(0);
/** An output to a key's hash. */
const OUTPUT = Buffer.concat([uint64(1), sized(Buffer.concat([Buffer.from("0014", "hex"), Buffer.alloc(20, 9)]))]);

/** A PSBT of so many inputs, each to be signed by the key, and as many bytes of outputs as are asked for. */
export function largePsbt(
  publicKey: Uint8Array,
  {
    kind,
    inputs,
    outputBytes = OUTPUT.length,
    seed = 0,
  }: {
    kind: SpendKind;
    inputs: number;
    outputBytes?: number;
    /** Another transaction for each. */
    seed?: number;
  },
): Buffer {
  const { script, records } = spendOf(publicKey, kind);
  const spent = Buffer.concat([uint64(10_000), sized(script)]);
  const isLegacy = kind === "P2PKH" || kind === "P2SH";
  const unsignedInputs: Buffer[] = [];
  const maps: PsbtMap[] = [];
  for (let i = 0; i < inputs; i++) {
    const previous = Buffer.concat([previousStart(seed, i), Buffer.of(1), spent, uint32(0)]);
    unsignedInputs.push(Buffer.concat([doubleSha256(previous), uint32(0), Buffer.of(0), uint32(0xfffffffd)]));
    maps.push([isLegacy ? psbtRecord(0, NONE, previous) : psbtRecord(1, NONE, spent), ...records]);
  }
  const outputs: Buffer[] = new Array(Math.max(1, Math.floor(outputBytes / OUTPUT.length))).fill(OUTPUT);
  const counted = [compactSize(inputs), ...unsignedInputs, compactSize(outputs.length), ...outputs];
  const unsigned = Buffer.concat([uint32(2), ...counted, uint32(0)]);
  return serializePsbt({
    unsigned: parseUnsignedTransaction(unsigned, assert.fail),
    global: [psbtRecord(0, NONE, unsigned)],
    inputs: maps,
    outputs: outputs.map(() => []),
  });
}

function spendOf(publicKey: Uint8Array, kind: SpendKind): { script: Buffer; records: PsbtMap } {
  const witness = (version: number, program: Uint8Array) =>
    Buffer.concat([Buffer.of(version, program.length), program]);
  const ofKeys = (count: number) =>
    Buffer.concat([...new Array(count).fill(Buffer.concat([Buffer.of(33), publicKey])), Buffer.of(0xac)]);
  switch (kind) {
    case "P2PKH":
      return { script: payToPublicKeyHash(hash160(publicKey)), records: [] };
    case "P2WPKH":
      return { script: witness(0, hash160(publicKey)), records: [] };
    case "P2TR":
      return { script: witness(0x51, taprootOutputKey(publicKey.subarray(1))), records: [] };
    case "P2SH": {
      const redeem = ofKeys(15);
      const script = Buffer.concat([Buffer.from("a914", "hex"), hash160(redeem), Buffer.of(0x87)]);
      return { script, records: [psbtRecord(4, NONE, redeem)] };
    }
    case "P2WSH": {
      const script = ofKeys(20);
      return { script: witness(0, sha256(script)), records: [psbtRecord(5, NONE, script)] };
    }
  }
}

/** Version and the one input of a transaction that is spent. */
const previousStart = (seed: number, index: number): Buffer =>
  Buffer.concat([uint32(2), Buffer.of(1), Buffer.alloc(32, 1), uint32(seed), Buffer.of(0), uint32(index)]);

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();
const doubleSha256 = (bytes: Uint8Array): Buffer => sha256(sha256(bytes));

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
