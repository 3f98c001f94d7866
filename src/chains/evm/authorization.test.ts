import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { toHex } from "../../kernel/bytes.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { hashAuthorization, parseAuthorization } from "./authorization.ts";

type Case = { name: string; data?: unknown; text?: string; hash: string; reason: string };

const vectors = (name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/eip7702/${name}.json`, import.meta.url), "utf8")).cases;

test("EIP-7702: valid vectors", () => {
  const cases = vectors("valid");
  assert(cases.length >= 15);
  for (const { name, data, hash } of cases) {
    const authorization = parseAuthorization(JSON.stringify(data), "parameters.payload");
    assert.equal(`0x${toHex(hashAuthorization(authorization))}`, hash, name);
  }
});

test("EIP-7702: invalid vectors", () => {
  const cases = vectors("invalid");
  assert(cases.length >= 19);
  for (const { name, data, text, reason } of cases) {
    const message = `invalid request body: \`parameters.payload\` is not valid EIP-7702 authorization: ${reason}`;
    assert.throws(
      () => parseAuthorization(text ?? JSON.stringify(data), "parameters.payload"),
      { code: "FIELD_INVALID", message },
      name,
    );
  }
});

test("the result is in one spelling", () => {
  const text = '{"address":"0x63C0C19a282a1B52b07dD5a65b58948A07DAE32B","chainId":"0x2105","nonce":7,"r":"0x1"}';
  assert.deepEqual(parseAuthorization(text, "x"), {
    address: "0x63c0c19a282a1b52b07dd5a65b58948a07dae32b",
    chainId: 8453n,
    nonce: 7n,
  });
});

test("any JSON is refused with FIELD_INVALID or accepted, never a crash", () => {
  const junk = fc.record({ address: fc.jsonValue(), chainId: fc.jsonValue(), nonce: fc.jsonValue() });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        junk.map((each) => JSON.stringify(each)),
      ),
      (text) => {
        try {
          parseAuthorization(text, "x");
        } catch (error) {
          assert(error instanceof KeysteadError && error.code === "FIELD_INVALID");
        }
      },
    ),
  );
});
