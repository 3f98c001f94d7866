import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { Type } from "typebox";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { claimsOf, openTokenWith } from "./signed-tokens.ts";

/** Tokens without a database: whatever key they are verified with, it is given. */

const form = {
  header: { alg: "ES256", typ: "one-kind" },
  claims: Type.Object({ id: Type.String(), exp: Type.Integer() }),
};
const claims = { id: "1", exp: 5 };

function newKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = privateKey.export({ format: "jwk" });
  const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
  const publicKey = `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`;
  const token = (header: object, said: object) => {
    const input = signingInput(header, said);
    return compactToken(input, sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" }));
  };
  return { publicKey, token };
}

const [key, another] = [newKey(), newKey()];
const open = (token: string, publicKeys = [key.publicKey]) => openTokenWith(publicKeys, form, token);

test("a token gives its claims if any of the keys signed it", async () => {
  const token = key.token(form.header, claims);
  assert.deepEqual(await open(token), claims);
  assert.deepEqual(await open(token, [another.publicKey, key.publicKey]), claims);
  assert.deepEqual(claimsOf(token, form.header, form.claims), claims);
  assert.equal(await open(token, [another.publicKey]), undefined);
  assert.equal(await open(token, []), undefined);
});

test("a signed token of another kind, or with other claims, is none", async () => {
  for (const [header, said] of [
    [{ alg: "ES256", typ: "another-kind" }, claims],
    [{ alg: "ES256" }, claims],
    [{ typ: "one-kind", alg: "ES256" }, claims],
    [{ ...form.header, kid: "1" }, claims],
    [form.header, { id: "1" }],
    [form.header, { ...claims, exp: "5" }],
    [form.header, []],
  ] as const) {
    const token = key.token(header, said);
    assert.equal(await open(token), undefined, JSON.stringify([header, said]));
    assert.equal(claimsOf(token, form.header, form.claims), undefined);
  }
});

test("other text is none, however much of a token it is", async () => {
  const token = key.token(form.header, claims);
  const [header = "", payload = "", signature = ""] = token.split(".");
  const of = (...parts: string[]) => parts.join(".");
  const base64Url = (text: string) => Buffer.from(text).toString("base64url");
  for (const text of [
    "",
    "..",
    of(header, payload),
    of(header, payload, ""),
    of(header, payload, signature.slice(1)),
    of(header, payload, signature, ""),
    of(header, payload, `${signature.slice(0, -4)}====`),
    of(header, base64Url("not JSON"), signature),
    of(header, base64Url("null"), signature),
    of(header, base64Url(JSON.stringify({ ...claims, exp: 6 })), signature),
    of(header, payload, Buffer.alloc(64).toString("base64url")),
    ` ${token}`,
    `${token}\n`,
  ]) {
    assert.equal(await open(text), undefined, text);
  }
});

test("a token is at most 4096 characters long", async () => {
  const sized = (length: number) => {
    // Base64url has no padding, so that not every length can be had.
    for (let id = "1".repeat(length / 2); ; id += "1") {
      const token = key.token(form.header, { ...claims, id });
      if (token.length >= length) return token;
    }
  };
  const longest = sized(4095);
  assert.ok(longest.length <= 4096, `${longest.length}`);
  assert.ok(await open(longest));
  const tooLong = sized(4097);
  assert.ok(tooLong.length < 4100, `${tooLong.length}`);
  assert.equal(await open(tooLong), undefined);
});
