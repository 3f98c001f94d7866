import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import fc from "fast-check";
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_P256_HKDF_SHA256 } from "hpke";
import { generateReceiver, openMessage, parseP256Point, receiverPublicKey, sealMessage } from "./hpke.ts";

const bytes = (text: string) => Buffer.from(text, "hex");
const hex = (some: Uint8Array) => Buffer.from(some).toString("hex");

interface Vector {
  info: string;
  recipientSecret: string;
  recipientPublic: string;
  ephemeralSecret: string;
  encapped: string;
  aad: string;
  plaintext: string;
  ciphertext: string;
}
const { valid } = JSON.parse(
  readFileSync(new URL("../../test/vectors/rfc9180/p256-aes256gcm.json", import.meta.url), "utf8"),
) as { valid: Vector[] };

describe("the published message", () => {
  it("is sealed and opened", () => {
    assert.ok(valid.length >= 1);
    for (const vector of valid) {
      const [info, aad, plaintext] = [bytes(vector.info), bytes(vector.aad), bytes(vector.plaintext)];
      const receiver = bytes(vector.recipientPublic);
      const sealed = sealMessage(receiver, plaintext, info, () => aad, bytes(vector.ephemeralSecret));
      assert.equal(hex(sealed.encapped), vector.encapped);
      assert.equal(hex(sealed.ciphertext), vector.ciphertext);
      assert.equal(hex(receiverPublicKey(bytes(vector.recipientSecret))), vector.recipientPublic);
      const opened = openMessage(bytes(vector.recipientSecret), sealed, info, aad);
      assert.equal(hex(opened as Buffer), vector.plaintext);
    }
  });
});

describe("another implementation", () => {
  const suite = new CipherSuite(KEM_DHKEM_P256_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
  const some = fc.uint8Array({ maxLength: 200 });

  it("opens what is sealed here", async () => {
    await fc.assert(
      fc.asyncProperty(some, some, some, async (plaintext, info, aad) => {
        const pair = await suite.GenerateKeyPair();
        const publicKey = await suite.SerializePublicKey(pair.publicKey);
        const { encapped, ciphertext } = sealMessage(publicKey, plaintext, info, () => aad);
        assert.equal(hex(await suite.Open(pair, encapped, ciphertext, { info, aad })), hex(plaintext));
      }),
      { numRuns: 50 },
    );
  });

  it("seals what is opened here", async () => {
    await fc.assert(
      fc.asyncProperty(some, some, some, async (plaintext, info, aad) => {
        const { secret, publicKey } = generateReceiver();
        const receiver = await suite.DeserializePublicKey(publicKey);
        const { encapsulatedSecret, ciphertext } = await suite.Seal(receiver, plaintext, { info, aad });
        const opened = openMessage(secret, { encapped: encapsulatedSecret, ciphertext }, info, aad);
        assert.equal(hex(opened as Buffer), hex(plaintext));
      }),
      { numRuns: 50 },
    );
  });
});

describe("a message", () => {
  const { secret, publicKey } = generateReceiver();
  const [info, aad, plaintext] = [Buffer.from("info"), Buffer.from("aad"), Buffer.from("0123456789abcdef")];
  const sealed = () => sealMessage(publicKey, plaintext, info, () => aad);

  it("is another each time", () => {
    const [one, other] = [sealed(), sealed()];
    assert.notDeepEqual(one.encapped, other.encapped);
    assert.notDeepEqual(one.ciphertext, other.ciphertext);
  });

  it("does not open with another key, another info or other associated data", () => {
    const message = sealed();
    assert.equal(openMessage(generateReceiver().secret, message, info, aad), undefined);
    assert.equal(openMessage(secret, message, Buffer.from("Info"), aad), undefined);
    assert.equal(openMessage(secret, message, info, Buffer.from("Aad")), undefined);
    assert.equal(openMessage(secret, message, info, Buffer.alloc(0)), undefined);
  });

  it("does not open when a bit of it was changed, whichever", () => {
    const message = sealed();
    for (const part of ["encapped", "ciphertext"] as const) {
      for (let bit = 0; bit < message[part].length * 8; bit++) {
        const tampered = Buffer.from(message[part]);
        tampered[bit >> 3] = (tampered[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.equal(openMessage(secret, { ...message, [part]: tampered }, info, aad), undefined, `${part} ${bit}`);
      }
    }
  });

  it("does not open cut short, made longer, or made of anything", () => {
    const message = sealed();
    for (let length = 0; length < message.ciphertext.length; length++) {
      const cut = { ...message, ciphertext: message.ciphertext.subarray(0, length) };
      assert.equal(openMessage(secret, cut, info, aad), undefined);
    }
    const longer = { ...message, ciphertext: Buffer.concat([message.ciphertext, Buffer.alloc(1)]) };
    assert.equal(openMessage(secret, longer, info, aad), undefined);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 100 }), (encapped, ciphertext) => {
        assert.equal(openMessage(secret, { encapped, ciphertext }, info, aad), undefined);
      }),
    );
  });
});

describe("a receiver's key", () => {
  it("has 32 bytes and the public key that another implementation finds, also with leading zeros", () => {
    const secrets: Buffer[] = [Buffer.concat([Buffer.alloc(2), randomBytes(30)])];
    for (let count = 0; count < 300; count++) secrets.push(generateReceiver().secret);
    for (const secret of secrets) {
      assert.equal(secret.length, 32);
      assert.equal(hex(receiverPublicKey(secret)), hex(p256.getPublicKey(secret, false)));
    }
  });
});

describe("a point in hex", () => {
  const { publicKey } = generateReceiver();
  const compressed = hex(p256.Point.fromBytes(publicKey).toBytes(true));

  it("is taken compressed and uncompressed, in either case", () => {
    for (const text of [hex(publicKey), compressed, hex(publicKey).toUpperCase(), compressed.toUpperCase()]) {
      assert.deepEqual(parseP256Point(text), publicKey);
    }
  });

  const refused: Record<string, string> = {
    nothing: "",
    infinity: "00",
    "no hex": "zz".repeat(33),
    "a prefix": `0x${compressed}`,
    "another length": `${hex(publicKey)}00`,
    "x alone": compressed.slice(2),
    "the hybrid form": `06${hex(publicKey).slice(2)}`,
    "a point off the curve": `04${"01".repeat(64)}`,
    "an x off the curve": `02${"00".repeat(31)}07`,
    "an x not below the field prime": `02${"ff".repeat(32)}`,
    "a line break": `${compressed}\n`,
  };
  for (const [name, text] of Object.entries(refused)) {
    it(`is not ${name}`, () => assert.equal(parseP256Point(text), undefined));
  }
});
