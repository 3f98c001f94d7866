import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Hex, keccak256 } from "viem";
import { Transaction } from "viem/tempo";
import { testTransactionVectors, unsignedVector } from "../../../test/support/transaction-vectors.ts";
import { toHex } from "../../kernel/bytes.ts";
import {
  hashTempoToSign,
  parseUnsignedTempoTransaction,
  serializeSignedTempo,
  serializeUnsignedTempo,
  tempoFacts,
} from "./transaction.ts";

const FIELD = "parameters.unsignedTransaction";
const FROM = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F";
const FOLDER = "tempo-transactions";
const parse = (hex: string) => parseUnsignedTempoTransaction(Buffer.from(hex, "hex"), FIELD);

testTransactionVectors(
  FOLDER,
  { valid: 13, invalid: 27 },
  {
    parse: parseUnsignedTempoTransaction,
    serializeUnsigned: serializeUnsignedTempo,
    hashToSign: hashTempoToSign,
    serializeSigned: serializeSignedTempo,
  },
);

const hexOf = (minLength: number, maxLength = minLength): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${toHex(bytes)}` as const);
const uint = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n });
const time = fc.integer({ min: 1, max: 2 ** 40 });
const scalar = uint(256n).filter((value) => value > 0n);

const transactionArbitrary = fc.record(
  {
    chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    nonce: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    nonceKey: uint(256n),
    gas: uint(64n),
    maxPriorityFeePerGas: uint(64n),
    maxFeePerGas: uint(128n).map((fee) => fee | (1n << 64n)),
    calls: fc.array(fc.record({ to: hexOf(20), data: hexOf(0, 100) }, { requiredKeys: [] }), {
      minLength: 1,
      maxLength: 4,
    }),
    accessList: fc.array(fc.record({ address: hexOf(20), storageKeys: fc.array(hexOf(32), { maxLength: 3 }) })),
    validAfter: time,
    validBefore: time.map((at) => at + 2 ** 40),
    feeToken: hexOf(20),
  },
  { requiredKeys: ["chainId", "calls", "maxFeePerGas"] },
);

test("Tempo: random transactions have viem's hash, signed form and values", async () => {
  const serialize = Transaction.serialize as (transaction: object, signature?: object) => Promise<Hex>;
  await fc.assert(
    fc.asyncProperty(transactionArbitrary, fc.boolean(), scalar, scalar, async (input, isSponsored, r, s) => {
      const { feeToken, ...rest } = input;
      const sent = { type: "tempo", ...(isSponsored ? { ...rest, feePayerSignature: null } : input) };
      const unsigned = await serialize(sent);
      const transaction = parse(unsigned.slice(2));
      assert.equal(`0x${toHex(hashTempoToSign(transaction))}`, keccak256(unsigned));
      const [rHex, sHex] = [r, s].map((each) => each.toString(16).padStart(64, "0")) as [string, string];
      const signed = serializeSignedTempo(transaction, { r: rHex, s: sHex, yParity: 1 });
      assert.equal(`0x${toHex(signed)}`, await serialize(sent, { r: `0x${rHex}`, s: `0x${sHex}`, yParity: 1 }));
      const facts = tempoFacts(transaction, FROM);
      assert.deepEqual(
        [facts.valid_after, facts.valid_before, facts.fee_token, facts.nonce, facts.gas_limit],
        [
          rest.validAfter ?? 0,
          rest.validBefore ?? 0,
          isSponsored ? "" : (feeToken ?? ""),
          rest.nonce ?? 0,
          rest.gas ?? 0n,
        ].map((each) => (typeof each === "number" ? BigInt(each) : each)),
      );
      assert.deepEqual(
        facts.calls.map(({ to, input: data }) => [to, data]),
        input.calls.map(({ to = "", data = "0x" }) => [to, data]),
      );
    }),
    { numRuns: 300 },
  );
});

const vector = (name: string) => parseUnsignedTempoTransaction(unsignedVector(FOLDER, name), FIELD);

test("Tempo: facts of a batch", () => {
  const { calls, ...facts } = tempoFacts(vector("a batch with a creation and an empty call"), FROM);
  assert.deepEqual(facts, {
    chain_id: 42_431n,
    from: FROM.toLowerCase(),
    nonce: 7n,
    gas_limit: 60_000n,
    max_fee_per_gas: 30_000_000_000n,
    max_priority_fee_per_gas: 1_000_000_000n,
    fee_token: "0x20c0000000000000000000000000000000000001",
    valid_before: 0n,
    valid_after: 0n,
  });
  assert.deepEqual(
    calls.map(({ to, function_signature }) => [to, function_signature]),
    [
      ["", "0x60016001"],
      [`0x${"35".repeat(20)}`, "0xa9059cbb"],
      [`0x${"9a".repeat(20)}`, ""],
      [`0x${"35".repeat(20)}`, ""],
    ],
  );
});
