import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_SMART_CONTRACT_INTERFACE_BYTES } from "../../kernel/limits.ts";
import { memorySizeOf } from "../../kernel/memory-size.ts";
import { decodeInstruction, parseProgramInterface } from "./program-interface.ts";

const FIELD = "parameters.smartContractInterface";
const parse = (idl: unknown) => parseProgramInterface(JSON.stringify(idl), FIELD);

/** A program in the form from before Anchor 0.30. */
const older = {
  version: "0.1.0",
  name: "shop",
  instructions: [
    {
      name: "placeOrder",
      accounts: [
        { name: "buyer", isMut: true, isSigner: true },
        {
          name: "vault",
          accounts: [
            { name: "owner", isMut: false, isSigner: false },
            { name: "inner", accounts: [{ name: "mint", isMut: false, isSigner: false }] },
          ],
        },
      ],
      args: [
        { name: "amount", type: "u64" },
        { name: "side", type: { defined: "Side" } },
        { name: "referrer", type: { option: "publicKey" } },
      ],
      returns: "u64",
    },
  ],
  accounts: [{ name: "Vault", type: { kind: "struct", fields: [{ name: "owner", type: "publicKey" }] } }],
  types: [
    { name: "Side", type: { kind: "enum", variants: [{ name: "Buy" }, { name: "Sell", fields: ["u16", "bool"] }] } },
  ],
  errors: [{ code: 6000, name: "Closed" }],
};

/** The same program in the form since Anchor 0.30. */
const newer = {
  address: "BYFW1vhC1ohxwRbYoLbAWs86STa25i9sD5uEusVjTYNd",
  metadata: { name: "shop", version: "0.1.0", spec: "0.1.0" },
  instructions: [
    {
      name: "place_order",
      discriminator: [51, 194, 155, 175, 109, 130, 96, 106],
      accounts: [
        { name: "buyer", writable: true, signer: true },
        {
          name: "vault",
          accounts: [{ name: "owner" }, { name: "inner", accounts: [{ name: "mint", pda: { seeds: [] } }] }],
        },
      ],
      args: [
        { name: "amount", type: "u64" },
        { name: "side", type: { defined: { name: "Side" } } },
        { name: "referrer", type: { option: "pubkey" } },
      ],
    },
  ],
  types: older.types,
};

const PLACE_ORDER = "33c29baf6d82606a";
const DATA = Buffer.from(`${PLACE_ORDER}0500000000000000010a000100`, "hex");
const ACCOUNTS = ["Buyer", "Owner", "Mint"];

test("both forms of an interface decode the same data", () => {
  for (const [idl, name] of [
    [older, "placeOrder"],
    [newer, "place_order"],
  ] as const) {
    assert.deepEqual(decodeInstruction(parse(idl), DATA, ACCOUNTS), {
      instruction_name: name,
      discriminator: PLACE_ORDER,
      named_accounts: { buyer: "Buyer", "vault.owner": "Owner", "vault.inner.mint": "Mint" },
      program_call_args: { amount: 5n, side: { Sell: [10n, true] }, referrer: [] },
    });
  }
});

test("accounts beyond the named ones are left out, and all of those must be there", () => {
  const parsed = parse(newer);
  assert.deepEqual(decodeInstruction(parsed, DATA, [...ACCOUNTS, "More"]), decodeInstruction(parsed, DATA, ACCOUNTS));
  assert.equal(decodeInstruction(parsed, DATA, ACCOUNTS.slice(1)), undefined);
});

test("data of no instruction, cut off or with bytes after them, are not decoded", () => {
  const parsed = parse(newer);
  const extended = Buffer.concat([DATA, Buffer.of(0)]);
  for (const data of [Buffer.alloc(0), DATA.subarray(0, 7), DATA.subarray(1), DATA.subarray(0, -1), extended]) {
    assert.equal(decodeInstruction(parsed, data, ACCOUNTS), undefined);
  }
});

test("discriminators that an interface does not name follow from the instructions' names", () => {
  // As named in the interfaces of published programs.
  const published: [string, string][] = [
    ["initialize", "afaf6d1f0d989bed"],
    ["route", "e517cb977ae3ad2a"],
    ["transfer_checked", "77faca18fd87f479"],
    ["transferChecked", "77faca18fd87f479"],
  ];
  for (const [name, discriminator] of published) {
    const [instruction] = parse({ instructions: [{ name, accounts: [], args: [] }], types: [] }).instructions;
    assert.equal(instruction?.discriminator, discriminator, name);
  }
});

test("discriminators may have any length, as long as none begins another", () => {
  const go = (name: string, discriminator: unknown) => ({ name, discriminator, accounts: [], args: [] });
  const parsed = parse({ instructions: [go("a", [1]), go("b", [2, 1]), go("c", [2, 2])], types: [] });
  const nameOf = (...data: number[]) => decodeInstruction(parsed, Uint8Array.from(data), [])?.instruction_name;
  assert.deepEqual([nameOf(1), nameOf(2, 1), nameOf(2, 2), nameOf(2)], ["a", "b", "c", undefined]);
});

const instruction = { name: "go", accounts: [], args: [] };
const withArgs = (...types: unknown[]) => ({
  instructions: [{ ...instruction, args: types.map((type, index) => ({ name: `a${index}`, type })) }],
  types: [],
});
const withTypes = (...types: unknown[]) => ({ instructions: [], types });
const withAccounts = (...accounts: unknown[]) => ({ instructions: [{ ...instruction, accounts }], types: [] });
const withDiscriminators = (...discriminators: unknown[]) => ({
  instructions: discriminators.map((discriminator, index) => ({ ...instruction, name: `go${index}`, discriminator })),
  types: [],
});
const struct = (...fields: unknown[]) => ({ kind: "struct", fields });
const LONG = "n".repeat(256);

const invalid: [string, unknown, string][] = [
  ["a list", [], "it must be a JSON object"],
  ["no types", { instructions: [] }, "types is missing"],
  ["no instructions", { types: [] }, "instructions is missing"],
  ["types as an object", { instructions: [], types: {} }, "types must be a list"],
  ["an instruction that is a text", { instructions: ["go"], types: [] }, "instructions[0] must be an object"],
  [
    "an instruction without name",
    { instructions: [{ accounts: [], args: [] }], types: [] },
    "instructions[0].name must be a text of 1 to 255 characters",
  ],
  ["an empty name", withTypes({ name: "", type: struct() }), "types[0].name must be a text of 1 to 255 characters"],
  [
    "a long name",
    withAccounts({ name: LONG }),
    "instructions[0].accounts[0].name must be a text of 1 to 255 characters",
  ],
  [
    "a long name in a group",
    withAccounts({ name: "g", accounts: [{ name: LONG.slice(2) }] }),
    "instructions[0].accounts[0].accounts must be a text of 1 to 255 characters",
  ],
  [
    "an instruction without arguments",
    { instructions: [{ name: "go", accounts: [] }], types: [] },
    "instructions[0].args is missing",
  ],
  [
    "an instruction without accounts",
    { instructions: [{ name: "go", args: [] }], types: [] },
    "instructions[0].accounts is missing",
  ],
  ["an instruction twice", { instructions: [instruction, instruction], types: [] }, 'instructions has "go" twice'],
  ["an account twice", withAccounts({ name: "a" }, { name: "a" }), 'instructions[0].accounts has "a" twice'],
  [
    "an account of a group by the name of another",
    withAccounts({ name: "a.b" }, { name: "a", accounts: [{ name: "b" }] }),
    'instructions[0].accounts has "a.b" twice',
  ],
  ["a type twice", withTypes({ name: "T", type: struct() }, { name: "T", type: struct() }), 'types has "T" twice'],
  [
    "a field twice",
    withTypes({ name: "T", type: struct({ name: "f", type: "u8" }, { name: "f", type: "u8" }) }),
    'types[0].type.fields has "f" twice',
  ],
  [
    "a variant twice",
    withTypes({ name: "T", type: { kind: "enum", variants: [{ name: "V" }, { name: "V" }] } }),
    'types[0].type.variants has "V" twice',
  ],
  [
    "fields with and without names",
    withTypes({ name: "T", type: struct({ name: "f", type: "u8" }, "u8") }),
    "types[0].type.fields[0] must have exactly one key, such as vec",
  ],
  ["an unknown type", withArgs("u7"), 'instructions[0].args[0].type is the unknown type "u7"'],
  ["an unknown container", withArgs({ list: "u8" }), "instructions[0].args[0].type.list is not a kind of type"],
  ["a type that is a number", withArgs(8), "instructions[0].args[0].type must be an object"],
  ["no type", withArgs(undefined), "instructions[0].args[0].type is missing"],
  [
    "a type that is not there",
    withArgs("u8", { vec: { defined: "T" } }),
    'instructions[0].args names the type "T" in "a1", which `types` does not have',
  ],
  [
    "a type that is not there, in a type",
    withTypes({ name: "S", type: struct({ option: { defined: { name: "T" } } }) }),
    'types names the type "T" in "S", which `types` does not have',
  ],
  [
    "an array without length",
    withArgs({ array: ["u8"] }),
    "instructions[0].args[0].type.array[1] must be a whole number not below zero",
  ],
  [
    "an array of negative length",
    withArgs({ array: ["u8", -1] }),
    "instructions[0].args[0].type.array[1] must be a whole number not below zero",
  ],
  [
    "an array with two lengths",
    withArgs({ array: ["u8", 1, 2] }),
    "instructions[0].args[0].type.array must be a type and a length",
  ],
  [
    "a kind that there is not",
    withTypes({ name: "T", type: { kind: "union" } }),
    "types[0].type.kind must be struct, enum, alias or type",
  ],
  ["an enum without variants", withTypes({ name: "T", type: { kind: "enum" } }), "types[0].type.variants is missing"],
  [
    "an empty discriminator",
    withDiscriminators([]),
    "instructions[0].discriminator must be a list of bytes that is not empty",
  ],
  [
    "a discriminator with more than bytes",
    withDiscriminators([256]),
    "instructions[0].discriminator must be a list of bytes that is not empty",
  ],
  [
    "a discriminator twice",
    withDiscriminators([1], [2], [1]),
    'instructions has discriminators of "go0" and "go2" that clash',
  ],
  [
    "a discriminator that begins another",
    withDiscriminators([1, 2, 3], [2], [1, 2]),
    'instructions has discriminators of "go2" and "go0" that clash',
  ],
];

test("invalid interfaces are refused with the place of the fault", () => {
  assert(invalid.length >= 33);
  for (const [name, idl, reason] of invalid) {
    const message = `invalid request body: \`${FIELD}\` is not valid Anchor IDL: ${reason}`;
    assert.throws(() => parse(idl), { code: "FIELD_INVALID", message }, name);
  }
});

test("the text is bounded, and parsed as strictly as a request body", () => {
  const text = JSON.stringify(newer);
  const atLimit = text.padEnd(MAX_SMART_CONTRACT_INTERFACE_BYTES);
  assert.equal(parseProgramInterface(atLimit, FIELD).instructions.length, 1);
  for (const refused of [`${atLimit} `, "", "{", '{"types":[],"types":[],"instructions":[]}', "[".repeat(1000)]) {
    assert.throws(() => parseProgramInterface(refused, FIELD), { code: "FIELD_INVALID" });
  }
});

test("names of groups inside one another do not grow with the interface", () => {
  const members = Array.from({ length: 1000 }, (_, index) => ({ name: `m${index}` }));
  const nested = Array.from({ length: 20 }).reduce<object[]>(
    (inner) => [{ name: "g".repeat(50), accounts: inner }],
    members,
  );
  assert.throws(() => parse(withAccounts(...nested)), { code: "FIELD_INVALID" });
});

test("the names of all accounts are bounded together, as each has those of its groups", () => {
  const group = (count: number) => ({
    name: "g".repeat(199),
    accounts: Array.from({ length: count }, (_, index) => ({ name: `m${String(index).padStart(49, "0")}` })),
  });
  const most = Math.floor(MAX_SMART_CONTRACT_INTERFACE_BYTES / 250);
  assert.equal(parse(withAccounts(group(most))).instructions[0]?.accounts.length, most);
  const message = `invalid request body: \`${FIELD}\` is not valid Anchor IDL: instructions have names of accounts, with their groups, of more than 409600 characters together`;
  assert.throws(() => parse(withAccounts(group(most + 1))), { code: "FIELD_INVALID", message });
});

test("no interface that is accepted takes much memory, however it is written", () => {
  const vec = (depth: number): string => (depth === 0 ? '"u8"' : `{"vec":${vec(depth - 1)}}`);
  const filled = (element: (index: number) => string): string => {
    const elements: string[] = [];
    for (let length = 200; ; ) {
      const next = element(elements.length);
      length += next.length + 1;
      if (length > MAX_SMART_CONTRACT_INTERFACE_BYTES) return elements.join(",");
      elements.push(next);
    }
  };
  const go = (accounts: string, args: string) =>
    `{"types":[],"instructions":[{"name":"go","accounts":[${accounts}],"args":[${args}]}]}`;
  const shapes: [name: string, json: string][] = [
    [
      "accounts",
      go(
        filled((index) => `{"name":"${index}"}`),
        "",
      ),
    ],
    [
      "arguments",
      go(
        "",
        filled((index) => `{"name":"${index}","type":"u8"}`),
      ),
    ],
    [
      "types in one another",
      go(
        "",
        filled((index) => `{"name":"${index}","type":${vec(40)}}`),
      ),
    ],
    ["a tuple", go("", `{"name":"a","type":{"tuple":[${filled(() => '"u8"')}]}}`)],
    ["structs", `{"types":[${filled((i) => `{"name":"${i}","type":{"kind":"struct"}}`)}],"instructions":[]}`],
    [
      "variants",
      `{"types":[{"name":"e","type":{"kind":"enum","variants":[${filled((i) => `{"name":"${i}","fields":[]}`)}]}}],"instructions":[]}`,
    ],
  ];
  for (const [name, json] of shapes) {
    const size = memorySizeOf(parseProgramInterface(json, FIELD));
    assert(size < 4 * 1024 * 1024, `${name}: ${size} bytes for ${json.length} characters`);
  }
});

test("any JSON is refused with FIELD_INVALID or accepted, never a crash", () => {
  const junk = fc.jsonValue();
  const named = fc.record({
    name: fc.oneof(fc.string(), junk),
    type: junk,
    args: junk,
    accounts: junk,
    discriminator: junk,
  });
  const idl = fc.record({ instructions: fc.oneof(fc.array(named), junk), types: fc.oneof(fc.array(named), junk) });
  fc.assert(
    fc.property(fc.oneof(idl, junk), (each) => {
      try {
        parse(each);
      } catch (error) {
        assert(error instanceof KeysteadError && error.code === "FIELD_INVALID", String(error));
      }
    }),
  );
});
