import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJsonObject, stringField } from "./json-object.ts";

function refuse(reason: string): never {
  throw new Error(reason);
}

test("an object is returned as it is written", () => {
  assert.deepEqual(parseJsonObject(Buffer.from('{"a":"b","c":null}'), refuse), { a: "b", c: null });
});

test("every fault is told in the caller's own error, without words about a request body", () => {
  const reasons: Record<string, string> = {
    "": "it is empty; send a JSON object",
    "{": "it is not valid JSON",
    "[{}]": "it is not a JSON object",
    '"text"': "it is not a JSON object",
    '"\\u0000"': "the value holds a NUL character",
    '{"a":1,"a":1}': "`a` occurs twice in one object",
    '{"a: b":1,"a: b":1}': "`a: b` occurs twice in one object",
  };
  for (const [json, message] of Object.entries(reasons)) {
    assert.throws(() => parseJsonObject(Buffer.from(json), refuse), { message });
  }
});

test("a field is its own string, not an inherited one", () => {
  assert.equal(stringField({ a: "" }, "a", refuse), "");
  assert.throws(() => stringField({}, "toString", refuse), { message: "`toString` is missing" });
  assert.throws(() => stringField({ a: undefined }, "a", refuse), { message: "`a` is missing" });
  for (const a of [null, 1, true, {}, ["x"]]) {
    assert.throws(() => stringField({ a }, "a", refuse), { message: "`a` must be a string" });
  }
});
