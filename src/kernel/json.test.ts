import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { canonicalJson, parseJson } from "./json.ts";
import { MAX_JSON_VALUES } from "./limits.ts";

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
    ['{"a":1,"a":2}', /`a` is there twice/],
    ['{"a":1,"\\u0061":2}', /`a` is there twice/],
    ['{"x":{"b":1,"c":[{"d":1,"d":2}]}}', /`d` is there twice/],
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
  const members = Array.from({ length: MAX_JSON_VALUES }, (_, index) => `"k${index}":1`);
  for (const text of [`${most.slice(0, -1)},1]`, million("{}"), million('""'), `{${members.join()},"one":1}`]) {
    assert.throws(() => parse(text), /holds more than 100000 values/, text.slice(0, 60));
  }
  assert.ok(parse(JSON.stringify(",".repeat(MAX_JSON_VALUES + 1))));
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
