import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { encode } from "cborg";
import fc from "fast-check";
import { bytesFromPaddedBase64Url, isAllowedOrigin, parseAuthenticatorData, parseOrigins } from "./webauthn-data.ts";

const rpIdHash = Buffer.alloc(32, 0xaa);
const aaguid = Buffer.alloc(16, 0xbb);
const credentialId = Buffer.from("credential");
const publicKey = Buffer.from(encode(new Map([[1, 2]])));
const attested = Buffer.concat([aaguid, Buffer.of(0, credentialId.length), credentialId, publicKey]);
const extensions = Buffer.from(encode({ credProtect: 2 }));

function data(flags: number, ...parts: Buffer[]): Buffer {
  return Buffer.concat([rpIdHash, Buffer.of(flags, 0, 0, 1, 2), ...parts]);
}

suite("authenticator data", () => {
  test("an assertion's 37 bytes", () => {
    const expected = { rpIdHash, userPresent: true, signCount: 258, attested: undefined };
    assert.deepEqual(parseAuthenticatorData(data(0x05)), expected);
    assert.equal(parseAuthenticatorData(data(0x04))?.userPresent, false);
    // Eligible for backup, and backed up.
    assert.deepEqual(parseAuthenticatorData(data(0x1d)), expected);
  });

  test("a registration's credential, with and without extensions", () => {
    const expected = { aaguid, credentialId, publicKey };
    assert.deepEqual(parseAuthenticatorData(data(0x41, attested))?.attested, expected);
    assert.deepEqual(parseAuthenticatorData(data(0xc1, attested, extensions))?.attested, expected);
    assert.ok(parseAuthenticatorData(data(0x81, extensions)));
  });

  const malformed: [name: string, bytes: Buffer][] = [
    ["nothing", Buffer.alloc(0)],
    ["36 bytes", data(0x01).subarray(0, 36)],
    ["a byte too many", data(0x01, Buffer.of(0))],
    ["a backup state without eligibility", data(0x11)],
    ["a credential without its flag", data(0x01, attested)],
    ["the credential flag without credential", data(0x41)],
    ["a credential cut in its AAGUID", data(0x41, attested.subarray(0, 15))],
    ["a credential cut in its ID", data(0x41, attested.subarray(0, 20))],
    ["a credential cut in its key", data(0x41, attested.subarray(0, -1))],
    ["an ID longer than the data", data(0x41, aaguid, Buffer.of(0xff, 0xff), credentialId, publicKey)],
    ["a key that is no map", data(0x41, aaguid, Buffer.of(0, 0), Buffer.of(0x80))],
    ["extensions without their flag", data(0x41, attested, extensions)],
    ["the extension flag without extensions", data(0xc1, attested)],
    ["extensions that are no map", data(0x81, Buffer.of(0x01))],
    ["an extension twice", data(0x81, Buffer.of(0xa2, 0x61, 0x61, 1, 0x61, 0x61, 1))],
    ["a byte after the extensions", data(0x81, extensions, Buffer.of(0))],
  ];
  for (const [name, bytes] of malformed) {
    test(`${name}: refused`, () => assert.equal(parseAuthenticatorData(bytes), undefined));
  }

  test("no bytes make it throw", () => {
    fc.assert(
      fc.property(fc.constantFrom(0x41, 0x81, 0xc1), fc.uint8Array({ maxLength: 80 }), (flags, rest) => {
        const bytes = data(flags, Buffer.from(rest));
        const parsed = parseAuthenticatorData(bytes);
        assert.ok(parsed === undefined || parsed.signCount === 258);
      }),
      { numRuns: 1000 },
    );
  });
});

test("base64url with or without padding, in no other spelling", () => {
  const valid = { "": "", AA: "00", "AA==": "00", AAA: "0000", "AAA=": "0000", AAAA: "000000", "-_8": "fbff" };
  for (const [text, hex] of Object.entries(valid)) {
    assert.equal(bytesFromPaddedBase64Url(text)?.toString("hex"), hex, text);
  }
  for (const text of [
    "A",
    "AA=",
    "AAA==",
    "AAAA=",
    "AAAA==",
    "=",
    "==",
    "====",
    "AB==",
    "+/8",
    "A A",
    "AA===",
    "AA==\n",
  ]) {
    assert.equal(bytesFromPaddedBase64Url(text), undefined, text);
  }
});

test("origins: any without a list, else letter by letter", () => {
  assert.ok(isAllowedOrigin("https://a.example", undefined));
  assert.ok(isAllowedOrigin("https://a.example", ["https://b.example", "https://a.example"]));
  assert.ok(!isAllowedOrigin("https://a.example", []));
  assert.ok(!isAllowedOrigin("https://a.example", ["https://A.example", "https://a.example:443", "*"]));
});

test("a list of origins: of https pages, of localhost and of Android apps, each as browsers spell it", () => {
  const android = `android:apk-key-hash:${"aB3_-".repeat(8)}xyz`;
  const valid = [
    "https://a.example",
    "https://a.example:8443",
    "https://xn--nxasmq6b.example",
    "http://localhost",
    "http://localhost:3000",
    android,
  ];
  for (const origin of valid) assert.deepEqual(parseOrigins(origin), [origin]);
  assert.deepEqual(parseOrigins(` ${valid.join(" , ")} `), valid);
  const invalid = [
    "",
    "*",
    "null",
    "a.example",
    "https://a.example/",
    "https://a.example:443",
    "https://A.example",
    "https://*.example/path",
    "https://user@a.example",
    "http://a.example",
    "http://localhost.a.example",
    "http://127.0.0.1",
    "ftp://localhost",
    "wss://a.example",
    "android:apk-key-hash:short",
    `${android}=`,
    `x${android}`,
  ];
  for (const origin of invalid) {
    assert.equal(parseOrigins(origin), undefined, origin);
    assert.equal(parseOrigins(`https://a.example,${origin}`), undefined, origin);
  }
});
