import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AccountRole, type Address, getAddressDecoder, getTransactionDecoder } from "@solana/kit";
import fc from "fast-check";
import { addressOf, compiled, encodeAgain, factsByLibrary, lookup } from "../../../test/support/solana.ts";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { solanaFacts } from "./facts.ts";
import { decodeWireTransaction, insertSignature, messageOf, parseTransaction, signerIndex } from "./transaction.ts";

const FIELD = "parameters.unsignedTransaction";

type Valid = { name: string; transaction: string; signers: string[]; facts: object };
type Invalid = { name: string; transaction: string; code: string; reason: string };

const vectors = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/solana-transactions/${name}.json`, import.meta.url), "utf8"))
    .cases;
const validVectors = vectors<Valid>("valid");
const wireOf = ({ transaction }: { transaction: string }) => Buffer.from(transaction, "hex");

/** Big integers as written in the test vectors. */
const asJson = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each)));

test("Solana transactions: valid vectors", () => {
  assert(validVectors.length >= 20);
  for (const vector of validVectors) {
    const wire = wireOf(vector);
    const transaction = parseTransaction(wire, FIELD);
    assert.deepEqual(asJson(solanaFacts(transaction)), vector.facts, vector.name);
    assert.deepEqual(messageOf(transaction), Buffer.from(getTransactionDecoder().decode(wire).messageBytes));
    assert.equal(toHex(encodeAgain(transaction)), vector.transaction, vector.name);
    assert.deepEqual(
      vector.signers.map((signer) => signerIndex(transaction, signer)),
      [...vector.signers.keys()],
    );
  }
});

test("Solana transactions: invalid vectors", () => {
  const cases = vectors<Invalid>("invalid");
  assert(cases.length >= 32);
  for (const vector of cases) {
    const kind = vector.code === "TRANSACTION_INVALID" ? "invalid transaction" : "unsupported transaction type";
    assert.throws(
      () => parseTransaction(wireOf(vector), FIELD),
      { code: vector.code, message: `${kind}: \`${FIELD}\` ${vector.reason}` },
      vector.name,
    );
  }
});

/** Parses; a rejection must have the expected text. */
function parsedOrRefused(bytes: Uint8Array) {
  try {
    return parseTransaction(bytes, FIELD);
  } catch (error) {
    assert(error instanceof KeysteadError && /^TRANSACTION_(INVALID|UNSUPPORTED)$/.test(error.code), String(error));
    return undefined;
  }
}

test("whatever is changed in a transaction, it is refused or read as what it then is", () => {
  let accepted = 0;
  for (const vector of validVectors) {
    const wire = wireOf(vector);
    for (let at = 0; at <= wire.length; at++) {
      const before = wire.subarray(0, at);
      const byte = wire[at] ?? 0;
      const changed = [byte ^ 1, byte ^ 0x80, byte ^ 0xff].map((each) => [each, ...wire.subarray(at + 1)]);
      const rests = [...changed, wire.subarray(at + 1), [0, ...wire.subarray(at)], [0xff, ...wire.subarray(at)]];
      for (const rest of rests) {
        const mutated = Buffer.concat([before, Buffer.from(rest)]);
        const transaction = parsedOrRefused(mutated);
        if (transaction === undefined) continue;
        accepted++;
        assert.equal(toHex(encodeAgain(transaction)), toHex(mutated), vector.name);
        solanaFacts(transaction);
      }
    }
  }
  assert(accepted > 1000, `only ${accepted} mutations were accepted`);
});

test("any bytes are refused, never a crash", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 1300 }), (bytes) => void parsedOrRefused(bytes)));
});

const byte = fc.integer({ min: 0, max: 255 });
const pooled = fc.integer({ min: 1, max: 12 }).map(addressOf);
const role = fc.constantFrom(
  AccountRole.READONLY,
  AccountRole.WRITABLE,
  AccountRole.READONLY_SIGNER,
  AccountRole.WRITABLE_SIGNER,
);
const staticAccount = fc.record({ address: pooled, role });
const lookedUpAccount = fc
  .tuple(fc.constantFrom(0 as const, 1 as const), byte, fc.constantFrom(AccountRole.READONLY, AccountRole.WRITABLE))
  .map(([table, index, lookupRole]) => lookup(table, index, lookupRole));
const instructionOf = <Account extends { address: Address }>(account: fc.Arbitrary<Account>) =>
  fc.record({
    programAddress: fc.integer({ min: 0x70, max: 0x73 }).map(addressOf),
    accounts: fc.array(account, { maxLength: 8 }),
    data: fc.uint8Array({ maxLength: 200 }),
  });
const built = fc.oneof(
  fc.record({
    version: fc.constant("legacy" as const),
    payer: pooled,
    blockhash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => getAddressDecoder().decode(bytes)),
    instructions: fc.array(instructionOf(staticAccount), { maxLength: 6 }),
  }),
  fc.record({
    version: fc.constant(0 as const),
    payer: pooled,
    blockhash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => getAddressDecoder().decode(bytes)),
    instructions: fc.array(instructionOf(fc.oneof(staticAccount, lookedUpAccount)), { maxLength: 6 }),
  }),
);

test("random transactions are read as Solana's own library reads them", () => {
  let read = 0;
  fc.assert(
    fc.property(built, (each) => {
      const wire = compiled(each);
      const transaction = parsedOrRefused(wire);
      if (wire.length > 1232) return assert.equal(transaction, undefined);
      assert(transaction !== undefined);
      read++;
      const { signers, ...expected } = factsByLibrary(wire);
      const { transfers, spl_transfers, ...facts } = solanaFacts(transaction);
      assert.deepEqual(asJson(facts), asJson(expected));
      assert.deepEqual(
        signers.map((signer) => signerIndex(transaction, signer)),
        [...signers.keys()],
      );
    }),
    { numRuns: 300 },
  );
  assert(read > 50);
});

const [TWO_SIGNERS] = validVectors.filter(({ name }) => name === "transfers from two signers");
const SIGNATURE = Buffer.alloc(64, 0xab);

test("a signature goes to its signer's place, and everything else stays", () => {
  assert(TWO_SIGNERS !== undefined);
  const wire = wireOf(TWO_SIGNERS);
  const given = Buffer.concat([wire.subarray(0, 1), Buffer.alloc(64, 0xcd), wire.subarray(65)]);
  const signed = insertSignature(parseTransaction(given, FIELD), TWO_SIGNERS.signers[1] ?? "", SIGNATURE);
  assert.deepEqual(signed, Buffer.concat([given.subarray(0, 65), SIGNATURE, given.subarray(129)]));
});

test("only required signers have a place for a signature", () => {
  assert(TWO_SIGNERS !== undefined);
  const transaction = parseTransaction(wireOf(TWO_SIGNERS), FIELD);
  for (const address of [addressOf(2), addressOf(0x55), "", "ADDRESS_TABLE_LOOKUP"]) {
    assert.equal(signerIndex(transaction, address), undefined);
    assert.throws(() => insertSignature(transaction, address, SIGNATURE), {
      code: "TRANSACTION_INVALID",
      message: `invalid transaction: \`${FIELD}\` is to be signed by ${TWO_SIGNERS.signers.join(", ")}, not by ${address}`,
    });
  }
  assert.throws(() => insertSignature(transaction, TWO_SIGNERS.signers[0] ?? "", SIGNATURE.subarray(1)), RangeError);
});

test("what was parsed does not change with the bytes it was parsed from", () => {
  assert(TWO_SIGNERS !== undefined);
  const wire = wireOf(TWO_SIGNERS);
  const transaction = parseTransaction(wire, FIELD);
  wire.fill(0);
  assert.equal(toHex(encodeAgain(transaction)), TWO_SIGNERS.transaction);
  assert.equal(toHex(messageOf(transaction)), TWO_SIGNERS.transaction.slice(2 * 129));
});

test("a transaction may be written in hex or in base64", () => {
  assert(TWO_SIGNERS !== undefined);
  const { transaction: hex } = TWO_SIGNERS;
  const base64 = wireOf(TWO_SIGNERS).toString("base64");
  for (const text of [hex, `0x${hex}`, hex.toUpperCase()]) {
    assert.equal(toHex(encodeAgain(decodeWireTransaction(text, "hex", FIELD))), hex);
  }
  assert.equal(toHex(encodeAgain(decodeWireTransaction(base64, "base64", FIELD))), hex);
  const refused = (text: string, encoding: "hex" | "base64", reason: string) =>
    assert.throws(() => decodeWireTransaction(text, encoding, FIELD), {
      code: "TRANSACTION_INVALID",
      message: `invalid transaction: \`${FIELD}\` ${reason}`,
    });
  for (const text of [hex.slice(1), `${hex}zz`, ` ${hex}`, `0x0x${hex}`]) {
    refused(text, "hex", "must be an even number of hex digits");
  }
  for (const text of [`${base64}\n`, base64.slice(0, -1), `${base64}=`, "-_", "é"]) {
    refused(text, "base64", "must be base64");
  }
  refused("", "hex", "is not a valid Solana transaction: it is empty");
});
