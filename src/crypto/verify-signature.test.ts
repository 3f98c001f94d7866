import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { verifySignature } from "./verify-signature.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const data = Buffer.from("data");
const signature = sign(null, data, privateKey);

test("a right signature is true, a wrong one false", async () => {
  assert.equal(await verifySignature(null, data, publicKey, signature), true);
  assert.equal(await verifySignature(null, Buffer.from("date"), publicKey, signature), false);
});

test("the data may be overwritten once the call has been made", async () => {
  const reused = Buffer.from(data);
  const verdict = verifySignature(null, reused, publicKey, signature);
  reused.fill(0);
  assert.equal(await verdict, true);
});

test("what node:crypto throws for is false", async () => {
  assert.equal(await verifySignature("sha256", data, publicKey, signature), false);
  assert.equal(await verifySignature(null, data, {} as typeof publicKey, signature), false);
  assert.equal(await verifySignature(null, undefined as unknown as Uint8Array, publicKey, signature), false);
  const other = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }));
  assert.equal(await verifySignature(null, data, other, Buffer.alloc(0)), false);
});
