import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { toDerSignature } from "@turnkey/crypto";
import fc from "fast-check";
import { anyText } from "../../test/support/any-text.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_STAMP_BYTES } from "../kernel/limits.ts";
import { encodeEcdsaDer } from "./ecdsa-der.ts";
import { type ApiKeyStamp, decodeApiKeyStamp, verifyApiKeyStamp } from "./stamps.ts";

type Vector = {
  name: string;
  expect: "valid" | "unverified" | "malformed";
  reason?: string;
  body: string;
  header: string;
};

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/stamps/stamps.json", import.meta.url), "utf8"),
) as Vector[];

/** The same check by independent code: noble verifies the signature by the rules of the scheme. */
function isSignedAccordingToNoble(stamp: ApiKeyStamp, body: Buffer): boolean {
  const publicKey = Buffer.from(stamp.publicKey, "hex");
  const sha256 = createHash("sha256").update(body).digest();
  const message = Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${body.length}`), body]);
  const options = { prehash: false, lowS: false };
  switch (stamp.scheme) {
    case "SIGNATURE_SCHEME_TK_API_P256":
      return p256.verify(stamp.signature, sha256, publicKey, options);
    case "SIGNATURE_SCHEME_TK_API_SECP256K1":
      return secp256k1.verify(stamp.signature, sha256, publicKey, options);
    case "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191":
      return secp256k1.verify(stamp.signature, keccak_256(message), publicKey, options);
    case "SIGNATURE_SCHEME_TK_API_ED25519":
      return ed25519.verify(stamp.signature, body, publicKey, { zip215: false });
  }
}

function isMalformed(reason: string) {
  return (error: unknown) => {
    assert.ok(error instanceof KeysteadError, String(error));
    assert.equal(error.code, "STAMP_MALFORMED");
    assert.ok(error.message.includes(reason), error.message);
    return true;
  };
}

suite("stamp vectors", () => {
  test("there are enough of each kind", () => {
    const count = (expect: string) => vectors.filter((vector) => vector.expect === expect).length;
    assert.ok(count("valid") >= 20, "valid");
    assert.ok(count("unverified") >= 30, "unverified");
    assert.ok(count("malformed") >= 200, "malformed");
  });

  for (const { name, expect, reason, body, header } of vectors) {
    test(`${name}: ${expect}`, async () => {
      if (expect === "malformed") {
        assert.ok(reason, "every malformed vector says why");
        assert.throws(() => decodeApiKeyStamp(header), isMalformed(reason));
        return;
      }
      const stamp = decodeApiKeyStamp(header);
      assert.match(stamp.publicKey, /^[0-9a-f]+$/);
      assert.equal(await verifyApiKeyStamp(stamp, Buffer.from(body)), expect === "valid");
      assert.equal(isSignedAccordingToNoble(stamp, Buffer.from(body)), expect === "valid", "oracle");
    });
  }
});

suite("stamps of the published stamper", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const secret = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  const apiPrivateKey = secret.toString("hex");
  const apiPublicKey = Buffer.from(p256.getPublicKey(secret, true)).toString("hex");

  for (const runtimeOverride of ["node", "purejs"] as const) {
    test(`${runtimeOverride}: every one of 32 bodies is accepted, and none with one byte changed`, async () => {
      const stamper = new ApiKeyStamper({ apiPublicKey, apiPrivateKey, runtimeOverride });
      for (let round = 0; round < 32; round++) {
        const body = JSON.stringify({ organizationId: `Zürich ${round}`, timestampMs: `${round}` });
        const { stampHeaderName, stampHeaderValue } = await stamper.stamp(body);
        assert.equal(stampHeaderName, "X-Stamp");
        const stamp = decodeApiKeyStamp(stampHeaderValue);
        assert.equal(stamp.publicKey, apiPublicKey);
        assert.ok(await verifyApiKeyStamp(stamp, Buffer.from(body)));
        assert.equal(await verifyApiKeyStamp(stamp, Buffer.from(body.replace("timestampMs", "timestampms"))), false);
      }
    });
  }
});

suite("stamps at the edges", () => {
  const valid = vectors.find(({ name }) => name === "P256: low s") as Vector;

  test("a header is read up to the limit and refused beyond it", () => {
    const fields = JSON.parse(Buffer.from(valid.header, "base64url").toString()) as Record<string, string>;
    const withFiller = (length: number) =>
      Buffer.from(JSON.stringify({ ...fields, filler: "x".repeat(length) })).toString("base64url");
    const fit = (MAX_STAMP_BYTES * 3) / 4 - Buffer.byteLength(JSON.stringify({ ...fields, filler: "" }));
    assert.equal(withFiller(fit).length, MAX_STAMP_BYTES);
    assert.equal(decodeApiKeyStamp(withFiller(fit)).publicKey, fields.publicKey);
    assert.throws(() => decodeApiKeyStamp(withFiller(fit + 1)), isMalformed("larger than 16384 bytes"));
    assert.throws(() => decodeApiKeyStamp("A".repeat(10_000_000)), isMalformed("larger than 16384 bytes"));
  });

  test("EIP-191: a body longer than one hashing step", async () => {
    const secret = Buffer.alloc(32, 7);
    const body = Buffer.alloc(200_001, "body ");
    const digest = keccak_256(Buffer.concat([Buffer.from("\x19Ethereum Signed Message:\n200001"), body]));
    const signature = Buffer.from(secp256k1.sign(digest, secret, { prehash: false }));
    const stamp: ApiKeyStamp = {
      scheme: "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191",
      curve: "API_KEY_CURVE_SECP256K1",
      publicKey: Buffer.from(secp256k1.getPublicKey(secret, true)).toString("hex"),
      signature,
      signatureAsSent: encodeEcdsaDer(signature),
    };
    assert.ok(await verifyApiKeyStamp(stamp, body));
    const changed = Buffer.from(body).fill("B", 150_000, 150_001);
    assert.equal(await verifyApiKeyStamp(stamp, changed), false);
  });

  test("EIP-191: a stamp of the published wallet stamper whose signature begins with a zero", async () => {
    const secret = Buffer.alloc(32, 7);
    const publicKey = Buffer.from(secp256k1.getPublicKey(secret, true)).toString("hex");
    const stampOf = (body: Buffer) => {
      const digest = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${body.length}`), body]));
      const raw = Buffer.from(secp256k1.sign(digest, secret, { prehash: false }));
      const scheme = "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191";
      const stamp = { publicKey, scheme, signature: toDerSignature(raw.toString("hex")) };
      return { raw, header: Buffer.from(JSON.stringify(stamp)).toString("base64url"), body, stamp };
    };
    let count = 0;
    let found = stampOf(Buffer.from("{}"));
    // One in 512 begins with a redundant zero.
    while (found.raw[0] !== 0 || (found.raw[1] ?? 0) >= 0x80) found = stampOf(Buffer.from(`{"n":${count++}}`));
    assert.ok(await verifyApiKeyStamp(decodeApiKeyStamp(found.header), found.body));
    const ofAnother = { ...found.stamp, scheme: "SIGNATURE_SCHEME_TK_API_SECP256K1" };
    const header = Buffer.from(JSON.stringify(ofAnother)).toString("base64url");
    assert.throws(() => decodeApiKeyStamp(header), isMalformed("strict DER"));
  });

  test("EIP-191: verifying leaves the stamp's signature as it was", async () => {
    const { header, body } = vectors.find(({ name }) => name === "SECP256K1_EIP191: high s") as Vector;
    const stamp = decodeApiKeyStamp(header);
    const before = Buffer.from(stamp.signature);
    assert.ok(await verifyApiKeyStamp(stamp, Buffer.from(body)));
    assert.deepEqual(stamp.signature, before);
    assert.ok(await verifyApiKeyStamp(stamp, Buffer.from(body)));
  });

  test("a stamp that decoding would have refused is false, not an error", async () => {
    const stamp = decodeApiKeyStamp(valid.header);
    const body = Buffer.from(valid.body);
    for (const scheme of [
      "SIGNATURE_SCHEME_TK_API_P256",
      "SIGNATURE_SCHEME_TK_API_SECP256K1",
      "SIGNATURE_SCHEME_TK_API_ED25519",
      "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191",
    ] as const) {
      for (const broken of [
        { publicKey: "" },
        { publicKey: "02" },
        { publicKey: `02${"ff".repeat(32)}` },
        { signature: Buffer.alloc(0), signatureAsSent: Buffer.alloc(0) },
        { signature: Buffer.alloc(64, 0xff), signatureAsSent: Buffer.alloc(64, 0xff) },
        { signature: Buffer.alloc(65), signatureAsSent: Buffer.alloc(65) },
      ]) {
        assert.equal(await verifyApiKeyStamp({ ...stamp, scheme, ...broken }, body), false);
      }
    }
    assert.equal(await verifyApiKeyStamp(stamp, undefined as unknown as Uint8Array), false);
  });

  test("any header gets a stamp or STAMP_MALFORMED", () => {
    const json = Buffer.from(valid.header, "base64url").toString();
    const mangled = fc
      .tuple(fc.nat(json.length), fc.nat(8), fc.string({ maxLength: 8 }))
      .map(([at, cut, text]) => Buffer.from(json.slice(0, at) + text + json.slice(at + cut)).toString("base64url"));
    const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString("base64url"));
    fc.assert(
      fc.property(fc.oneof(mangled, bytes, anyText()), (header) => {
        try {
          decodeApiKeyStamp(header);
        } catch (error) {
          assert.equal((error as KeysteadError).code, "STAMP_MALFORMED", String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("a signed random body verifies; with one bit changed it does not", async () => {
    const secret = Buffer.alloc(32, 9);
    const publicKey = Buffer.from(p256.getPublicKey(secret, true)).toString("hex");
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 64 }), fc.nat(511), async (body, bit) => {
        const signature = encodeEcdsaDer(p256.sign(body, secret)).toString("hex");
        const stamp = decodeApiKeyStamp(
          Buffer.from(JSON.stringify({ publicKey, signature, scheme: "SIGNATURE_SCHEME_TK_API_P256" })).toString(
            "base64url",
          ),
        );
        assert.ok(await verifyApiKeyStamp(stamp, body));
        const index = (bit >> 3) % body.length;
        const changed = Uint8Array.from(body, (byte, at) => (at === index ? byte ^ (1 << (bit & 7)) : byte));
        assert.equal(await verifyApiKeyStamp(stamp, changed), false);
      }),
      { numRuns: 50 },
    );
  });
});
