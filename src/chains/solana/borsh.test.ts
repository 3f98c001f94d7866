import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addEncoderSizePrefix,
  type Encoder,
  getAddressDecoder,
  getAddressEncoder,
  getArrayEncoder,
  getBooleanEncoder,
  getBytesEncoder,
  getI8Encoder,
  getI16Encoder,
  getI32Encoder,
  getI64Encoder,
  getI128Encoder,
  getI256Encoder,
  getOptionEncoder,
  getStructEncoder,
  getTupleEncoder,
  getU8Encoder,
  getU16Encoder,
  getU32Encoder,
  getU64Encoder,
  getU128Encoder,
  getU256Encoder,
  getUtf8Encoder,
  transformEncoder,
} from "@solana/kit";
import fc from "fast-check";
import { toHex } from "../../kernel/bytes.ts";
import { type BorshValue, decodeArguments } from "./borsh.ts";
import { parseDefinitions, parseNamedFields } from "./interface-types.ts";

const refuse = (place: string, reason: string): never => assert.fail(`${place} ${reason}`);

/** Decodes one argument `x` of this type, as named in an interface. */
function decode(data: Uint8Array, type: unknown, types: readonly object[] = []) {
  const fields = parseNamedFields([{ name: "x", type }], "args", refuse);
  return decodeArguments(data, fields, parseDefinitions(types, refuse));
}

/** A type as named in an interface, an independent encoder for its values, and random values as written and as read. */
type Sample = {
  idl: unknown;
  types: readonly object[];
  encoder: Encoder<unknown>;
  value: fc.Arbitrary<{ given: unknown; read: BorshValue }>;
  /** For types whose values are lists: an option then is a list that contains the value. */
  isList?: true;
};

const leaf = <Value>(
  idl: string,
  encoder: Encoder<Value>,
  value: fc.Arbitrary<Value>,
  read: (value: Value) => BorshValue,
) =>
  ({
    idl,
    types: [],
    encoder: encoder as Encoder<unknown>,
    value: value.map((given) => ({ given, read: read(given) })),
  }) satisfies Sample;

const unsigned = (bits: number, encoder: Encoder<bigint | number>) =>
  leaf(`u${bits}`, encoder, fc.bigInt(0n, 2n ** BigInt(bits) - 1n), BigInt);
const signed = (bits: number, encoder: Encoder<bigint | number>) =>
  leaf(`i${bits}`, encoder, fc.bigInt(-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n), BigInt);

const prefixed = <Value>(encoder: Encoder<Value>) => addEncoderSizePrefix(encoder, getU32Encoder());
const smallInteger = (encoder: Encoder<number>) => transformEncoder(encoder, (value: bigint | number) => Number(value));

const leaves: Sample[] = [
  leaf("bool", getBooleanEncoder(), fc.boolean(), (value) => value),
  unsigned(8, smallInteger(getU8Encoder())),
  unsigned(16, smallInteger(getU16Encoder())),
  unsigned(32, smallInteger(getU32Encoder())),
  unsigned(64, getU64Encoder()),
  unsigned(128, getU128Encoder()),
  unsigned(256, getU256Encoder()),
  signed(8, smallInteger(getI8Encoder())),
  signed(16, smallInteger(getI16Encoder())),
  signed(32, smallInteger(getI32Encoder())),
  signed(64, getI64Encoder()),
  signed(128, getI128Encoder()),
  signed(256, getI256Encoder()),
  leaf("string", prefixed(getUtf8Encoder()), fc.string({ unit: "grapheme", maxLength: 10 }), (value) => value),
  leaf("bytes", prefixed(getBytesEncoder()), fc.uint8Array({ maxLength: 10 }), (value) =>
    toHex(Uint8Array.from(value)),
  ),
  ...["pubkey", "publicKey"].map((name) =>
    leaf(
      name,
      getAddressEncoder(),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => getAddressDecoder().decode(bytes)),
      (value) => value,
    ),
  ),
];

const listOf = (item: Sample, length: fc.ArrayConstraints): Sample["value"] =>
  fc.array(item.value, length).map((items) => ({
    given: items.map(({ given }) => given),
    read: items.map(({ read }) => read),
  }));

let names = 0;
const freshName = () => `T${names++}`;

const vec = (item: Sample): Sample => ({
  idl: { vec: item.idl },
  types: item.types,
  encoder: getArrayEncoder(item.encoder) as Encoder<unknown>,
  value: listOf(item, { maxLength: 4 }),
  isList: true,
});

const array = (item: Sample, length: number): Sample => ({
  idl: { array: [item.idl, length] },
  types: item.types,
  encoder: getArrayEncoder(item.encoder, { size: length }) as Encoder<unknown>,
  value: listOf(item, { minLength: length, maxLength: length }),
  isList: true,
});

const option = (item: Sample): Sample => ({
  idl: { option: item.idl },
  types: item.types,
  // Kit needs another wrapping for nested options.
  encoder: getTagged(item.encoder),
  value: fc.option(item.value).map((some) => ({
    given: some === null ? [] : [some.given],
    read: some === null ? [] : item.isList === true ? [some.read] : some.read,
  })),
  isList: true,
});

const getTagged = (item: Encoder<unknown>): Encoder<unknown> =>
  getArrayEncoder(item, { size: getU8Encoder() }) as Encoder<unknown>;

const together = (items: readonly Sample[]) => fc.tuple(...items.map(({ value }) => value));

const tuple = (items: readonly Sample[]): Sample => ({
  idl: { tuple: items.map(({ idl }) => idl) },
  types: items.flatMap(({ types }) => types),
  encoder: getTupleEncoder(items.map(({ encoder }) => encoder)) as Encoder<unknown>,
  value: together(items).map((values) => ({
    given: values.map(({ given }) => given),
    read: values.map(({ read }) => read),
  })),
  isList: true,
});

function struct(items: readonly Sample[]): Sample {
  const name = freshName();
  const fields = items.map(({ idl }, index) => ({ name: `f${index}`, type: idl }));
  return {
    idl: { defined: { name } },
    types: [...items.flatMap(({ types }) => types), { name, type: { kind: "struct", fields } }],
    encoder: getStructEncoder(
      items.map(({ encoder }, index) => [`f${index}`, encoder] as const),
    ) as unknown as Encoder<unknown>,
    value: together(items).map((values) => ({
      given: Object.fromEntries(values.map(({ given }, index) => [`f${index}`, given])),
      read: Object.fromEntries(values.map(({ read }, index) => [`f${index}`, read])),
    })),
  };
}

/** Each item becomes three variants: without fields, with the item in a tuple, and with the item as a named field. */
function variants(items: readonly Sample[]): Sample {
  const name = freshName();
  const shapes = items.flatMap(({ idl, value, encoder }, index) => [
    { variant: { name: `Unit${index}` }, value: fc.constant({ given: undefined, read: `Unit${index}` }) },
    {
      variant: { name: `Tuple${index}`, fields: [idl] },
      encoder,
      value: value.map(({ given, read }) => ({ given, read: { [`Tuple${index}`]: [read] } })),
    },
    {
      variant: { name: `Named${index}`, fields: [{ name: "a", type: idl }] },
      encoder,
      value: value.map(({ given, read }) => ({ given, read: { [`Named${index}`]: { a: read } } })),
    },
  ]);
  const bytesOf = ({ tag, given }: { tag: number; given: unknown }) =>
    Buffer.concat([Buffer.of(tag), (shapes[tag]?.encoder?.encode(given) ?? Buffer.alloc(0)) as Uint8Array]);
  return {
    idl: { defined: name },
    types: [
      ...items.flatMap(({ types }) => types),
      { name, type: { kind: "enum", variants: shapes.map(({ variant }) => variant) } },
    ],
    encoder: transformEncoder(getBytesEncoder(), bytesOf) as Encoder<unknown>,
    value: fc.oneof(
      ...shapes.map(({ value }, tag) => value.map(({ given, read }) => ({ given: { tag, given }, read }))),
    ) as Sample["value"],
  };
}

const { sample } = fc.letrec<{ sample: Sample }>((tie) => {
  const some = fc.array(tie("sample"), { minLength: 1, maxLength: 3 });
  return {
    sample: fc.oneof(
      { maxDepth: 3, depthSize: "medium" },
      fc.constantFrom(...leaves),
      tie("sample").map(vec),
      fc.tuple(tie("sample"), fc.integer({ min: 1, max: 3 })).map(([item, length]) => array(item, length)),
      tie("sample").map(option),
      some.map(tuple),
      some.map(struct),
      some.map(variants),
    ),
  };
});

test("random values of random types, written by Solana's own library", () => {
  const withValue = sample.chain((each) => each.value.map((value) => ({ each, value })));
  fc.assert(
    fc.property(withValue, fc.nat(), ({ each: { idl, types, encoder }, value: { given, read } }, cut) => {
      const data = Buffer.from(encoder.encode(given) as Uint8Array);
      assert.deepEqual(decode(data, idl, types), { x: read });
      assert.equal(decode(Buffer.concat([data, Buffer.of(0)]), idl, types), undefined, "a byte too many");
      if (data.length > 0) assert.equal(decode(data.subarray(0, cut % data.length), idl, types), undefined, "cut off");
    }),
    { numRuns: 1000 },
  );
});

test("options of the C layout", () => {
  const written = (value: bigint | null) =>
    Buffer.from(
      getOptionEncoder(getU64Encoder(), { prefix: getU32Encoder(), noneValue: "zeroes" }).encode(value) as Uint8Array,
    );
  assert.deepEqual(decode(written(5n), { coption: "u64" }), { x: 5n });
  assert.deepEqual(decode(written(null), { coption: "u64" }), { x: [] });
  assert.equal(decode(written(null).fill(1, 11), { coption: "u64" }), undefined);
  assert.equal(decode(written(5n).fill(2, 0, 1), { coption: "u64" }), undefined);
  assert.deepEqual(decode(Buffer.of(1, 0, 0, 0, 1, 0), { coption: { array: ["bool", 2] } }), { x: [[true, false]] });
  assert.deepEqual(decode(Buffer.alloc(36), { coption: "pubkey" }), { x: [] });
  assert.equal(decode(Buffer.alloc(8), { coption: "string" }), undefined);
});

test("one value has one spelling", () => {
  assert.equal(decode(Buffer.of(2), "bool"), undefined);
  assert.equal(decode(Buffer.of(2, 5), { option: "u8" }), undefined);
  assert.equal(decode(Buffer.of(1, 0, 0, 0, 0xff), "string"), undefined);
  assert.equal(
    decode(Buffer.of(1), { defined: "E" }, [{ name: "E", type: { kind: "enum", variants: [{ name: "A" }] } }]),
    undefined,
  );
});

test("nothing is told apart from something", () => {
  const listed = { option: { vec: "u8" } };
  assert.deepEqual(decode(Buffer.of(0), listed), { x: [] });
  assert.deepEqual(decode(Buffer.of(1, 0, 0, 0, 0), listed), { x: [[]] });
  assert.deepEqual(decode(Buffer.of(1, 0), { option: { option: "u8" } }), { x: [[]] });
  const alias = [{ name: "L", type: { kind: "alias", value: { vec: "u8" } } }];
  assert.deepEqual(decode(Buffer.of(1, 0, 0, 0, 0), { option: { defined: "L" } }, alias), { x: [[]] });
  const tupleStruct = [{ name: "L", type: { kind: "struct", fields: ["u8"] } }];
  assert.deepEqual(decode(Buffer.of(1, 7), { option: { defined: { name: "L" } } }, tupleStruct), { x: [[7n]] });
});

test("what is not decoded makes the whole undecodable", () => {
  for (const type of ["f32", "f64", { hashMap: ["u8", "u8"] }, { generic: "T" }, { array: ["u8", { generic: "N" }] }]) {
    assert.equal(decode(Buffer.alloc(0), type), undefined);
  }
  const shape = { kind: "struct", fields: [] };
  assert.deepEqual(decode(Buffer.alloc(0), { defined: "S" }, [{ name: "S", type: shape }]), { x: {} });
  for (const odd of [
    { serialization: "bytemuck" },
    { serialization: { custom: "x" } },
    { generics: [{ kind: "type", name: "T" }] },
  ]) {
    assert.equal(decode(Buffer.alloc(0), { defined: "S" }, [{ name: "S", type: shape, ...odd }]), undefined);
  }
});

test("types without end, and values without bytes, cost little", () => {
  const endless = [
    { name: "Own", type: { kind: "struct", fields: [{ name: "own", type: { defined: "Own" } }] } },
    { name: "Alias", type: { kind: "alias", value: { defined: "Alias" } } },
    {
      name: "Wide",
      type: { kind: "struct", fields: [1, 2, 3].map((each) => ({ name: `w${each}`, type: { defined: "Wide" } })) },
    },
    { name: "Unit", type: { kind: "struct" } },
    { name: "Node", type: { kind: "struct", fields: [{ name: "next", type: { option: { defined: "Node" } } }] } },
  ];
  const zeroes = Buffer.alloc(0);
  for (const name of ["Own", "Alias", "Wide"]) assert.equal(decode(zeroes, { defined: name }, endless), undefined);
  for (const name of ["Own", "Alias"]) {
    assert.equal(decode(Buffer.of(1), { option: { defined: name } }, endless), undefined);
    assert.equal(decode(Buffer.alloc(4), { coption: { defined: name } }, endless), undefined);
  }
  assert.equal(decode(Buffer.alloc(4, 0xff), { vec: { defined: "Unit" } }, endless), undefined);
  assert.equal(decode(zeroes, { array: [{ array: ["u8", 0] }, Number.MAX_SAFE_INTEGER] }, endless), undefined);
  assert.equal(decode(zeroes, { array: [{ array: [{ defined: "Unit" }, 2000] }, 2000] }, endless), undefined);
  assert.equal(decode(Buffer.alloc(1200, 1), { defined: "Node" }, endless), undefined);
  assert.deepEqual(decode(Buffer.of(1, 0), { defined: "Node" }, endless), { x: { next: { next: [] } } });
});

test("names may be anything", () => {
  const fields = ["__proto__", "constructor", "toString"].map((name) => ({ name, type: "u8" }));
  const decoded = decode(Buffer.of(1, 2, 3), { defined: "S" }, [{ name: "S", type: { kind: "struct", fields } }]);
  assert.deepEqual(Object.entries(decoded?.x ?? {}), [
    ["__proto__", 1n],
    ["constructor", 2n],
    ["toString", 3n],
  ]);
});

test("any data are decoded or undecodable, never a crash", () => {
  const data = fc.uint8Array({ maxLength: 200 });
  fc.assert(fc.property(sample, data, ({ idl, types }, bytes) => void decode(bytes, idl, types)));
});
