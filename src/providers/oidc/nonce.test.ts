import assert from "node:assert/strict";
import { test } from "node:test";
import { nonceOfPublicKey } from "./nonce.ts";

test("the nonce is the hash of the key's hex, not of its bytes", () => {
  const publicKey = "0394e549c71fa99dd5cf752fba623090be314949b74e4cdf7ca72031dd638e281a";
  const nonce = "1663bba492a323085b13895634a3618792c4ec6896f3c34ef3c26396df22ef82";
  assert.equal(nonceOfPublicKey(publicKey), nonce);
  assert.notEqual(nonceOfPublicKey(publicKey.toUpperCase()), nonce);
});
