import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type AbiParameter, decodeAbiParameters, encodeAbiParameters, getAddress } from "viem";
import { toHex } from "../../kernel/bytes.ts";
import { type AbiValue, decodeAbi, parseAbiType, signatureOf } from "./abi.ts";
import { refusalOf } from "./payload.ts";

type Parameter = { type: string; components?: readonly Parameter[] };
type Typed = { parameter: Parameter; value: AbiValue };

const refuse = refusalOf("contract", "JSON ABI");
const typeOf = (parameter: unknown) => parseAbiType(parameter, "it", refuse);
const types = (...names: string[]) => names.map((type) => typeOf({ type }));
const words = (...each: (string | number | bigint)[]): Buffer =>
  Buffer.from(
    each.map((word) => (typeof word === "string" ? word : word.toString(16).padStart(64, "0"))).join(""),
    "hex",
  );
const left = (hex: string) => hex.padEnd(64, "0");

const encode = (parameters: readonly Parameter[], values: readonly AbiValue[]): Buffer =>
  Buffer.from(encodeAbiParameters(parameters as AbiParameter[], values).slice(2), "hex");

const hexOf = (minLength: number, maxLength = minLength) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => `0x${toHex(bytes)}`);

function integerOf(signed: boolean, bits: number): fc.Arbitrary<Typed> {
  const top = 1n << BigInt(signed ? bits - 1 : bits);
  return fc
    .bigInt({ min: signed ? -top : 0n, max: top - 1n })
    .map((value) => ({ parameter: { type: `${signed ? "" : "u"}int${bits}` }, value }));
}

const plain = (type: string, values: fc.Arbitrary<AbiValue>): fc.Arbitrary<Typed> =>
  values.map((value) => ({ parameter: { type }, value }));

const elementary: fc.Arbitrary<Typed> = fc.oneof(
  fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 32 })).chain(([signed, bytes]) => integerOf(signed, 8 * bytes)),
  fc.integer({ min: 1, max: 32 }).chain((length) => plain(`bytes${length}`, hexOf(length))),
  plain("address", hexOf(20)),
  plain("bool", fc.boolean()),
  plain("bytes", hexOf(0, 70)),
  plain("string", fc.string({ unit: "grapheme", maxLength: 40 })),
);

/** Arrays repeat one value or one shape of values, so that their elements have the same type. */
const typed: fc.Arbitrary<Typed> = fc.letrec<{ typed: Typed }>((tie) => ({
  typed: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    elementary,
    fc
      .tuple(tie("typed"), fc.option(fc.integer({ min: 1, max: 3 })), fc.nat({ max: 3 }))
      .map(([{ parameter, value }, fixed, count]) => ({
        parameter: { ...parameter, type: `${parameter.type}[${fixed ?? ""}]` },
        value: Array.from({ length: fixed ?? count }, () => value),
      })),
    fc.array(tie("typed"), { minLength: 1, maxLength: 4 }).map((members) => ({
      parameter: { type: "tuple", components: members.map(({ parameter }) => parameter) },
      value: members.map(({ value }) => value),
    })),
  ),
})).typed;

const call = fc.array(typed, { maxLength: 5 }).map((all) => ({
  parameters: all.map(({ parameter }) => parameter),
  values: all.map(({ value }) => value),
}));

test("random values that viem encodes are decoded to themselves", () => {
  fc.assert(
    fc.property(call, ({ parameters, values }) => {
      assert.deepEqual(decodeAbi(parameters.map(typeOf), encode(parameters, values)), values);
    }),
    { numRuns: 1000 },
  );
});

test("changed encodings are refused, or are the encoding of what they are decoded to, which viem decodes the same", () => {
  const outcomes = { decoded: 0, refused: 0 };
  const changed = fc.tuple(call, fc.nat(), fc.uint8Array({ maxLength: 2 })).filter(([{ values }]) => values.length > 0);
  fc.assert(
    fc.property(changed, ([{ parameters, values }, position, bytes]) => {
      const encoded = encode(parameters, values);
      const at = position % encoded.length;
      const data = Buffer.concat([encoded.subarray(0, at), bytes, encoded.subarray(at + 1)]);
      const decoded = decodeAbi(parameters.map(typeOf), data);
      outcomes[decoded === undefined ? "refused" : "decoded"]++;
      if (decoded === undefined) return;
      assert.deepEqual(encode(parameters, decoded), data);
      const theirs = decodeAbiParameters(parameters as AbiParameter[], `0x${toHex(data)}`);
      assert.deepEqual(theirs.map(oneSpelling), decoded);
    }),
    { numRuns: 3000 },
  );
  assert(outcomes.decoded > 100 && outcomes.refused > 100, JSON.stringify(outcomes));
});

/** viem's values in this module's form: viem writes addresses with checksums, and small integers as numbers. */
function oneSpelling(value: unknown): unknown {
  if (typeof value === "number") return BigInt(value);
  if (typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value) && getAddress(value) === value) {
    return value.toLowerCase();
  }
  return Array.isArray(value) ? value.map(oneSpelling) : value;
}

test("any bytes are decoded or refused, never a crash", () => {
  fc.assert(
    fc.property(fc.array(typed, { maxLength: 3 }), fc.uint8Array({ maxLength: 300, size: "max" }), (all, data) => {
      decodeAbi(
        all.map(({ parameter }) => typeOf(parameter)),
        data,
      );
    }),
    { numRuns: 1000 },
  );
});

test("what is not the strict encoding is refused", () => {
  const refused: Record<string, [string[], Buffer]> = {
    "nothing where a word is needed": [["uint256"], Buffer.alloc(0)],
    "half a word": [["uint256"], Buffer.alloc(16)],
    "a word too many": [["uint256"], words(1, 0)],
    "a byte too many": [["uint256"], Buffer.alloc(33)],
    "bytes for no parameters": [[], words(0)],
    "uint8 of 256": [["uint8"], words(256)],
    "int8 of 128": [["int8"], words(128)],
    "int8 of -129": [["int8"], words(2n ** 256n - 129n)],
    "int8 of -1 without its sign extended": [["int8"], words(255)],
    "bool of 2": [["bool"], words(2)],
    "address with dirty bytes before it": [["address"], words(2n ** 160n)],
    "bytes4 with dirty bytes after it": [["bytes4"], words(left("a9059cbb01"))],
    "bytes with dirty padding": [["bytes"], words(32, 1, left("0102"))],
    "bytes without padding": [["bytes"], Buffer.concat([words(32, 1), Buffer.of(1)])],
    "bytes with a length beyond the end": [["bytes"], words(32, 33, left("01"))],
    "bytes with a length of 2^255": [["bytes"], words(32, 2n ** 255n, 0)],
    "bytes with a length of -1": [["bytes"], words(32, 2n ** 256n - 1n, 0)],
    "bytes with a word too many": [["bytes"], words(32, 1, left("01"), 0)],
    "an offset beyond the end": [["bytes"], words(64, 0)],
    "an offset of 2^256 - 32": [["bytes"], words(2n ** 256n - 32n, 0)],
    "an offset to itself": [["bytes"], words(0)],
    "an offset that leaves a gap": [["bytes"], words(64, 7, 0)],
    "two offsets to one place": [["bytes", "bytes"], words(64, 64, 0)],
    "tails in another order": [["bytes", "bytes"], words(96, 64, 0, 0)],
    "text that is not UTF-8": [["string"], words(32, 1, left("ff"))],
    "text with half a character": [["string"], words(32, 1, left("c3"))],
    "text with a surrogate": [["string"], words(32, 3, left("eda080"))],
    "more elements than there is data": [["uint256[]"], words(32, 2, 1)],
    "2^64 elements": [["uint256[]"], words(32, 2n ** 64n)],
    "fewer elements than the type has": [["uint256[3]"], words(1, 2)],
    "an endless fixed array": [["uint256[999999999999999][999999999999999][999999999999999]"], words(1)],
    "an endless fixed array of bytes": [["bytes[999999999999999]"], words(32, 1)],
  };
  for (const [name, [names, data]] of Object.entries(refused)) {
    assert.equal(decodeAbi(types(...names), data), undefined, name);
  }
});

test("arrays that contain themselves take no more work than their bytes", () => {
  const depth = 16;
  const data = words(...Array.from({ length: 200 }, () => 32));
  assert.equal(decodeAbi(types(`uint256${"[]".repeat(depth)}`), data), undefined);
});

test("values at the ends of their ranges", () => {
  const decoded = decodeAbi(
    types("int8", "int256", "uint8", "bool", "function", "string"),
    words(2n ** 256n - 128n, 1n << 255n, 255, 1, left(`${"ab".repeat(20)}a9059cbb`), 192, 3, left("efbbbf")),
  );
  assert.deepEqual(decoded, [-128n, -(1n << 255n), 255n, true, `0x${"ab".repeat(20)}a9059cbb`, "\ufeff"]);
});

test("names of types as signatures have them", () => {
  const components = [{ type: "address" }, { type: "tuple[2]", components: [{ type: "uint256[]" }] }];
  assert.equal(signatureOf(typeOf({ type: "tuple[][3]", components })), "(address,(uint256[])[2])[][3]");
  const elementary = ["bool", "uint8", "int256", "bytes", "bytes24", "function", "string", "address"];
  for (const type of elementary) assert.equal(signatureOf(typeOf({ type })), type);
});

test("types that no contract has are refused", () => {
  const refused: [unknown, string][] = [
    ["uint256", "it must be an object {name, type}"],
    [{}, "it.type must be the name of a type"],
    [{ type: "uint" }, 'it.type has the unknown type "uint"; write "uint256"'],
    [{ type: "uint7" }, 'it.type has the unknown type "uint7"'],
    [{ type: "int264" }, 'it.type has the unknown type "int264"'],
    [{ type: "bytes33" }, 'it.type has the unknown type "bytes33"'],
    [{ type: "fixed128x18" }, 'it.type has the unknown type "fixed128x18"'],
    [{ type: "Order" }, 'it.type has the unknown type "Order"'],
    [{ type: "uint256[" }, 'it.type has the malformed type "uint256["'],
    [{ type: "uint256[0]" }, 'it.type has the malformed type "uint256[0]"'],
    [{ type: "uint256[-1]" }, 'it.type has the malformed type "uint256[-1]"'],
    [{ type: "uint256[] " }, 'it.type has the malformed type "uint256[] "'],
    [{ type: `bool${"[]".repeat(17)}` }, "it.type has more than 16 dimensions"],
    [{ type: "tuple" }, "it.components must list the members of the tuple"],
    [{ type: "tuple[]", components: [] }, "it.components must list the members of the tuple"],
    [{ type: "tuple", components: [{ type: "x" }] }, 'it.components[0].type has the unknown type "x"'],
  ];
  for (const [parameter, reason] of refused) {
    const message = `invalid request body: \`contract\` is not valid JSON ABI: ${reason}`;
    assert.throws(() => typeOf(parameter), { code: "FIELD_INVALID", message });
  }
});
