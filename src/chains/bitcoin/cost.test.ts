import assert from "node:assert/strict";
import { test } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { largePsbt } from "../../../test/support/large-psbts.ts";
import { MAX_PSBT_BYTES, MAX_PSBT_INPUTS } from "../../kernel/limits.ts";
import { compactSize, sized } from "./byte-reader.ts";
import { parsePsbt } from "./psbt.ts";
import { type PsbtMap, psbtRecord, serializePsbt } from "./psbt-maps.ts";
import { doubleSha256, parseUnsignedTransaction, sha256 } from "./raw-transaction.ts";
import { hash160, payToPublicKeyHash } from "./scripts.ts";
import { inputsToSign, insertSignatures } from "./signing.ts";

/** The cost of the largest PSBTs, in processor time and relative to other work, because machines differ and may be busy. */

const FIELD = "parameters.unsignedTransaction";
const publicKey = secp256k1.getPublicKey(Buffer.alloc(32, 7));
const NONE = Buffer.alloc(0);

/** The smallest of several measurements, in milliseconds. */
function costOf(work: () => unknown): number {
  const times = Array.from({ length: 7 }, () => {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

const uint32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const uint64 = (value: bigint): Buffer => Buffer.from(BigUint64Array.of(value).buffer);
const output = (script: Uint8Array): Buffer => Buffer.concat([uint64(10_000n), sized(script)]);
const toKey = output(payToPublicKeyHash(hash160(publicKey)));

function psbtSpending(outpoints: readonly Buffer[], maps: readonly PsbtMap[]): Buffer {
  const inputs = outpoints.map((outpoint) => Buffer.concat([outpoint, Buffer.of(0), uint32(1)]));
  const unsigned = Buffer.concat([uint32(2), compactSize(inputs.length), ...inputs, Buffer.of(1), toKey, uint32(0)]);
  return serializePsbt({
    unsigned: parseUnsignedTransaction(unsigned, assert.fail),
    global: [psbtRecord(0, NONE, unsigned)],
    inputs: maps,
    outputs: [[]],
  });
}

const input = Buffer.concat([Buffer.alloc(36, 1), Buffer.of(0), uint32(1)]);
const spendingOne = (id: Buffer, previous: Buffer): Buffer =>
  psbtSpending([Buffer.concat([id, uint32(0)])], [[psbtRecord(0, NONE, previous)]]);

/** Valid PSBTs of nearly the maximum size that contain as many small items as possible. */
const hostile: Record<string, () => Buffer> = {
  "a previous transaction of empty outputs"() {
    const count = 110_000;
    const outputs = [compactSize(count + 1), toKey, Buffer.alloc(9 * count)];
    const previous = Buffer.concat([uint32(2), Buffer.of(1), input, ...outputs, uint32(0)]);
    return spendingOne(doubleSha256(previous), previous);
  },
  "a previous transaction of empty witness items"() {
    const count = 1_000_000;
    const body = Buffer.concat([Buffer.of(1), input, Buffer.of(1), toKey]);
    const witness = Buffer.concat([compactSize(count), Buffer.alloc(count)]);
    const previous = Buffer.concat([uint32(2), Buffer.of(0, 1), body, witness, uint32(0)]);
    return spendingOne(doubleSha256(uint32(2), body, uint32(0)), previous);
  },
  "scripts of short pushes"() {
    const script = Buffer.alloc(920, 1);
    const spent = output(Buffer.concat([Buffer.from("0020", "hex"), sha256(script)]));
    const outpoints = Array.from({ length: MAX_PSBT_INPUTS }, (_, i) =>
      Buffer.concat([Buffer.alloc(32, 3), uint32(i)]),
    );
    return psbtSpending(
      outpoints,
      outpoints.map(() => [psbtRecord(1, NONE, spent), psbtRecord(5, NONE, script)]),
    );
  },
};

for (const [name, make] of Object.entries(hostile)) {
  test(`${name} costs no more to parse than to hash it fifty times`, (t) => {
    const psbt = make();
    assert.ok(psbt.length > 0.9 * MAX_PSBT_BYTES && psbt.length <= MAX_PSBT_BYTES, `${psbt.length} bytes`);
    const hashing = costOf(() => {
      for (let times = 0; times < 10; times++) doubleSha256(psbt);
    });
    const parsing = costOf(() => parsePsbt(psbt, FIELD));
    t.diagnostic(`parsed in ${parsing.toFixed(1)} ms, hashed ten times in ${hashing.toFixed(1)} ms`);
    assert.ok(parsing < 5 * hashing);
  });
}

test("legacy inputs are hashed once: to find them and to put their signatures in costs little beside", (t) => {
  const psbt = largePsbt(publicKey, { kind: "P2PKH", inputs: MAX_PSBT_INPUTS, outputBytes: 50_000 });
  const transaction = parsePsbt(psbt, FIELD);
  const inputs = inputsToSign(transaction, publicKey);
  const hashing = costOf(() => inputs.map(({ sighash }) => sighash));
  const signatures = inputs.map(({ index }) => ({ index, signature: Buffer.alloc(64, 1) }));
  const rest = costOf(() => {
    inputsToSign(transaction, publicKey);
    insertSignatures(transaction, publicKey, signatures);
  });
  t.diagnostic(`hashed in ${hashing.toFixed(1)} ms, all else in ${rest.toFixed(1)} ms`);
  assert.equal(inputs.length, MAX_PSBT_INPUTS);
  assert.ok(rest < hashing / 2);
});
