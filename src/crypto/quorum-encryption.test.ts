import assert from "node:assert/strict";
import { test } from "node:test";
import { encryptOauth2ClientSecret } from "@turnkey/crypto";
import { generateReceiver } from "./hpke.ts";
import { openQuorumEnvelope, quorumEnvelopeBytes, sealQuorumEnvelope } from "./quorum-encryption.ts";

const encrypt = async (text: string, publicKey: Buffer) =>
  Buffer.from(await encryptOauth2ClientSecret(text, publicKey.toString("hex")), "hex");

test("what the published client encrypts opens with the key that it was encrypted to, and with no other", async () => {
  const { secret, publicKey } = generateReceiver();
  for (const text of ["", "s", "a client secret", "é".repeat(2000)]) {
    const envelope = await encrypt(text, publicKey);
    assert.equal(envelope.length, quorumEnvelopeBytes(Buffer.byteLength(text)));
    assert.equal(openQuorumEnvelope(secret, envelope)?.toString(), text);
    assert.equal(openQuorumEnvelope(generateReceiver().secret, envelope), undefined);
  }
});

test("an envelope that was changed in any byte, cut or made longer does not open", async () => {
  const { secret, publicKey } = generateReceiver();
  const envelope = await encrypt("a client secret", publicKey);
  for (let index = 0; index < envelope.length; index++) {
    const changed = Buffer.from(envelope);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.equal(openQuorumEnvelope(secret, changed), undefined, `byte ${index}`);
    assert.equal(openQuorumEnvelope(secret, envelope.subarray(0, index)), undefined, `${index} bytes`);
  }
  assert.equal(openQuorumEnvelope(secret, Buffer.concat([envelope, Buffer.alloc(1)])), undefined);
});

test("what is encrypted here opens as that of the published client does", () => {
  const { secret, publicKey } = generateReceiver();
  for (const length of [0, 1, 33, 4096]) {
    const text = Buffer.alloc(length, 7);
    const envelope = sealQuorumEnvelope(publicKey, text);
    assert.equal(envelope.length, quorumEnvelopeBytes(length));
    assert.deepEqual(openQuorumEnvelope(secret, envelope), text);
    assert.equal(openQuorumEnvelope(generateReceiver().secret, envelope), undefined);
  }
  assert.throws(() => sealQuorumEnvelope(Buffer.alloc(65, 4), Buffer.alloc(1)), /not a point of P-256/);
});
