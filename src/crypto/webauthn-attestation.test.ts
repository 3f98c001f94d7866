import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { suite, test } from "node:test";
import { encode } from "cborg";
import fc from "fast-check";
import {
  type AttestationFormat,
  type AttestOptions,
  type AuthenticatorAlgorithm,
  createAuthenticator,
  type Faults,
  generateKeys,
} from "../../test/support/authenticator.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { type Attestation, verifyAttestation } from "./webauthn-attestation.ts";

const challenge = Buffer.from("0123456789abcdef0123456789abcdef");
const request = { challenge, origin: "https://wallet.example", rpId: "wallet.example" };
const field = "authenticators.0.attestation";
const authenticators = { ES256: createAuthenticator("ES256"), RS256: createAuthenticator("RS256") };

function attestWith(options: Partial<AttestOptions> = {}, algorithm: AuthenticatorAlgorithm = "ES256"): Attestation {
  const { credentialId, clientDataJson, attestationObject } = authenticators[algorithm].attest({
    ...request,
    ...options,
  });
  return { challenge: challenge.toString("base64url"), credentialId, clientDataJson, attestationObject, field };
}

async function refused(attestation: Attestation, part: string, reason: RegExp): Promise<void> {
  await assert.rejects(verifyAttestation(attestation), (error) => {
    assert.ok(error instanceof KeysteadError, String(error));
    assert.equal(error.code, "ATTESTATION_INVALID");
    assert.match(error.message, reason);
    assert.ok(error.message.includes(`\`${part}\``), error.message);
    return true;
  });
}

suite("a registration is accepted", () => {
  for (const algorithm of ["ES256", "RS256"] as const) {
    for (const format of ["none", "packed-self", "packed-x5c"] satisfies AttestationFormat[]) {
      test(`${algorithm}, ${format}`, async () => {
        const registered = await verifyAttestation(attestWith({ format }, algorithm));
        assert.equal(registered.credentialId, authenticators[algorithm].credentialId);
        assert.deepEqual(registered.publicKey, authenticators[algorithm].publicKey);
        assert.equal(registered.attestationType, format === "none" ? "none" : "packed");
        assert.equal(registered.aaguid, "5e0c1f7a-d2b8-4b6e-9a31-47c2d08f6b11");
        assert.deepEqual(registered.rpIdHash, hash("sha256", "wallet.example", "buffer"));
        assert.equal(registered.origin, "https://wallet.example");
        assert.ok(registered.signCount > 0);
      });
    }
  }

  test("with padded parts and a padded challenge", async () => {
    const attestation = attestWith();
    const pad = (text: string) => text.padEnd(Math.ceil(text.length / 4) * 4, "=");
    await verifyAttestation({
      ...attestation,
      challenge: pad(attestation.challenge),
      credentialId: pad(attestation.credentialId),
      clientDataJson: pad(attestation.clientDataJson),
      attestationObject: pad(attestation.attestationObject),
    });
  });

  test("with the challenge itself instead of its base64url", async () => {
    await verifyAttestation({ ...attestWith(), challenge: challenge.toString() });
  });

  test("from a listed origin, and from any when there is no list", async () => {
    await verifyAttestation({ ...attestWith(), allowedOrigins: ["https://other.example", request.origin] });
    await verifyAttestation(attestWith({ origin: "android:apk-key-hash:2Z6Qb1Q" }));
  });

  test("with extension outputs and user verification", async () => {
    const faults: Faults = {
      flags: (flags) => flags | 0x84,
      authenticatorData: (bytes) => Buffer.concat([bytes, encode({ credProtect: 2 })]),
    };
    await verifyAttestation(attestWith({ faults }));
  });

  test("with the credential ID in CBOR", async () => {
    for (const length of [16, 32, 300]) {
      const id = Buffer.alloc(length, 7);
      const attestation = attestWith({ faults: { attestedCredentialId: () => id } });
      const credentialId = Buffer.from(encode(id)).toString("base64url");
      const registered = await verifyAttestation({ ...attestation, credentialId });
      assert.equal(registered.credentialId, id.toString("base64url"));
    }
  });

  test("with a credential ID of 1023 bytes", async () => {
    const id = Buffer.alloc(1023, 7);
    const attestation = attestWith({ faults: { attestedCredentialId: () => id } });
    await verifyAttestation({ ...attestation, credentialId: id.toString("base64url") });
  });
});

suite("a registration is refused", () => {
  const object = `${field}.attestationObject`;
  const client = `${field}.clientDataJson`;
  const id = `${field}.credentialId`;
  const foreign = createAuthenticator("ES256");
  const longId = Buffer.alloc(1024, 7);
  const smallRsa = createAuthenticator("RS256", generateKeys("RS256", 1024));

  const broken: [name: string, part: string, reason: RegExp, options: Partial<AttestOptions>][] = [
    ["another type", client, /type/, { faults: { clientData: (f) => ({ ...f, type: "webauthn.get" }) } }],
    ["no type", client, /type/, { faults: { clientData: ({ type: _, ...rest }) => rest } }],
    ["no origin", client, /origin/, { faults: { clientData: ({ origin: _, ...rest }) => rest } }],
    ["client data not JSON", client, /JSON/, { faults: { clientDataJson: () => Buffer.from("{") } }],
    ["client data an array", client, /JSON object/, { faults: { clientDataJson: () => Buffer.from("[]") } }],
    [
      "client data with a key twice",
      client,
      /twice/,
      {
        faults: { clientDataJson: (json) => Buffer.from(json.toString().replace("{", '{"type":"webauthn.create",')) },
      },
    ],
    ["another challenge", "authenticators.0.challenge", /challenge/, { challenge: "another" }],
    ["an empty challenge", "authenticators.0.challenge", /challenge/, { challenge: "" }],
    ["user not present", object, /user-present/, { faults: { flags: (flags) => flags & ~0x01 } }],
    ["no attested credential flag", object, /malformed/, { faults: { flags: (flags) => flags & ~0x40 } }],
    [
      "no attested credential data",
      object,
      /no attested/,
      {
        faults: { flags: (flags) => flags & ~0x40, authenticatorData: (bytes) => bytes.subarray(0, 37) },
      },
    ],
    ["an extension flag without extensions", object, /malformed/, { faults: { flags: (flags) => flags | 0x80 } }],
    [
      "bytes after the authenticator data",
      object,
      /malformed/,
      {
        faults: { authenticatorData: (bytes) => Buffer.concat([bytes, Buffer.of(0)]) },
      },
    ],
    [
      "authenticator data cut short",
      object,
      /malformed/,
      { faults: { authenticatorData: (bytes) => bytes.subarray(0, -1) } },
    ],
    [
      "36 bytes of authenticator data",
      object,
      /malformed/,
      { faults: { authenticatorData: (bytes) => bytes.subarray(0, 36) } },
    ],
    [
      "another credential ID inside",
      id,
      /credential ID/,
      { faults: { attestedCredentialId: ([first = 0, ...rest]) => Buffer.from([first ^ 1, ...rest]) } },
    ],
    [
      "an Ed25519 key",
      object,
      /public key/,
      {
        faults: {
          publicKey: () =>
            Buffer.from(
              encode(
                new Map<number, unknown>([
                  [1, 1],
                  [3, -8],
                  [-1, 6],
                  [-2, Buffer.alloc(32, 9)],
                ]),
              ),
            ),
        },
      },
    ],
    [
      "a point off the curve",
      object,
      /public key/,
      {
        faults: { publicKey: (cose) => Buffer.from(cose).fill((cose.at(-1) ?? 0) ^ 1, cose.length - 1) },
      },
    ],
    ["an RSA key of 1024 bits", object, /public key/, { faults: { publicKey: () => smallRsa.publicKey } }],
    ["format fido-u2f", object, /format/, { faults: { attestationObject: (f) => ({ ...f, fmt: "fido-u2f" }) } }],
    ["format android-key", object, /format/, { faults: { attestationObject: (f) => ({ ...f, fmt: "android-key" }) } }],
    ["no format", object, /CBOR map/, { faults: { attestationObject: ({ fmt: _, ...rest }) => rest } }],
    ["no statement", object, /CBOR map/, { faults: { attestationObject: ({ attStmt: _, ...rest }) => rest } }],
    [
      "authenticator data as text",
      object,
      /CBOR map/,
      { faults: { attestationObject: (f) => ({ ...f, authData: "text" }) } },
    ],
    ["none with a statement", object, /does not verify/, { faults: { statement: () => ({ alg: -7 }) } }],
    ["a backup state without eligibility", object, /malformed/, { faults: { flags: (flags) => flags | 0x10 } }],
    [
      "self attestation with another algorithm",
      object,
      /another algorithm/,
      {
        format: "packed-self",
        faults: { statement: (f) => ({ ...f, alg: -257 }) },
      },
    ],
    [
      "self attestation without signature",
      object,
      /without signature/,
      {
        format: "packed-self",
        faults: { statement: ({ sig: _, ...rest }) => rest },
      },
    ],
    [
      "self attestation with sloppy DER",
      object,
      /strict DER/,
      {
        format: "packed-self",
        faults: { signature: (sig) => Buffer.concat([sig, Buffer.of(0)]) },
      },
    ],
    [
      "self attestation by another key",
      object,
      /does not verify/,
      {
        format: "packed-self",
        faults: {
          statement: (f) => ({
            ...f,
            sig: Buffer.from(JSON.parse(foreign.assert({ ...request, body: "" })).signature, "base64url"),
          }),
        },
      },
    ],
    [
      "certified attestation with a wrong signature",
      object,
      /does not verify/,
      {
        format: "packed-x5c",
        faults: {
          statement: (f) => ({
            ...f,
            sig: Buffer.from(JSON.parse(foreign.assert({ ...request, body: "" })).signature, "base64url"),
          }),
        },
      },
    ],
    [
      "a certificate that is none",
      object,
      /does not verify/,
      {
        format: "packed-x5c",
        faults: { statement: (f) => ({ ...f, x5c: [Buffer.from("certificate")] }) },
      },
    ],
    [
      "an empty certificate chain",
      object,
      /does not verify/,
      {
        format: "packed-x5c",
        faults: { statement: (f) => ({ ...f, x5c: [] }) },
      },
    ],
    [
      "a certificate chain that is false",
      object,
      /not a list/,
      {
        format: "packed-self",
        faults: { statement: (f) => ({ ...f, x5c: false }) },
      },
    ],
    [
      "ECDAA",
      object,
      /ECDAA/,
      { format: "packed-self", faults: { statement: (f) => ({ ...f, ecdaaKeyId: Buffer.alloc(8) }) } },
    ],
  ];
  for (const [name, part, reason, options] of broken) {
    test(name, () => refused(attestWith(options), part, reason));
  }

  test("the untouched registration of this suite is accepted", async () => {
    await verifyAttestation(attestWith());
    await verifyAttestation(attestWith({ format: "packed-self" }));
    await verifyAttestation(attestWith({ format: "packed-x5c" }));
  });

  test("an origin that is not listed", async () => {
    for (const allowedOrigins of [
      [],
      ["https://wallet.example."],
      ["https://WALLET.example"],
      ["https://wallet.example:443"],
    ]) {
      await refused({ ...attestWith(), allowedOrigins }, client, /origin/);
    }
  });

  test("another credential ID beside the attestation", () =>
    refused({ ...attestWith(), credentialId: foreign.credentialId }, id, /credential ID/));

  test("a credential ID of 1024 bytes", () => {
    const attestation = attestWith({ faults: { attestedCredentialId: () => longId } });
    return refused({ ...attestation, credentialId: longId.toString("base64url") }, id, /1023/);
  });

  test("an empty challenge on both sides", () =>
    refused({ ...attestWith({ challenge: "" }), challenge: "" }, "authenticators.0.challenge", /challenge/));

  test("a challenge in another spelling of the field's place", () =>
    refused({ ...attestWith(), challenge: "AAAA", field: "attestation" }, "challenge", /challenge/));

  test("a self attestation whose signed bytes were changed", async () => {
    const attestation = attestWith({ format: "packed-self" });
    const { clientDataJson } = attestWith({ faults: { clientData: (f) => ({ ...f, crossOrigin: true }) } });
    await refused({ ...attestation, clientDataJson }, object, /does not verify/);
  });

  for (const part of ["credentialId", "clientDataJson", "attestationObject"] as const) {
    test(`${part} that is empty, no base64url, or oversized`, async () => {
      await refused({ ...attestWith(), [part]: "" }, `${field}.${part}`, /empty/);
      await refused({ ...attestWith(), [part]: "a+b/" }, `${field}.${part}`, /base64url/);
      await refused({ ...attestWith(), [part]: "AAAAA" }, `${field}.${part}`, /base64url/);
      await refused({ ...attestWith(), [part]: "A".repeat(65_537) }, `${field}.${part}`, /longer/);
    });
  }

  test("CBOR that can be read in two ways, or is too deep", async () => {
    const { attestationObject } = attestWith();
    const bytes = Buffer.from(attestationObject, "base64url");
    const twice = Buffer.concat([Buffer.of(0xa4), bytes.subarray(1), encode("fmt"), encode("none")]);
    const trailing = Buffer.concat([bytes, Buffer.of(0)]);
    for (const faulty of [
      twice,
      trailing,
      Buffer.alloc(40_000, 0x81),
      Buffer.from("9bffffffffffffffff", "hex"),
      Buffer.of(0xbf, 0xff),
    ]) {
      await refused({ ...attestWith(), attestationObject: faulty.toString("base64url") }, object, /CBOR map/);
    }
  });
});

test("any change of a byte gets a registration or ATTESTATION_INVALID, never another error", async () => {
  const attestation = attestWith({ format: "packed-self" });
  const parts = ["credentialId", "clientDataJson", "attestationObject"] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...parts),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (part, at, change) => {
        const bytes = Buffer.from(attestation[part], "base64url");
        const index = at % bytes.length;
        bytes.writeUInt8((bytes[index] ?? 0) ^ change, index);
        try {
          await verifyAttestation({ ...attestation, [part]: bytes.toString("base64url") });
          assert.fail("a self attestation covers every byte");
        } catch (error) {
          assert.equal((error as KeysteadError).code, "ATTESTATION_INVALID", String(error));
        }
      },
    ),
    { numRuns: 300 },
  );
});
