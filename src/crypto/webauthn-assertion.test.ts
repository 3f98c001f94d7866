import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { suite, test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../test/support/any-text.ts";
import {
  type AssertOptions,
  type AuthenticatorAlgorithm,
  createAuthenticator,
  type Faults,
  generateKeys,
} from "../../test/support/authenticator.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_CREDENTIAL_ID_BYTES, MAX_STAMP_BYTES } from "../kernel/limits.ts";
import {
  decodeWebAuthnStamp,
  verifyRecordedAssertion,
  verifyWebAuthnStamp,
  type WebAuthnCredential,
} from "./webauthn-assertion.ts";

const body = Buffer.from('{"organizationId":"0190a1c2-6a3f-7b52-9c3e-1f2a3b4c5d6e"}');
const request = { body, origin: "https://wallet.example", rpId: "wallet.example" };
const rpIdHash = hash("sha256", "wallet.example", "buffer");
const authenticators = { ES256: createAuthenticator("ES256"), RS256: createAuthenticator("RS256") };
const credentials: Record<AuthenticatorAlgorithm, WebAuthnCredential> = {
  ES256: { publicKey: authenticators.ES256.publicKey, rpIdHash },
  RS256: { publicKey: authenticators.RS256.publicKey, rpIdHash },
};

function isRefusal(code: string, reason: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof KeysteadError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, reason);
    return true;
  };
}

function verifyWith(
  options: Partial<AssertOptions>,
  credential: Partial<WebAuthnCredential> = {},
  algorithm: AuthenticatorAlgorithm = "ES256",
): Promise<void> {
  const header = authenticators[algorithm].assert({ ...request, ...options });
  return verifyWebAuthnStamp(decodeWebAuthnStamp(header), body, { ...credentials[algorithm], ...credential });
}

suite("reading a passkey stamp", () => {
  const header = authenticators.ES256.assert(request);
  const fields = JSON.parse(header) as Record<string, string>;

  test("plain JSON, base64 and base64url of it, padded or not, give the same stamp", () => {
    const plain = decodeWebAuthnStamp(header);
    assert.equal(plain.credentialId, authenticators.ES256.credentialId);
    const base64 = Buffer.from(header).toString("base64");
    for (const other of [base64, base64.replace(/=+$/, ""), Buffer.from(header).toString("base64url"), ` ${header}`]) {
      assert.deepEqual(decodeWebAuthnStamp(other), plain);
    }
  });

  test("padded values and other fields are accepted, and the credential ID is stored unpadded", () => {
    const padded = Object.fromEntries(
      Object.entries(fields).map(([name, text]) => [name, text.padEnd(Math.ceil(text.length / 4) * 4, "=")]),
    );
    assert.ok(padded.credentialId?.endsWith("="));
    assert.deepEqual(decodeWebAuthnStamp(JSON.stringify({ ...padded, userHandle: null })), decodeWebAuthnStamp(header));
  });

  test("one is accepted up to its greatest length, with values of one byte up to the longest credential ID", () => {
    const withFiller = (length: number) => JSON.stringify({ ...fields, filler: "A".repeat(length) });
    const fit = MAX_STAMP_BYTES - withFiller(0).length;
    assert.deepEqual(decodeWebAuthnStamp(withFiller(fit)), decodeWebAuthnStamp(header));
    assert.throws(() => decodeWebAuthnStamp(withFiller(fit + 1)), isRefusal("WEBAUTHN_STAMP_MALFORMED", /larger/));
    const credentialId = "AAAA".repeat(MAX_CREDENTIAL_ID_BYTES / 3);
    assert.equal(decodeWebAuthnStamp(JSON.stringify({ ...fields, credentialId })).credentialId, credentialId);
    assert.equal(decodeWebAuthnStamp(JSON.stringify({ ...fields, credentialId: "AA" })).credentialId, "AA");
  });

  const malformed: [name: string, header: string, reason: RegExp][] = [
    ["empty", "", /empty/],
    ["not base64", "!", /neither/],
    ["base64 of no JSON", "AAAA", /JSON/],
    ["an array", Buffer.from("[]").toString("base64url"), /JSON object/],
    ["JSON cut short", header.slice(0, -1), /JSON/],
    ["two headers joined", `${header}, ${header}`, /JSON/],
    ["a key twice", header.replace("{", '{"signature":"AA",'), /twice/],
    ["too large", JSON.stringify({ ...fields, filler: "A".repeat(16_384) }), /larger than 16384/],
    ["a credential ID of 1024 bytes", JSON.stringify({ ...fields, credentialId: "AAAA".repeat(342) }), /1023/],
  ];
  for (const name of ["authenticatorData", "clientDataJson", "credentialId", "signature"]) {
    const { [name]: value = "", ...rest } = fields;
    const about = (reason: string) => new RegExp(`\`${name}\`.*${reason}`);
    malformed.push([`no ${name}`, JSON.stringify(rest), about("missing")]);
    malformed.push([`a null ${name}`, JSON.stringify({ ...rest, [name]: null }), about("string")]);
    malformed.push([`an array for ${name}`, JSON.stringify({ ...rest, [name]: [value] }), about("string")]);
    malformed.push([`an empty ${name}`, JSON.stringify({ ...rest, [name]: "" }), about("empty")]);
    malformed.push([`standard base64 in ${name}`, JSON.stringify({ ...rest, [name]: "+/+/" }), about("base64url")]);
    malformed.push([`too much padding in ${name}`, JSON.stringify({ ...rest, [name]: "AAAA=" }), about("base64url")]);
    malformed.push([`stray bits in ${name}`, JSON.stringify({ ...rest, [name]: "AB" }), about("base64url")]);
    malformed.push([`a space in ${name}`, JSON.stringify({ ...rest, [name]: `${value} ` }), about("base64url")]);
  }
  for (const [name, text, reason] of malformed) {
    test(`${name} is refused`, () => {
      assert.throws(() => decodeWebAuthnStamp(text), isRefusal("WEBAUTHN_STAMP_MALFORMED", reason));
    });
  }
});

test("of an assertion that was recorded, the key's signature counts, whatever origins and relying party are now", async () => {
  const { credentialId: _, ...recorded } = decodeWebAuthnStamp(authenticators.ES256.assert(request));
  const { publicKey } = authenticators.ES256;
  await verifyRecordedAssertion(recorded, body, publicKey);
  const refuses = (stamp: Partial<typeof recorded>, of: Uint8Array, reason: RegExp) =>
    assert.rejects(
      verifyRecordedAssertion({ ...recorded, ...stamp }, of, publicKey),
      isRefusal("WEBAUTHN_SIGNATURE_INVALID", reason),
    );
  await refuses({}, Buffer.from("{}"), /challenge/);
  await refuses({ signature: recorded.signature.subarray(1) }, body, /signature/);
  await refuses({ authenticatorData: Buffer.alloc(36) }, body, /malformed/);
  await assert.rejects(verifyRecordedAssertion(recorded, body, authenticators.RS256.publicKey), /signature/);
});

suite("a passkey stamp is accepted", () => {
  for (const algorithm of ["ES256", "RS256"] as const) {
    test(algorithm, async () => {
      for (let round = 0; round < 20; round++) await verifyWith({}, {}, algorithm);
    });
  }

  test("from a listed origin", () => verifyWith({}, { allowedOrigins: ["https://a.example", request.origin] }));
  test("from any origin when there is no list", () => verifyWith({ origin: "https://elsewhere.example" }));
  test("from a frame of another origin", () =>
    verifyWith({ faults: { clientData: (f) => ({ ...f, crossOrigin: true, topOrigin: "https://a.example" }) } }));
  test("with extension outputs", () => {
    const authenticatorData = (bytes: Buffer) => Buffer.concat([bytes, Buffer.of(0xa1, 0x61, 0x61, 0x01)]);
    return verifyWith({ faults: { flags: (flags) => flags | 0x80, authenticatorData } });
  });
});

suite("a passkey stamp is refused", () => {
  const foreign = { ES256: createAuthenticator("ES256"), RS256: createAuthenticator("RS256") };
  const broken: [name: string, reason: RegExp, faults: Faults][] = [
    ["another type", /type/, { clientData: (f) => ({ ...f, type: "webauthn.create" }) }],
    ["no type", /`type` is missing/, { clientData: ({ type: _, ...rest }) => rest }],
    ["no challenge", /`challenge` is missing/, { clientData: ({ challenge: _, ...rest }) => rest }],
    ["no origin", /`origin` is missing/, { clientData: ({ origin: _, ...rest }) => rest }],
    ["a padded challenge", /challenge/, { clientData: (f) => ({ ...f, challenge: `${f.challenge}==` }) }],
    [
      "the raw hash as challenge",
      /challenge/,
      { clientData: (f) => ({ ...f, challenge: hash("sha256", body, "base64url") }) },
    ],
    [
      "the hex hash as challenge",
      /challenge/,
      { clientData: (f) => ({ ...f, challenge: hash("sha256", body, "hex") }) },
    ],
    [
      "uppercase hex in the challenge",
      /challenge/,
      {
        clientData: (f) => ({
          ...f,
          challenge: Buffer.from(hash("sha256", body, "hex").toUpperCase()).toString("base64url"),
        }),
      },
    ],
    ["client data that is no JSON", /JSON/, { clientDataJson: (json) => json.subarray(1) }],
    [
      "client data with two challenges",
      /twice/,
      { clientDataJson: (json) => Buffer.from(json.toString().replace("{", '{"challenge":"AA",')) },
    ],
    ["36 bytes of authenticator data", /malformed/, { authenticatorData: (bytes) => bytes.subarray(0, 36) }],
    [
      "a byte after the authenticator data",
      /malformed/,
      { authenticatorData: (bytes) => Buffer.concat([bytes, Buffer.of(0)]) },
    ],
    ["a flag for credential data that is not there", /malformed/, { flags: (flags) => flags | 0x40 }],
    ["a flag for extensions that are not there", /malformed/, { flags: (flags) => flags | 0x80 }],
    ["a backup state without eligibility", /malformed/, { flags: (flags) => flags | 0x10 }],
    ["user not present", /user-present/, { flags: (flags) => (flags & ~0x01) | 0x04 }],
    ["an empty signature list", /signature/, { signature: () => Buffer.of(0x30, 0x00) }],
    ["a byte after the signature", /signature/, { signature: (bytes) => Buffer.concat([bytes, Buffer.of(0)]) }],
    [
      "a changed signature",
      /signature/,
      { signature: (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) ?? 0) ^ 1)]) },
    ],
  ];
  for (const algorithm of ["ES256", "RS256"] as const) {
    for (const [name, reason, faults] of broken) {
      test(`${algorithm}: ${name}`, () =>
        assert.rejects(verifyWith({ faults }, {}, algorithm), isRefusal("WEBAUTHN_SIGNATURE_INVALID", reason)));
    }

    test(`${algorithm}: another key`, async () => {
      const { publicKey } = foreign[algorithm];
      const invalid = isRefusal("WEBAUTHN_SIGNATURE_INVALID", /signature does not match/);
      await assert.rejects(verifyWith({}, { publicKey }, algorithm), invalid);
    });

    test(`${algorithm}: client data or authenticator data changed after signing`, async () => {
      const stamp = decodeWebAuthnStamp(authenticators[algorithm].assert(request));
      const invalid = isRefusal("WEBAUTHN_SIGNATURE_INVALID", /signature does not match/);
      const clientDataJson = Buffer.from(stamp.clientDataJson.toString().replace("false", "true"));
      await assert.rejects(verifyWebAuthnStamp({ ...stamp, clientDataJson }, body, credentials[algorithm]), invalid);
      const authenticatorData = Buffer.from(stamp.authenticatorData).fill(0xff, 36);
      await assert.rejects(verifyWebAuthnStamp({ ...stamp, authenticatorData }, body, credentials[algorithm]), invalid);
      await verifyWebAuthnStamp(stamp, body, credentials[algorithm]);
    });
  }

  test("another body", async () => {
    const stamp = decodeWebAuthnStamp(authenticators.ES256.assert(request));
    const other = Buffer.concat([body, Buffer.from(" ")]);
    const invalid = isRefusal("WEBAUTHN_SIGNATURE_INVALID", /challenge/);
    await assert.rejects(verifyWebAuthnStamp(stamp, other, credentials.ES256), invalid);
  });

  test("another relying party", () =>
    assert.rejects(
      verifyWith({ rpId: "wallet.example.evil.example" }),
      isRefusal("WEBAUTHN_SIGNATURE_INVALID", /relying party/),
    ));

  test("an origin that is not listed, letter by letter", async () => {
    const invalid = isRefusal("WEBAUTHN_SIGNATURE_INVALID", /origin/);
    for (const allowedOrigins of [[], ["https://wallet.example/"], ["http://wallet.example"], ["wallet.example"]]) {
      await assert.rejects(verifyWith({}, { allowedOrigins }), invalid);
    }
  });

  test("a stored key that is not usable", async () => {
    const invalid = isRefusal("WEBAUTHN_SIGNATURE_INVALID", /public key/);
    await assert.rejects(verifyWith({}, { publicKey: Buffer.of(0xa0) }), invalid);
    const weak = createAuthenticator("RS256", generateKeys("RS256", 1024));
    const stamp = decodeWebAuthnStamp(weak.assert(request));
    await assert.rejects(verifyWebAuthnStamp(stamp, body, { publicKey: weak.publicKey, rpIdHash }), invalid);
  });
});

test("any header gets a stamp or WEBAUTHN_STAMP_MALFORMED", () => {
  const header = authenticators.ES256.assert(request);
  const mangled = fc
    .tuple(fc.nat(header.length), fc.nat(8), fc.string({ maxLength: 8 }))
    .map(([at, cut, text]) => header.slice(0, at) + text + header.slice(at + cut));
  fc.assert(
    fc.property(fc.oneof(mangled, anyText(), fc.json()), (text) => {
      try {
        decodeWebAuthnStamp(text);
      } catch (error) {
        assert.equal((error as KeysteadError).code, "WEBAUTHN_STAMP_MALFORMED", String(error));
      }
    }),
    { numRuns: 500 },
  );
});
