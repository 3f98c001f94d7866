import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { canonicalJson, parseJson, parseJsonInTurns, stringifyInTurns } from "./json.ts";
import { LARGE_JSON_BYTES, MAX_JSON_MEMBERS, MAX_JSON_NAMES, MAX_JSON_VALUES } from "./limits.ts";

const parse = (text: string): unknown => parseJson(Buffer.from(text));

it("reads what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6, noUnicodeString: false }), (value) => {
      fc.pre(!JSON.stringify(value).includes("__proto__") && !JSON.stringify(value).includes("\\u"));
      assert.deepEqual(parse(JSON.stringify(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

it("refuses what two readers could read in two ways, or none could store", () => {
  const cases: [string, RegExp][] = [
    ["", /it is empty/],
    ["{", /not valid JSON/],
    ['{"a":1,"a":2}', /`a` occurs twice/],
    ['{"a":1,"\\u0061":2}', /`a` occurs twice/],
    ['{"x":{"b":1,"c":[{"d":1,"d":2}]}}', /`d` occurs twice/],
    ['{"__proto__":{}}', /__proto__/],
    ['{"\\u005f_proto__":{}}', /__proto__/],
    ['{"a":{"b":"x\\u0000"}}', /`a\.b` holds a NUL/],
    ['{"a":["\\ud800"]}', /`a\.0` holds a lone surrogate/],
    ['{"\\udc00":1}', /lone surrogate/],
    ["[".repeat(65) + "]".repeat(65), /deeper than 64/],
    ["[".repeat(100_000), /not valid JSON/],
    [`["${"a".repeat(200_000)}`, /not valid JSON/],
    [`["${"\\".repeat(200_001)}"`, /not valid JSON/],
  ];
  for (const [text, message] of cases) assert.throws(() => parse(text), message, text.slice(0, 60));
  assert.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), /not valid UTF-8/);
});

it("bounds the number of values, before anything else looks at them", () => {
  const most = `[${Array(MAX_JSON_VALUES).fill("1").join()}]`;
  assert.equal((parse(most) as unknown[]).length, MAX_JSON_VALUES);
  const million = (entry: string) => `{"parameters":{"ids":[${Array(1_000_000).fill(entry).join()}]}}`;
  for (const text of [`${most.slice(0, -1)},1]`, million("{}"), million('""')]) {
    assert.throws(() => parse(text), /holds more than 100000 values/, text.slice(0, 60));
  }
  assert.ok(parse(JSON.stringify(",".repeat(MAX_JSON_VALUES + 1))));
});

it("bounds the members of one object, however their names are written", () => {
  const members = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => `"${name}${index}":${index}`).join();
  for (const name of ["k", "\\u006b", "k".repeat(200)]) {
    for (const inside of [(object: string) => object, (object: string) => `[{"a":[${object}]}]`]) {
      assert.ok(parse(inside(`{${members(MAX_JSON_MEMBERS, name)}}`)));
      for (const more of [1, 50_000]) {
        const text = inside(`{${members(MAX_JSON_MEMBERS + more, name)}}`);
        assert.throws(() => parse(text), /has more than 1000 members|more than 20000 names/, text.slice(0, 60));
      }
    }
  }
});

it("bounds the names that differ, and not how often one comes", () => {
  const object = (names: number, first: number) =>
    `{${Array.from({ length: names }, (_, index) => `"name:${first + index}":"a:b"`).join()}}`;
  const objects = (names: number) =>
    `[${Array.from({ length: names / 100 }, (_, index) => object(100, 100 * index)).join()}]`;
  assert.ok(parse(objects(MAX_JSON_NAMES)));
  assert.throws(() => parse(objects(MAX_JSON_NAMES + 100)), /more than 20000 names of members that differ/);
  assert.ok(parse(`[${Array(900).fill(object(100, 0)).join()}]`));
});

it("writes what JSON.stringify writes, down to any level", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.nat(5), async (value, levels) => {
      assert.equal(await stringifyInTurns(value, levels), JSON.stringify(value));
    }),
  );
  assert.equal(await stringifyInTurns({ a: undefined, b: [{ c: undefined, d: 1 }] }, 3), '{"b":[{"d":1}]}');
});

it("reads the same in turns, and lets others have theirs", async () => {
  const member = (index: number) => ({ [`a\n${index}`]: `\u20ac\\"${"x".repeat(30)}`, b: [index, null, true] });
  const value = Array.from({ length: 10_000 }, (_, index) => member(index));
  for (const [text, least] of [
    [JSON.stringify(value), 3],
    [JSON.stringify(value).padEnd(8 * LARGE_JSON_BYTES), 3],
    [JSON.stringify("x".repeat(4_000_000)), 1],
    [JSON.stringify(value.slice(0, 10)), 0],
  ] as const) {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const parsed = await parseJsonInTurns(Buffer.from(text));
    isDone = true;
    assert.deepEqual(parsed, JSON.parse(text));
    assert.ok(turns >= least, `${turns} turns for ${text.length} characters`);
  }
  await assert.rejects(parseJsonInTurns(Buffer.from(`{"a":1,"a":"${"x".repeat(LARGE_JSON_BYTES)}"}`)), /occurs twice/);
});

it("lets pass what only looks alike", () => {
  assert.deepEqual(parse('{"a":{"k":1},"b":{"k":2},"c":["k","k"],"d":"\\"k\\":1,\\"k\\""}'), {
    a: { k: 1 },
    b: { k: 2 },
    c: ["k", "k"],
    d: '"k":1,"k"',
  });
  assert.equal(parse('"\\ud83d\\ude00"'), "😀");
  assert.ok(Array.isArray(parse("[".repeat(64) + "]".repeat(64))));
});

it("spells a value in one way", () => {
  const shuffled = { b: 1, a: [true, null, { d: "\u20ac", c: 1e21 }], "\u20ac": "x\n", gone: undefined };
  assert.equal(canonicalJson(shuffled), '{"a":[true,null,{"c":1e+21,"d":"\u20ac"}],"b":1,"\u20ac":"x\\n"}');
  // RFC 8785, section 3.2.3: by UTF-16 units, so that a surrogate pair comes before U+FB33.
  const sorted = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
  const object = Object.fromEntries(sorted.toReversed().map((key) => [key, 0]));
  assert.equal(canonicalJson(object), `{${sorted.map((key) => `${JSON.stringify(key)}:0`).join(",")}}`);
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});
