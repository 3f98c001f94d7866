import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { keccak_256 } from "@noble/hashes/sha3.js";
import fc from "fast-check";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_PAYLOAD_LENGTH } from "../../kernel/limits.ts";
import { hashTypedData, parseTypedData, standardDomain } from "./typed-data.ts";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Data = {
  types: Record<string, { name: string; type: string }[]>;
  primaryType: string;
  domain: Record<string, Json>;
  message: Record<string, Json>;
};
type ValidCase = { name?: string; data: Data; hash: string };
type InvalidCase = { name: string; reason: string; data?: Json; text?: string };

const vectors = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/eip712/${name}.json`, import.meta.url), "utf8")).cases;

const hashOf = (data: unknown): string =>
  `0x${toHex(hashTypedData(parseTypedData(JSON.stringify(data), "parameters.payload")))}`;

function refusalOf(text: string): string {
  try {
    parseTypedData(text, "parameters.payloads.3");
  } catch (error) {
    assert(error instanceof KeysteadError, `not a public error: ${error}`);
    assert.equal(error.code, "FIELD_INVALID");
    return error.message;
  }
  return "accepted";
}

test("EIP-712: valid vectors", () => {
  const cases = vectors<ValidCase>("valid");
  assert(cases.length >= 80);
  for (const { name, data, hash } of cases) assert.equal(hashOf(data), hash, name);
});

test("EIP-712: generated vectors", () => {
  const cases = vectors<ValidCase>("generated");
  assert(cases.length >= 60);
  for (const { data, hash } of cases) assert.equal(hashOf(data), hash, JSON.stringify(data));
});

test("EIP-712: invalid vectors", () => {
  const cases = vectors<InvalidCase>("invalid");
  assert(cases.length >= 150);
  for (const { name, data, text, reason } of cases) {
    const expected = `invalid request body: \`parameters.payloads.3\` is not valid EIP-712 typed data: ${reason}`;
    assert.equal(refusalOf(text ?? JSON.stringify(data)), expected, name);
  }
});

test("the hash of the specification's own example", () => {
  const mail = vectors<ValidCase>("valid").find(({ name }) => name === "EIP-712 specification: Mail");
  assert(mail);
  assert.equal(hashOf(mail.data), "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
});

test("text that no JSON body could have carried", () => {
  assert.match(refusalOf('{"primaryType":"\ud800"}'), /: it holds a lone surrogate$/);
  assert.match(refusalOf(`{}${" ".repeat(MAX_PAYLOAD_LENGTH)}`), /: it is longer than 524288 characters$/);
  assert.match(refusalOf(`{}${" ".repeat(MAX_PAYLOAD_LENGTH - 2)}`), /: types is missing$/);
});

test("definitions are limited together", () => {
  const members = Array.from({ length: 5000 }, (_, i) => ({ name: `member${i}`, type: "bool" }));
  assert.match(refusalOf(JSON.stringify({ types: { T: members } })), /definitions longer than 65536 characters/);
});

test("an error text stays short however long the names are", () => {
  const long = "n".repeat(60_000);
  const data = { types: { T: [{ name: long, type: "bool" }] }, primaryType: "T", message: { [long]: 1 } };
  assert(refusalOf(JSON.stringify(data)).length < 1000);
  assert(refusalOf(JSON.stringify({ types: { [`${long}!`]: [] } })).length < 1000);
});

test("the result holds what is signed, in one spelling, and nothing else", () => {
  const data = {
    types: {
      EIP712Domain: [{ name: "chainId", type: "uint256" }],
      Order: [
        { name: "maker", type: "address" },
        { name: "legs", type: "Leg[]" },
        { name: "note", type: "string" },
      ],
      Leg: [
        { name: "delta", type: "int64" },
        { name: "data", type: "bytes" },
        { name: "open", type: "bool" },
      ],
    },
    primaryType: "Order",
    domain: { chainId: "0x01", name: "not signed" },
    message: {
      maker: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826",
      legs: [{ delta: "-5", data: "0xABCD", open: true, extra: [1] }],
      note: "0xABCD",
      amount: 0,
    },
  };
  const { domain, message, primaryType, types } = parseTypedData(JSON.stringify(data), "parameters.payload");
  assert.equal(primaryType, "Order");
  assert.deepEqual(domain, { chainId: 1n });
  assert.deepEqual(message, {
    maker: "0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826",
    legs: [{ delta: -5n, data: "0xabcd", open: true }],
    note: "0xABCD",
  });
  assert.deepEqual([...types.keys()], ["EIP712Domain", "Order", "Leg"]);
});

// A second encoder, written only from the specification. It works on unchecked JSON, in hex text.

const keccakHex = (hex: string): string => toHex(keccak_256(Buffer.from(hex, "hex")));
const utf8Hex = (text: string): string => Buffer.from(text).toString("hex");

function naiveTypeText(name: string, types: Data["types"]): string {
  const found = new Set<string>();
  const find = (type: string): void => {
    const base = type.replace(/\[.*/, "");
    if (!types[base] || found.has(base)) return;
    found.add(base);
    for (const member of types[base]) find(member.type);
  };
  find(name);
  found.delete(name);
  const order = [name, ...Array.from(found).sort((a, b) => (a < b ? -1 : 1))];
  return order.map((each) => `${each}(${types[each]?.map((m) => `${m.type} ${m.name}`).join()})`).join("");
}

function naiveWord(type: string, value: Json, types: Data["types"]): string {
  if (type.endsWith("]")) {
    const inner = type.replace(/\[\d*\]$/, "");
    return keccakHex((value as Json[]).map((each) => naiveWord(inner, each, types)).join(""));
  }
  if (types[type]) return naiveStruct(type, value as Record<string, Json>, types);
  if (type === "string") return keccakHex(utf8Hex(value as string));
  if (type === "bytes") return keccakHex((value as string).slice(2));
  if (type === "bool") return (value ? "1" : "0").padStart(64, "0");
  if (type.startsWith("bytes")) return (value as string).slice(2).padEnd(64, "0");
  if (type === "address") return (value as string).slice(2).padStart(64, "0");
  const integer = BigInt(value as string);
  return (integer < 0n ? integer + 2n ** 256n : integer).toString(16).padStart(64, "0");
}

function naiveStruct(name: string, value: Record<string, Json>, types: Data["types"]): string {
  const words = types[name]?.map((member) => naiveWord(member.type, value[member.name] as Json, types)) ?? [];
  return keccakHex([keccakHex(utf8Hex(naiveTypeText(name, types))), ...words].join(""));
}

function naiveHash({ types, primaryType, domain, message }: Data): string {
  const fields = {
    name: "string",
    version: "string",
    chainId: "uint256",
    verifyingContract: "address",
    salt: "bytes32",
  };
  const members = Object.entries(fields).map(([name, type]) => ({ name, type }));
  const EIP712Domain = members.filter(({ name }) => domain[name] !== undefined);
  const separator = naiveStruct("EIP712Domain", domain, { EIP712Domain });
  return `0x${keccakHex(`1901${separator}${naiveStruct(primaryType, message, types)}`)}`;
}

// Random types. Each struct refers only to those after it, so that values are finite.

const STRUCTS = ["Order", "leg", "_Zed", "Aa", "A1"];

const hexOf = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${toHex(bytes)}`);

const elementaryType = fc.oneof(
  fc.constantFrom("bool", "address", "string", "bytes"),
  fc.integer({ min: 1, max: 32 }).map((n) => `bytes${n}`),
  fc.integer({ min: 1, max: 32 }).map((n) => `uint${8 * n}`),
  fc.integer({ min: 1, max: 32 }).map((n) => `int${8 * n}`),
);

const memberType = (later: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      later.length > 0 ? fc.oneof(elementaryType, fc.constantFrom(...later)) : elementaryType,
      fc.array(fc.constantFrom("[]", "[1]", "[2]"), { maxLength: 2 }),
    )
    .map(([base, dimensions]) => base + dimensions.join(""));

const typesArbitrary: fc.Arbitrary<Data["types"]> = fc
  .tuple(...STRUCTS.map((_, i) => fc.array(memberType(STRUCTS.slice(i + 1)), { maxLength: 3 })))
  .map((all) =>
    Object.fromEntries(all.map((list, i) => [STRUCTS[i], list.map((type, at) => ({ name: `m${at}`, type }))])),
  );

function integerOf(unsigned: boolean, bits: number): fc.Arbitrary<Json> {
  const top = 1n << BigInt(unsigned ? bits : bits - 1);
  return fc.bigInt({ min: unsigned ? 0n : -top, max: top - 1n }).chain((value) => {
    const spellings: Json[] = [value.toString()];
    if (value >= 0n) spellings.push(`0x${value.toString(16)}`);
    if (Number.isSafeInteger(Number(value))) spellings.push(Number(value));
    return fc.constantFrom(...spellings);
  });
}

function valueArbitrary(type: string, types: Data["types"]): fc.Arbitrary<Json> {
  const [, inner, count] = /^(.*)\[(\d*)\]$/.exec(type) ?? [];
  if (inner !== undefined) {
    const length = count === "" ? {} : { minLength: Number(count) };
    return fc.array(valueArbitrary(inner, types), { ...length, maxLength: count === "" ? 2 : Number(count) });
  }
  const members = types[type];
  if (members) return structArbitrary(members, types);
  if (type === "bool") return fc.boolean();
  if (type === "address") return hexOf(20);
  if (type === "bytes") return fc.uint8Array({ maxLength: 80 }).map((bytes) => `0x${toHex(bytes)}`);
  if (type === "string") return fc.string({ unit: "grapheme" });
  const width = Number(/\d+$/.exec(type)?.[0]);
  return type.startsWith("bytes") ? hexOf(width) : integerOf(type.startsWith("uint"), width);
}

const structArbitrary = (
  members: { name: string; type: string }[],
  types: Data["types"],
): fc.Arbitrary<Record<string, Json>> =>
  fc.record(Object.fromEntries(members.map(({ name, type }) => [name, valueArbitrary(type, types)])));

const domainArbitrary = fc.record(
  {
    name: fc.string(),
    version: fc.string(),
    chainId: integerOf(true, 256),
    verifyingContract: hexOf(20),
    salt: hexOf(32),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, Json>>;

const dataArbitrary: fc.Arbitrary<Data> = typesArbitrary.chain((types) =>
  fc.record({
    types: fc.constant(types),
    primaryType: fc.constant("Order"),
    domain: domainArbitrary,
    message: structArbitrary(types.Order ?? [], types),
  }),
);

test("the domain's members count under the types that EIP-712 gives them alone", () => {
  const address = "0x3535353535353535353535353535353535353535";
  const standard = {
    name: ["string", "Permits"],
    version: ["string", "1"],
    chainId: ["uint256", 1],
    verifyingContract: ["address", address],
    salt: ["bytes32", `0x${"ab".repeat(32)}`],
  } as const;
  const others: [name: keyof typeof standard, type: string, value: Json][] = [
    ["name", "bytes", "0x35"],
    ["name", "string[]", ["Permits"]],
    ["version", "bytes1", "0x31"],
    ["version", "uint256", 1],
    ["chainId", "string", "1"],
    ["chainId", "uint64", 1],
    ["chainId", "int256", 1],
    ["verifyingContract", "string", address],
    ["verifyingContract", "bytes", address],
    ["verifyingContract", "bytes20", address],
    ["salt", "string", "salt"],
  ];
  const domainOf = (members: Record<string, readonly [type: string, value: Json]>) => {
    const types = Object.entries(members).map(([name, [type]]) => ({ name, type }));
    const domain = Object.fromEntries(Object.entries(members).map(([name, [, value]]) => [name, value]));
    const data = { types: { EIP712Domain: types }, primaryType: "EIP712Domain", domain };
    return standardDomain(parseTypedData(JSON.stringify(data), "parameters.payload"));
  };
  const all = { name: "Permits", version: "1", chainId: 1n, verifyingContract: address, salt: standard.salt[1] };
  assert.deepEqual(domainOf(standard), all);
  for (const [name, type, value] of others) {
    const { [name]: left, ...rest } = all;
    assert.deepEqual(domainOf({ ...standard, [name]: [type, value] }), rest, `${name} as ${type}, not ${left}`);
  }
});

test("random typed data hashes as the naive encoder says", () => {
  fc.assert(
    fc.property(dataArbitrary, (data) => assert.equal(hashOf(data), naiveHash(data))),
    { numRuns: 300 },
  );
});

test("any other JSON in any place is refused with FIELD_INVALID or accepted, never a crash", () => {
  const mutated = fc.tuple(dataArbitrary, fc.jsonValue(), fc.nat());
  fc.assert(
    fc.property(mutated, ([data, junk, at]) => {
      const text = replaceNth(data, junk as Json, at);
      const outcome = refusalOf(text);
      if (outcome === "accepted") assert.equal(hashTypedData(parseTypedData(text, "x")).length, 32);
    }),
    { numRuns: 500 },
  );
});

/** The data's text with one of its values, counted in the order of the text, replaced by `junk`. */
function replaceNth(data: Data, junk: Json, at: number): string {
  let count = 0;
  JSON.stringify(data, (_, value) => {
    count++;
    return value;
  });
  let left = at % count;
  return JSON.stringify(data, (_, value) => (left-- === 0 ? junk : value));
}
