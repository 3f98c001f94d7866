import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { parseJson } from "./json.ts";
import { findStringMember } from "./json-member.ts";

const find = (text: string): string | undefined => findStringMember(Buffer.from(text), "id");

it("finds a string at the top, wherever it stands", () => {
  const cases: [string, string | undefined][] = [
    ['{"id":"a"}', "a"],
    [' \n{ "id"\t:\r\n "a" }', "a"],
    ['{"x":{"id":"no","y":["}","]","{"]},"z":"\\"id\\":","id":"a"}', "a"],
    ['{"x":"\\\\","id":"a"}', "a"],
    ['{"x":-1.5e3,"y":null,"é":"é","id":"a"}', "a"],
    ['{"ID":"no","i":"no","idx":"no","id":"a"}', "a"],
    ['{"id":""}', ""],
    ['{"id":"first","id":"second"}', "first"],
    ["{}", undefined],
    ['{"x":{"id":"no"}}', undefined],
    ['{"x":["id","no"]}', undefined],
    ['[{"id":"no"}]', undefined],
    ['"id"', undefined],
    ["", undefined],
    ['{"id":null}', undefined],
    ['{"id":1}', undefined],
    ['{"id":["no"]}', undefined],
  ];
  for (const [text, expected] of cases) assert.equal(find(text), expected, text);
});

it("finds nothing where it would have to decode, or where there is no JSON", () => {
  for (const text of [
    '{"\\u0069d":"a","id":"b"}',
    '{"x\\n":1,"id":"b"}',
    '{"id":"\\u0061"}',
    '{"id" "a"}',
    '{"id":"a',
    '{"x":1 "id":"a"}',
    '{id:"a"}',
    '{"x":"\\',
    "{".repeat(1000),
    '{"x":[[[["id":"a"}',
  ]) {
    assert.equal(find(text), undefined, text);
  }
});

it("never finds anything but what the strict parser finds", () => {
  const often = <Value>(value: Value, ...seldom: Value[]) =>
    fc.oneof({ arbitrary: fc.constant(value), weight: 20 }, { arbitrary: fc.constantFrom(...seldom), weight: 1 });
  const key = fc.constantFrom("id", "id", "\\u0069d", "x\\\\", "x", "y", "", "é");
  const value = fc.oneof(
    fc.jsonValue().map((json) => JSON.stringify(json)),
    fc.constantFrom('"a"', '"b"', '"\\u0061"', "null", '{"id":"b"}', '["id",{"id":"c"}]', '"\\\\"', '"\\",\\"id\\":"'),
    often("1", "{", "}", '"', "]"),
  );
  const member = fc
    .tuple(often('"', "", '\\"'), key, often('"', ""), often(":", " : ", ""), value, often(",", ", ", "", ",,", "}"))
    .map((parts) => parts.join(""));
  let found = 0;
  fc.assert(
    fc.property(fc.array(member, { maxLength: 5 }), (members) => {
      const text = `{${members.join("").replace(/,\s*$/, "")}}`;
      let parsed: unknown;
      try {
        parsed = parseJson(Buffer.from(text));
      } catch {
        return;
      }
      const at = find(text);
      if (at === undefined) return;
      found++;
      assert.equal(at, (parsed as { id: string }).id, text);
    }),
    { numRuns: 20_000 },
  );
  assert.ok(found > 100, `${found} found`);
});

it("finds it in any object that is written without escapes in its names", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{0,5}$/), fc.jsonValue()), fc.uuid(), (object, id) => {
      assert.equal(find(JSON.stringify({ ...object, id })), id);
    }),
  );
});
