import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { RecoverableSignature } from "../../src/chains/evm/transaction.ts";
import { bytesFromHex, toHex } from "../../src/kernel/bytes.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { byteMutations } from "./byte-mutations.ts";

type Valid = { name: string; unsigned: string; hash: string; signed: string } & RecoverableSignature;
type Invalid = { name: string; code: string; reason: string; unsigned: string };

/** The functions of a kind of transaction. */
interface TransactionFormat<Transaction> {
  parse(bytes: Uint8Array, field: string): Transaction;
  serializeUnsigned(transaction: Transaction): Buffer;
  hashToSign(transaction: Transaction): Buffer;
  serializeSigned(transaction: Transaction, signature: RecoverableSignature): Buffer;
}

const FIELD = "parameters.unsignedTransaction";
const bytesOf = (hex: string): Buffer => bytesFromHex(hex) ?? assert.fail(hex);

function vectors<Case>(folder: string, name: string): Case[] {
  return JSON.parse(readFileSync(new URL(`../vectors/${folder}/${name}.json`, import.meta.url), "utf8")).cases;
}

/** The unsigned form of a valid vector. */
export function unsignedVector(folder: string, name: string): Buffer {
  return bytesOf(vectors<Valid>(folder, "valid").find((each) => each.name === name)?.unsigned ?? assert.fail(name));
}

/** Whether the bytes are a transaction. If so they must be its encoding, and if not the error must be a transaction's. */
export function isTransaction<T>(format: TransactionFormat<T>, bytes: Uint8Array): boolean {
  try {
    assert.deepEqual(format.serializeUnsigned(format.parse(bytes, FIELD)), Buffer.from(bytes));
    return true;
  } catch (error) {
    assert(error instanceof KeysteadError && error.code.startsWith("TRANSACTION_"), String(error));
    return false;
  }
}

/** Tests a kind of transaction by the vectors in `folder`, of which there are at least `counts`. */
export function testTransactionVectors<T>(
  folder: string,
  counts: { valid: number; invalid: number },
  format: TransactionFormat<T>,
): void {
  test(`${folder}: valid vectors have the bytes, hash and signed form that libraries gave them`, () => {
    const cases = vectors<Valid>(folder, "valid");
    assert(cases.length >= counts.valid);
    for (const { name, unsigned, hash, signed, ...signature } of cases) {
      const transaction = format.parse(bytesOf(unsigned), FIELD);
      assert.equal(toHex(format.serializeUnsigned(transaction)), unsigned, name);
      assert.equal(toHex(format.hashToSign(transaction)), hash, name);
      assert.equal(toHex(format.serializeSigned(transaction, signature)), signed, name);
    }
  });

  test(`${folder}: invalid vectors are refused with the reason`, () => {
    const cases = vectors<Invalid>(folder, "invalid");
    assert(cases.length >= counts.invalid);
    for (const { name, code, reason, unsigned } of cases) {
      const kind = code === "TRANSACTION_INVALID" ? "invalid transaction" : "unsupported transaction type";
      const message = `${kind}: \`${FIELD}\` ${reason}`;
      assert.throws(() => format.parse(bytesOf(unsigned), FIELD), { code, message }, name);
    }
  });

  test(`${folder}: a valid vector with one byte changed, removed or added is refused or encodes to itself`, () => {
    const outcomes = { read: 0, refused: 0 };
    for (const { unsigned } of vectors<Valid>(folder, "valid")) {
      for (const bytes of byteMutations(bytesOf(unsigned))) {
        outcomes[isTransaction(format, bytes) ? "read" : "refused"]++;
      }
    }
    assert(outcomes.read > 1000 && outcomes.refused > 10_000, JSON.stringify(outcomes));
  });
}
