import assert from "node:assert/strict";
import { test } from "node:test";
import { Transaction } from "ethers";
import fc from "fast-check";
import { type Hex, keccak256, serializeTransaction, type TransactionSerializable } from "viem";
import { isTransaction, testTransactionVectors, unsignedVector } from "../../../test/support/transaction-vectors.ts";
import { toHex } from "../../kernel/bytes.ts";
import { MAX_EVM_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import {
  ethereumFacts,
  hashToSign,
  parseUnsignedTransaction,
  serializeSigned,
  serializeUnsigned,
} from "./transaction.ts";

const FIELD = "parameters.unsignedTransaction";
const FROM = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F";
const FOLDER = "evm-transactions";
const format = { parse: parseUnsignedTransaction, serializeUnsigned, hashToSign, serializeSigned };
const parse = (hex: string) => parseUnsignedTransaction(Buffer.from(hex, "hex"), FIELD);

testTransactionVectors(FOLDER, { valid: 23, invalid: 65 }, format);

test("a transaction is at most 128 KiB", () => {
  const withData = (length: number) =>
    serializeTransaction({ chainId: 1, gasPrice: 1n, data: `0x${"5b".repeat(length)}` }).slice(2);
  const overhead = withData(MAX_EVM_TRANSACTION_BYTES).length / 2 - MAX_EVM_TRANSACTION_BYTES;
  parse(withData(MAX_EVM_TRANSACTION_BYTES - overhead));
  assert.throws(() => parse(withData(MAX_EVM_TRANSACTION_BYTES - overhead + 1)), {
    code: "TRANSACTION_INVALID",
    message: /it is longer than 131072 bytes$/,
  });
});

test("any bytes are refused with a reason or encode to themselves", () => {
  const typed = fc
    .tuple(fc.integer({ min: 0, max: 5 }), fc.uint8Array())
    .map(([type, rest]) => Buffer.from([type, ...rest]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), typed), (bytes) => void isTransaction(format, bytes)),
    { numRuns: 2000 },
  );
});

const hexOf = (minLength: number, maxLength = minLength): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${toHex(bytes)}` as const);
const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n });
const nonce = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const chainId = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const accessList = fc.array(fc.record({ address: hexOf(20), storageKeys: fc.array(hexOf(32), { maxLength: 3 }) }), {
  maxLength: 3,
});
const fees = fc.tuple(uint(256n), uint(256n)).map(([a, b]) => {
  return a < b ? { maxPriorityFeePerGas: a, maxFeePerGas: b } : { maxPriorityFeePerGas: b, maxFeePerGas: a };
});
/** 32 bytes, not all zero, as in a signature. */
const scalar = uint(256n)
  .filter((value) => value > 0n)
  .map((value) => `0x${value.toString(16).padStart(64, "0")}` as const);
const parity = fc.constantFrom(0, 1);
const authorization = fc.record({
  address: hexOf(20),
  chainId: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  nonce,
  r: scalar,
  s: scalar,
  yParity: parity,
});
const call = { nonce, gas: uint(64n), value: uint(256n), data: hexOf(0, 300) };
const anyTo = fc.option(hexOf(20));

const transactionArbitrary = fc.oneof(
  fc.record(
    { type: fc.constant("legacy"), chainId, gasPrice: uint(256n), to: anyTo, ...call },
    { requiredKeys: ["type", "gasPrice", "to", "nonce", "gas", "value", "data"] },
  ),
  fc.record({ type: fc.constant("eip2930"), chainId, gasPrice: uint(256n), to: anyTo, accessList, ...call }),
  fc
    .tuple(fc.record({ type: fc.constant("eip1559"), chainId, to: anyTo, accessList, ...call }), fees)
    .map(([transaction, fee]) => ({ ...transaction, ...fee })),
  fc
    .tuple(
      fc.record({
        type: fc.constant("eip4844"),
        chainId,
        to: hexOf(20),
        accessList,
        ...call,
        maxFeePerBlobGas: uint(256n),
        blobVersionedHashes: fc.array(
          hexOf(31).map((hash) => `0x01${hash.slice(2)}`),
          { minLength: 1, maxLength: 6 },
        ),
      }),
      fees,
    )
    .map(([transaction, fee]) => ({ ...transaction, ...fee })),
  fc
    .tuple(
      fc.record({
        type: fc.constant("eip7702"),
        chainId,
        to: hexOf(20),
        accessList,
        ...call,
        authorizationList: fc.array(authorization, { minLength: 1, maxLength: 3 }),
      }),
      fees,
    )
    .map(([transaction, fee]) => ({ ...transaction, ...fee })),
) as fc.Arbitrary<TransactionSerializable>;

test("random transactions: hash and signed form as in viem, and ethers reads the same", () => {
  fc.assert(
    fc.property(transactionArbitrary, scalar, scalar, parity, (input, r, s, yParity) => {
      const unsigned = serializeTransaction(input);
      const transaction = parse(unsigned.slice(2));
      assert.equal(`0x${toHex(hashToSign(transaction))}`, keccak256(unsigned));
      const signed = serializeSigned(transaction, { r: r.slice(2), s: s.slice(2), yParity: yParity === 1 ? 1 : 0 });
      assert.equal(`0x${toHex(signed)}`, serializeTransaction(input, { r, s, yParity, v: 27n + BigInt(yParity) }));
      agreesWithEthers(unsigned, transaction);
    }),
    { numRuns: 500 },
  );
});

/** ethers rejects numbers beyond 2^53 in some members; if it parses a transaction, the results are equal. */
function agreesWithEthers(unsigned: string, transaction: ReturnType<typeof parse>): void {
  const theirs = Transaction.from(unsigned);
  const facts = ethereumFacts(transaction, FROM);
  assert.equal(theirs.unsignedSerialized, unsigned);
  assert.equal(facts.to, theirs.to?.toLowerCase() ?? "");
  assert.equal(facts.data, theirs.data);
  assert.deepEqual(
    [facts.value, facts.gas, facts.nonce, facts.chain_id ?? 0n, facts.type],
    [
      theirs.value,
      theirs.gasLimit,
      BigInt(theirs.nonce),
      theirs.chainId,
      theirs.type === 0 ? "LEGACY" : `TYPE_${theirs.type}`,
    ],
  );
  assert.equal(facts.gas_price, theirs.gasPrice ?? theirs.maxFeePerGas);
}

const vector = (name: string) => parseUnsignedTransaction(unsignedVector(FOLDER, name), FIELD);

test("facts of a legacy transaction", () => {
  const common = { type: "LEGACY", from: FROM.toLowerCase(), to: `0x${"35".repeat(20)}`, data: "0x", gas: 21_000n };
  assert.deepEqual(ethereumFacts(vector("the example of EIP-155"), FROM), {
    ...common,
    value: 10n ** 18n,
    nonce: 9n,
    gas_price: 20_000_000_000n,
    chain_id: 1n,
  });
  assert.deepEqual(ethereumFacts(vector("legacy before EIP-155"), FROM), {
    ...common,
    value: 1n,
    nonce: 0n,
    gas_price: 1n,
  });
});

test("facts of a blob transaction and of a decoded call", () => {
  const call = { function_name: "transfer", function_signature: "0xa9059cbb", contract_call_args: { to: "0x" } };
  const { data, ...facts } = ethereumFacts(vector("EIP-4844"), FROM, call);
  assert.match(data, /^0xa9059cbb/);
  assert.deepEqual(facts, {
    type: "TYPE_3",
    from: FROM.toLowerCase(),
    to: `0x${"35".repeat(20)}`,
    value: 0n,
    gas: 60_000n,
    nonce: 1n,
    chain_id: 8453n,
    gas_price: 30_000_000_000n,
    max_fee_per_gas: 30_000_000_000n,
    max_priority_fee_per_gas: 1_000_000_000n,
    max_fee_per_blob_gas: 7n,
    ...call,
  });
});

test("a creation goes to ''", () => {
  assert.equal(ethereumFacts(vector("EIP-1559 creation"), FROM).to, "");
});
