import assert from "node:assert/strict";
import { test } from "node:test";
import { ownValue, parsePayload, readAddress, readInteger, refusalOf } from "./payload.ts";

const refuse = refusalOf("parameters.payload", "thing");
const refused = (reason: string) => ({
  code: "FIELD_INVALID",
  message: `invalid request body: \`parameters.payload\` is not valid thing: ${reason}`,
});

test("a payload is a strict JSON object", () => {
  assert.deepEqual(parsePayload('{"a":[1]}', refuse), { a: [1] });
  assert.throws(() => parsePayload("[]", refuse), refused("it must be a JSON object"));
  assert.throws(() => parsePayload("{", refuse), refused("it is not valid JSON"));
  assert.throws(() => parsePayload('{"a b":1,"a b":2}', refuse), refused("`a b` occurs twice in one object"));
  assert.throws(() => parsePayload('{"a":"\udc00"}', refuse), refused("it holds a lone surrogate"));
});

test("a long place keeps its end", () => {
  const message = `invalid request body: \`parameters.payload\` is not valid thing: …${"a".repeat(254)}.z is missing`;
  assert.throws(() => refuse(`${"a".repeat(5000)}.z`, "is missing"), { message });
});

test("integers in their three spellings", () => {
  for (const value of [255, "255", "0xff", "0xFF", "0x00ff"]) assert.equal(readInteger(value, "n", refuse), 255n);
  assert.equal(readInteger("-1", "n", refuse), -1n);
  assert.equal(readInteger(-0, "n", refuse), 0n);
  assert.throws(
    () => readInteger(2 ** 53, "n", refuse),
    refused("n is a number above 2^53 that JSON cannot carry exactly; send it as a string"),
  );
});

test("addresses come out in lowercase", () => {
  assert.equal(readAddress(`0x${"Ab".repeat(20)}`, "a", refuse), `0x${"ab".repeat(20)}`);
  assert.throws(() => readAddress(undefined, "a", refuse), refused("a is missing"));
});

test("inherited keys are no values", () => {
  assert.equal(ownValue({}, "constructor"), undefined);
  assert.equal(ownValue({ constructor: 1 }, "constructor"), 1);
});
