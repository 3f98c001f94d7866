import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_TRON_BYTES } from "../../kernel/limits.ts";
import { contractKinds } from "./contracts.ts";
import { encodeField } from "./protobuf.ts";
import { parseTransaction, serializeSigned, transactionId, tronFacts } from "./transaction.ts";

const FIELD = "parameters.unsignedTransaction";

type Case = {
  name: string;
  privateKey: string;
  rawData: string;
  transactionId: string;
  signed: string;
  facts: unknown;
};

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const vectors = (name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/tron-transactions/${name}.json`, import.meta.url), "utf8"))
    .cases;
const cases = vectors("valid");
const rawDataOf = (name: string): string => (cases.find((each) => each.name === name) ?? assert.fail(name)).rawData;

const plain = (facts: unknown): unknown =>
  JSON.parse(JSON.stringify(facts, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)));

/** The public error of a rejection, as code and reason. */
function refusalOf(rawData: Uint8Array): string {
  try {
    parseTransaction(rawData, FIELD);
  } catch (error) {
    assert(error instanceof KeysteadError, `not a public error: ${error}`);
    const reason = error.message.replace(/^.*?`parameters\.unsignedTransaction` /, "");
    return `${error.code}: ${reason.replace("is not valid `raw_data` of a Tron transaction: it ", "")}`;
  }
  return "accepted";
}

test("what tronweb makes is read as it was meant", () => {
  assert(cases.length >= 44);
  for (const { name, rawData, facts } of cases) {
    assert.deepEqual(plain(tronFacts(parseTransaction(bytes(rawData), FIELD))), facts, name);
  }
});

test("every kind that is signed has vectors", () => {
  const kinds = new Set(cases.map(({ name }) => name.split(":")[0]));
  assert.deepEqual([...kinds].sort(), [...contractKinds.values()].map(({ type }) => type).sort());
});

test("ids and signed transactions are those of tronweb", () => {
  for (const { name, rawData, transactionId: id, signed, privateKey } of cases) {
    assert.equal(toHex(transactionId(bytes(rawData))), id, name);
    const [recovery = 0, ...rs] = secp256k1.sign(bytes(id), bytes(privateKey), { prehash: false, format: "recovered" });
    assert.equal(toHex(serializeSigned(bytes(rawData), Buffer.of(...rs, recovery))), signed, name);
  }
});

test("a signature is 64 bytes and a recovery bit", () => {
  for (const signature of [Buffer.alloc(64), Buffer.alloc(66), Buffer.alloc(65, 27), Buffer.alloc(65).fill(2, 64)]) {
    assert.throws(() => serializeSigned(Buffer.alloc(1), signature), RangeError);
  }
});

test("the owner and the permission are there to compare with the signer", () => {
  const name = "TransferContract: for another permission";
  const { ownerAddress, permissionId } = parseTransaction(bytes(rawDataOf(name)), FIELD);
  assert.deepEqual(
    { ownerAddress, permissionId },
    { ownerAddress: "TMgniATzTGnWng5P6soUigaj74oUHrux3z", permissionId: 2n },
  );
});

test("kinds that are not signed are refused, and those that are named", () => {
  const unsupported = vectors("unsupported");
  assert(unsupported.length >= 5);
  for (const { name, rawData } of unsupported) {
    const refusal = refusalOf(bytes(rawData));
    assert.match(
      refusal,
      /^TRANSACTION_UNSUPPORTED: has a contract of type \d+; supported are TransferContract, /,
      name,
    );
    assert.match(refusal, /; sign the hash of others with sign_raw_payload$/);
  }
});

const varint = (number: number, hex: string): string => Buffer.of(number << 3).toString("hex") + hex;
const field = (number: number, hex: string): string => toHex(encodeField(number, bytes(hex)));
const ADDRESS = `41${"11".repeat(20)}`;
const OTHER = `41${"22".repeat(20)}`;
const url = (type: string): string => Buffer.from(`type.googleapis.com/protocol.${type}`).toString("hex");
const parameter = (type: string, value: string): string => field(2, field(1, url(type)) + field(2, value));
const contract = (number: string, type: string, value: string): string =>
  field(11, varint(1, number) + parameter(type, value));
const transfer = (value: string): string => contract("01", "TransferContract", value);
const both = field(1, ADDRESS) + field(2, OTHER);

const refusals: [name: string, rawData: string, reason: string][] = [
  ["nothing", "", "TRANSACTION_INVALID: has no contract"],
  [
    "two contracts",
    transfer(both) + transfer(both),
    "TRANSACTION_INVALID: has a field 11 in the transaction more than once",
  ],
  [
    "an unknown field",
    transfer(both) + varint(19, "01").replace(/^98/, "9801"),
    "TRANSACTION_INVALID: has a field 19 in the transaction that is not known here",
  ],
  [
    "ref_block_num",
    varint(3, "01") + transfer(both),
    "TRANSACTION_INVALID: has a field 3 in the transaction that is not known here",
  ],
  [
    "auths",
    field(9, "0a00") + transfer(both),
    "TRANSACTION_INVALID: has a field 9 in the transaction that is not known here",
  ],
  [
    "scripts",
    transfer(both) + field(12, "00"),
    "TRANSACTION_INVALID: has a field 12 in the transaction that is not known here",
  ],
  [
    "a contract's provider",
    field(11, varint(1, "01") + parameter("TransferContract", both) + field(3, "00")),
    "TRANSACTION_INVALID: has a field 3 in `contract` in the transaction that is not known here",
  ],
  [
    "an unknown field of the contract",
    transfer(both + varint(4, "01")),
    "TRANSACTION_INVALID: has a field 4 in the TransferContract that is not known here",
  ],
  [
    "a field twice",
    varint(8, "01") + varint(8, "01") + transfer(both),
    "TRANSACTION_INVALID: has a field 8 in the transaction more than once",
  ],
  [
    "fields out of order",
    transfer(both) + varint(8, "01"),
    "TRANSACTION_INVALID: has a field 8 in the transaction that is not in ascending order",
  ],
  [
    "a wrong wire type",
    field(8, "01") + transfer(both),
    "TRANSACTION_INVALID: has a field 8 in the transaction of a wrong wire type",
  ],
  [
    "a fixed integer",
    `410000000000000000${transfer(both)}`,
    "TRANSACTION_INVALID: has a field 8 in the transaction of a wrong wire type",
  ],
  ["a group", `43${transfer(both)}`, "TRANSACTION_INVALID: has a field 8 in the transaction of a wrong wire type"],
  ["field zero", "0000", "TRANSACTION_INVALID: has a field in the transaction whose number is out of range"],
  [
    "a field number too large",
    "808080808001",
    "TRANSACTION_INVALID: has a field in the transaction whose number is out of range",
  ],
  [
    "a padded integer",
    varint(8, "8100") + transfer(both),
    "TRANSACTION_INVALID: has an integer in the transaction that is not in its shortest form",
  ],
  [
    "an integer of eleven bytes",
    varint(8, `${"ff".repeat(10)}01`) + transfer(both),
    "TRANSACTION_INVALID: has an integer in the transaction of more than 64 bits",
  ],
  [
    "an integer of 65 bits",
    varint(8, `${"ff".repeat(9)}02`) + transfer(both),
    "TRANSACTION_INVALID: has an integer in the transaction of more than 64 bits",
  ],
  [
    "a negative integer",
    varint(8, `${"ff".repeat(9)}01`) + transfer(both),
    "TRANSACTION_INVALID: has a negative `expiration` in the transaction, or one beyond int64",
  ],
  [
    "a negative amount",
    transfer(`${both}18${"ff".repeat(9)}01`),
    "TRANSACTION_INVALID: has a negative `amount` in the TransferContract, or one beyond int64",
  ],
  [
    "an amount of 2^63",
    transfer(`${both}18${"80".repeat(9)}01`),
    "TRANSACTION_INVALID: has a negative `amount` in the TransferContract, or one beyond int64",
  ],
  [
    "a default spelled out",
    varint(8, "00") + transfer(both),
    "TRANSACTION_INVALID: spells out the default of `expiration` in the transaction",
  ],
  [
    "an empty memo",
    field(10, "") + transfer(both),
    "TRANSACTION_INVALID: spells out the default of `data` in the transaction",
  ],
  [
    "an end within an integer",
    `${transfer(both)}70ff`,
    "TRANSACTION_INVALID: ends in the middle of an integer in the transaction",
  ],
  ["an end within bytes", "0a0301", "TRANSACTION_INVALID: ends in the middle of a field in the transaction"],
  [
    "a length beyond all",
    "0affffffffffffffff7f",
    "TRANSACTION_INVALID: ends in the middle of a field in the transaction",
  ],
  [
    "block bytes of another length",
    field(1, "010203") + transfer(both),
    "TRANSACTION_INVALID: has `ref_block_bytes` in the transaction that is not of 2 bytes",
  ],
  ["no owner", transfer(field(2, OTHER)), "TRANSACTION_INVALID: has no `owner_address` in the TransferContract"],
  ["no recipient", transfer(field(1, ADDRESS)), "TRANSACTION_INVALID: has no `to_address` in the TransferContract"],
  [
    "an address of 20 bytes",
    transfer(field(1, ADDRESS) + field(2, "22".repeat(20))),
    "TRANSACTION_INVALID: has `to_address` in the TransferContract that is not of 21 bytes",
  ],
  [
    "an address of another network",
    transfer(field(1, ADDRESS) + field(2, `a0${"22".repeat(20)}`)),
    "TRANSACTION_INVALID: has `to_address` in the TransferContract that does not begin with 41",
  ],
  [
    "a parameter of another kind",
    contract("01", "TriggerSmartContract", both),
    "TRANSACTION_INVALID: has a TransferContract whose `type_url` names something else",
  ],
  [
    "no parameter",
    field(11, varint(1, "01")),
    "TRANSACTION_INVALID: has a TransferContract whose `type_url` names something else",
  ],
  [
    "a resource that is none",
    contract("36", "FreezeBalanceV2Contract", field(1, ADDRESS) + varint(2, "01") + varint(3, "03")),
    "TRANSACTION_INVALID: has `resource` in the FreezeBalanceV2Contract that is not one of BANDWIDTH, ENERGY, TRON_POWER",
  ],
  [
    "a boolean of 2",
    contract("39", "DelegateResourceContract", field(1, ADDRESS) + field(4, OTHER) + varint(5, "02")),
    "TRANSACTION_INVALID: has `lock` in the DelegateResourceContract that is not 0 or 1",
  ],
  [
    "a call to nothing",
    contract("1f", "TriggerSmartContract", field(1, ADDRESS)),
    "TRANSACTION_INVALID: has no `contract_address` in the TriggerSmartContract",
  ],
  [
    "a token by name",
    contract("02", "TransferAssetContract", field(1, "54574f") + field(2, ADDRESS) + field(3, OTHER)),
    "TRANSACTION_INVALID: has an `asset_name` in the TransferAssetContract that is not a token id in decimal digits",
  ],
  [
    "a stake of another duration",
    contract("0b", "FreezeBalanceContract", field(1, ADDRESS) + varint(2, "01") + varint(3, "04")),
    "TRANSACTION_INVALID: has a `frozen_duration` in the FreezeBalanceContract other than 3",
  ],
  [
    "a permission name that is not text",
    contract("2e", "AccountPermissionUpdateContract", field(1, ADDRESS) + field(2, field(3, "ff"))),
    "TRANSACTION_INVALID: has `permission_name` in `owner` in the AccountPermissionUpdateContract that is not UTF-8",
  ],
  [
    "nine active permissions",
    contract("2e", "AccountPermissionUpdateContract", field(1, ADDRESS) + field(4, "").repeat(9)),
    "TRANSACTION_INVALID: has a field 4 in the AccountPermissionUpdateContract more than 8 times",
  ],
  [
    "six keys",
    contract("2e", "AccountPermissionUpdateContract", field(1, ADDRESS) + field(2, field(7, "").repeat(6))),
    "TRANSACTION_INVALID: has a field 7 in `owner` in the AccountPermissionUpdateContract more than 5 times",
  ],
  ["too many bytes", "00".repeat(MAX_TRON_BYTES + 1), `TRANSACTION_INVALID: has more than ${MAX_TRON_BYTES} bytes`],
];

test("what is not canonical, or would be signed unseen, is refused", () => {
  assert.equal(refusalOf(bytes(transfer(both))), "accepted");
  assert(refusals.length >= 40);
  for (const [name, rawData, reason] of refusals) assert.equal(refusalOf(bytes(rawData)), reason, name);
});

test("any change of bytes is refused, or changes what is read", () => {
  const edits = fc.array(
    fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      remove: fc.nat(2),
      insert: fc.uint8Array({ maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  );
  const votes = "VoteWitnessContract";
  const sources = cases.filter(({ name }) => name !== votes);
  fc.assert(
    fc.property(fc.constantFrom(...sources), edits, ({ rawData, facts }, changes) => {
      let changed = bytes(rawData);
      for (const { at, remove, insert } of changes) {
        const start = Math.floor(at * changed.length);
        changed = Buffer.concat([changed.subarray(0, start), insert, changed.subarray(start + remove)]);
      }
      if (changed.equals(bytes(rawData))) return;
      if (refusalOf(changed) !== "accepted") return;
      // Each content has a single encoding, so other bytes must have other content.
      assert.notDeepEqual(plain(tronFacts(parseTransaction(changed, FIELD))), facts);
    }),
    { numRuns: 5000 },
  );
});

test("any single byte changed or left out is refused, or changes what is read", () => {
  for (const name of ["TriggerSmartContract: token", "AccountPermissionUpdateContract: with a witness"]) {
    const rawData = bytes(rawDataOf(name));
    const facts = plain(tronFacts(parseTransaction(rawData, FIELD)));
    for (let at = 0; at < rawData.length; at++) {
      const without = Buffer.concat([rawData.subarray(0, at), rawData.subarray(at + 1)]);
      for (const changed of [...[0, 1, 0x7f, 0x80, 0xff].map((byte) => rawData.with(at, byte)), without]) {
        if (Buffer.compare(changed, rawData) === 0 || refusalOf(changed) !== "accepted") continue;
        assert.notDeepEqual(plain(tronFacts(parseTransaction(changed, FIELD))), facts, `${name} at ${at}`);
      }
    }
  }
});
