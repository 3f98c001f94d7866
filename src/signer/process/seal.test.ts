import assert from "node:assert/strict";
import { createDecipheriv, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { seal, unseal } from "./seal.ts";

const key = Buffer.alloc(32, 1);
const context = ["key", "organization", "key id", "CURVE_P256"];
const bytes = (options: fc.IntArrayConstraints = {}) => fc.uint8Array({ maxLength: 100, ...options });

describe("sealed values", () => {
  it("open with the key and the context they were sealed with", () => {
    fc.assert(
      fc.property(
        bytes({ minLength: 32, maxLength: 32 }),
        fc.array(fc.string()),
        bytes(),
        (key, context, plaintext) => {
          assert.deepEqual(unseal(key, context, seal(key, context, plaintext)), Buffer.from(plaintext));
        },
      ),
    );
  });

  it("are AES-256-GCM: a version byte, 12 bytes of nonce, 16 of tag, the ciphertext, and the context beside", () => {
    const sealed = Buffer.from(seal(key, context, Buffer.from("plaintext")), "base64");
    assert.equal(sealed[0], 1);
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(1, 13), { authTagLength: 16 });
    decipher.setAAD(Buffer.from("key|organization|key id|CURVE_P256"));
    decipher.setAuthTag(sealed.subarray(13, 29));
    assert.equal(decipher.update(sealed.subarray(29), undefined, "utf8") + decipher.final("utf8"), "plaintext");
  });

  it("take a new nonce each time", () => {
    const nonces = new Set<string>();
    for (let count = 0; count < 1000; count++) {
      nonces.add(
        Buffer.from(seal(key, context, Buffer.alloc(32)), "base64")
          .subarray(1, 13)
          .toString("hex"),
      );
    }
    assert.equal(nonces.size, 1000);
  });

  it("do not open for another key", () => {
    assert.equal(unseal(randomBytes(32), context, seal(key, context, Buffer.alloc(32))), undefined);
  });

  it("do not open in another context: each part of it counts", () => {
    const sealed = seal(key, context, Buffer.alloc(32));
    for (const index of context.keys()) {
      assert.equal(unseal(key, context.with(index, "other"), sealed), undefined);
    }
    assert.equal(unseal(key, context.slice(0, -1), sealed), undefined);
    assert.equal(unseal(key, [...context, ""], sealed), undefined);
    assert.equal(unseal(key, [], sealed), undefined);
  });

  it("do not open when a single bit was changed, whichever", () => {
    const sealed = Buffer.from(seal(key, context, Buffer.from("0123456789abcdef0123456789abcdef")), "base64");
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const tampered = Buffer.from(sealed);
      tampered[bit >> 3] = (tampered[bit >> 3] as number) ^ (1 << (bit & 7));
      assert.equal(unseal(key, context, tampered.toString("base64")), undefined, `bit ${bit}`);
    }
  });

  it("do not open when cut short or made longer", () => {
    const sealed = Buffer.from(seal(key, context, Buffer.alloc(32)), "base64");
    for (let length = 0; length < sealed.length; length++) {
      assert.equal(unseal(key, context, sealed.subarray(0, length).toString("base64")), undefined, `${length} bytes`);
    }
    assert.equal(unseal(key, context, Buffer.concat([sealed, Buffer.alloc(1)]).toString("base64")), undefined);
  });

  it("are not made of anything: whatever the bytes, the answer is that they do not open", () => {
    fc.assert(
      fc.property(bytes(), fc.string(), (junk, text) => {
        assert.equal(unseal(key, context, Buffer.from(junk).toString("base64")), undefined);
        assert.equal(unseal(key, context, text), undefined);
      }),
    );
  });
});
