import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { it } from "node:test";
import { seal, unseal } from "./seal.ts";

const key = randomBytes(32);
const context = ["key", "organization", "id", "curve"];
const secret = Buffer.from("a secret of some length");

it("opens with the same key and context", () => {
  assert.deepEqual(unseal(key, context, seal(key, context, secret)), secret);
});

it("never seals twice alike", () => {
  assert.notEqual(seal(key, context, secret), seal(key, context, secret));
});

it("does not open with another key, in another place, or altered in any byte", () => {
  const sealed = seal(key, context, secret);
  assert.equal(unseal(randomBytes(32), context, sealed), undefined);
  for (const [index] of context.entries()) {
    const moved = context.map((part, at) => (at === index ? `${part}x` : part));
    assert.equal(unseal(key, moved, sealed), undefined);
  }
  const bytes = Buffer.from(sealed, "base64");
  for (let at = 0; at < bytes.length; at++) {
    const altered = Buffer.from(bytes);
    altered[at] = (altered[at] as number) ^ 1;
    assert.equal(unseal(key, context, altered.toString("base64")), undefined, `byte ${at}`);
  }
  for (const length of [0, 1, 28]) {
    assert.equal(unseal(key, context, bytes.subarray(0, length).toString("base64")), undefined);
  }
});
