import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { provisioningDocument, provisioningText, readProvisioning } from "./provisioning.ts";

/** Statements about the key to which operators encrypt their shares of a quorum key: whoever forges one receives the shares. */

function newKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = privateKey.export({ format: "jwk" });
  const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
  const publicKey = `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`;
  const signed = (text: string) =>
    sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("hex");
  return { publicKey, signed };
}

const [key, another] = [newKey(), newKey()];
const stated = {
  deploymentId: "deployment",
  manifestHash: "ab".repeat(32),
  ephemeralPublicKey: `04${"cd".repeat(64)}`,
};
const signature = key.signed(provisioningText(stated));
const read = (document: string, publicKeys = [key.publicKey]) => readProvisioning(Buffer.from(document), publicKeys);

test("a statement that one of the installation's keys signed is read", () => {
  const document = provisioningDocument(stated, key.publicKey, signature);
  assert.deepEqual(read(document), stated);
  assert.deepEqual(read(document, [another.publicKey, key.publicKey]), stated);
});

test("nothing is read that another key signed, whichever key it names", () => {
  const foreign = another.signed(provisioningText(stated));
  for (const named of [key.publicKey, another.publicKey]) {
    assert.equal(read(provisioningDocument(stated, named, foreign)), undefined);
  }
  assert.equal(read(provisioningDocument(stated, another.publicKey, signature)), undefined);
  assert.equal(read(provisioningDocument(stated, key.publicKey, signature), []), undefined);
});

test("every word of it is signed, and that it is such a statement", () => {
  const changes = {
    deploymentId: "another",
    manifestHash: "ac".repeat(32),
    ephemeralPublicKey: `04${"ce".repeat(64)}`,
  };
  for (const [name, value] of Object.entries(changes)) {
    assert.equal(read(provisioningDocument({ ...stated, [name]: value }, key.publicKey, signature)), undefined, name);
  }
  const untyped = key.signed(JSON.stringify(stated, Object.keys(stated).sort()));
  assert.equal(read(provisioningDocument(stated, key.publicKey, untyped)), undefined);
});

test("other text is none", () => {
  const whole = { ...stated, publicKey: key.publicKey, signature };
  for (const text of [
    "",
    "{",
    "null",
    "5",
    "[]",
    ...Object.keys(whole).map((name) => JSON.stringify({ ...whole, [name]: undefined })),
    JSON.stringify({ ...whole, deploymentId: 5 }),
    JSON.stringify({ ...whole, signature: signature.slice(2) }),
    JSON.stringify({ ...whole, signature: `${signature}00` }),
    JSON.stringify({ ...whole, signature: `${signature}zz` }),
    JSON.stringify({ ...whole, signature: `00${signature}` }),
    JSON.stringify({ ...whole, signature: signature.toUpperCase().padEnd(129, "A") }),
  ]) {
    assert.equal(read(text), undefined, text);
  }
});
