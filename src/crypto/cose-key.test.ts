import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { encode } from "cborg";
import fc from "fast-check";
import { encodeCoseKey, generateKeys } from "../../test/support/authenticator.ts";
import { parseCosePublicKey } from "./cose-key.ts";

const ec = generateKeys("ES256").publicKey;
const { x = "", y = "" } = ec.export({ format: "jwk" });
const ec2: [unknown, unknown][] = [
  [1, 2],
  [3, -7],
  [-1, 1],
  [-2, Buffer.from(x, "base64url")],
  [-3, Buffer.from(y, "base64url")],
];
const modulus = Buffer.from(generateKeys("RS256").publicKey.export({ format: "jwk" }).n ?? "", "base64url");
const rsa: [unknown, unknown][] = [
  [1, 3],
  [3, -257],
  [-1, modulus],
  [-2, Buffer.of(1, 0, 1)],
];

function cose(parameters: [unknown, unknown][], ...changes: [unknown, unknown][]): Buffer {
  const map = new Map(parameters);
  for (const [label, value] of changes) value === undefined ? map.delete(label) : map.set(label, value);
  return Buffer.from(encode(map));
}

suite("COSE public keys", () => {
  test("an ES256 and an RS256 key are read, and read once", () => {
    assert.equal(parseCosePublicKey(cose(ec2))?.algorithm, -7);
    assert.ok(parseCosePublicKey(cose(ec2))?.key.equals(ec));
    assert.equal(parseCosePublicKey(cose(rsa))?.algorithm, -257);
    assert.equal(parseCosePublicKey(cose(rsa)), parseCosePublicKey(cose(rsa)));
    const large = generateKeys("RS256", 4096).publicKey;
    assert.ok(parseCosePublicKey(encodeCoseKey(large))?.key.equals(large));
    assert.equal(parseCosePublicKey(cose(rsa, [-2, Buffer.of(3)]))?.key.asymmetricKeyDetails?.publicExponent, 3n);
  });

  const valid = cose(ec2);
  const refused: [name: string, bytes: Uint8Array][] = [
    ["nothing", Buffer.alloc(0)],
    ["not a map", encode([1, 2])],
    ["an empty map", encode(new Map())],
    ["trailing bytes", Buffer.concat([valid, Buffer.of(0)])],
    ["cut short", valid.subarray(0, -1)],
    ["a label twice", Buffer.concat([Buffer.of(0xa6), valid.subarray(1), Buffer.of(1, 2)])],
    ["an indefinite map", Buffer.concat([Buffer.of(0xbf), valid.subarray(1), Buffer.of(0xff)])],
    ["a number not in its shortest form", Buffer.concat([Buffer.of(0xa5, 0x18, 0x01), valid.subarray(2)])],
    ["no key type", cose(ec2, [1, undefined])],
    ["no algorithm", cose(ec2, [3, undefined])],
    ["ES384", cose(ec2, [3, -35])],
    ["RS256 on an EC key", cose(ec2, [3, -257])],
    ["ES256 on an RSA key", cose(rsa, [3, -7])],
    ["RS1", cose(rsa, [3, -65535])],
    ["PS256", cose(rsa, [3, -37])],
    ["P-384", cose(ec2, [-1, 2])],
    ["secp256k1", cose(ec2, [-1, 8])],
    ["no curve", cose(ec2, [-1, undefined])],
    ["x of 31 bytes", cose(ec2, [-2, Buffer.from(x, "base64url").subarray(1)])],
    ["x of 33 bytes", cose(ec2, [-2, Buffer.concat([Buffer.of(0), Buffer.from(x, "base64url")])])],
    ["y of 31 bytes", cose(ec2, [-3, Buffer.from(y, "base64url").subarray(1)])],
    ["y of 33 bytes", cose(ec2, [-3, Buffer.concat([Buffer.of(0), Buffer.from(y, "base64url")])])],
    ["x as a list of numbers", cose(ec2, [-2, [...Buffer.from(x, "base64url")]])],
    ["an EC key that says RSA", cose(ec2, [1, 3])],
    ["an RSA key that says EC2", cose(rsa, [1, 2])],
    ["a modulus as a list of numbers", cose(rsa, [-1, [...modulus]])],
    ["y as a sign bit", cose(ec2, [-3, true])],
    ["y as text", cose(ec2, [-3, y])],
    ["off the curve", cose(ec2, [-3, Buffer.from(x, "base64url")])],
    ["all zero", cose(ec2, [-2, Buffer.alloc(32)], [-3, Buffer.alloc(32)])],
    ["x not below the prime", cose(ec2, [-2, Buffer.alloc(32, 0xff)])],
    ["a private part", cose(ec2, [-4, Buffer.alloc(32, 1)])],
    ["a key ID", cose(rsa, [2, Buffer.of(1)])],
    ["a modulus of 2047 bits", cose(rsa, [-1, withTopByte(modulus, 0x7f)])],
    ["a modulus of 8193 bits", cose(rsa, [-1, Buffer.concat([Buffer.of(1), Buffer.alloc(1024, 0xff)])])],
    ["a padded modulus", cose(rsa, [-1, Buffer.concat([Buffer.of(0), modulus])])],
    ["an even modulus", cose(rsa, [-1, Buffer.concat([modulus.subarray(0, -1), Buffer.of(2)])])],
    ["an empty modulus", cose(rsa, [-1, Buffer.alloc(0)])],
    ["exponent 1", cose(rsa, [-2, Buffer.of(1)])],
    ["exponent 2", cose(rsa, [-2, Buffer.of(2)])],
    ["an even exponent", cose(rsa, [-2, Buffer.of(1, 0, 2)])],
    ["a padded exponent", cose(rsa, [-2, Buffer.of(0, 1, 0, 1)])],
    ["an exponent of 9 bytes", cose(rsa, [-2, Buffer.alloc(9, 0xff)])],
    ["an exponent that is a number", cose(rsa, [-2, 65537])],
  ];
  for (const [name, bytes] of refused) {
    test(`${name} is refused`, () => assert.equal(parseCosePublicKey(bytes), undefined));
  }

  test("a modulus of exactly 2048 bits with the lowest top bit is accepted", () => {
    assert.ok(parseCosePublicKey(cose(rsa, [-1, withTopByte(modulus, 0x80)])));
  });

  test("a modulus of 8192 bits and an exponent of 8 bytes are accepted", () => {
    const longest = Buffer.alloc(1024, 0xff);
    assert.ok(parseCosePublicKey(cose(rsa, [-1, longest])));
    assert.ok(parseCosePublicKey(cose(rsa, [-2, Buffer.alloc(8, 0x7f)])));
  });

  test("no bytes make it throw", () => {
    const nested = Buffer.alloc(60_000, 0xa1);
    assert.equal(parseCosePublicKey(nested), undefined);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        assert.equal(parseCosePublicKey(bytes), undefined);
      }),
    );
  });
});

function withTopByte(bytes: Buffer, top: number): Buffer {
  return Buffer.concat([Buffer.of(top), bytes.subarray(1)]);
}
