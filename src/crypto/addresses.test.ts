import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { bech32, bech32m } from "@scure/base";
import fc from "fast-check";
import { anyText } from "../../test/support/any-text.ts";
import { bytesFromHex, toHex } from "../kernel/bytes.ts";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  addressFormatProblem,
  deriveAddress,
  normalizeAddress,
} from "./addresses.ts";
import type { Curve } from "./curves.ts";

type Case = { format: AddressFormat; curve: Curve; publicKey: string; address: string };

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../test/vectors/addresses/${name}.json`, import.meta.url), "utf8"));
const vectors = (name: string): Case[] => read(name).cases;

const derive = ({ format, curve, publicKey }: Case): string =>
  deriveAddress(format, curve, bytesFromHex(publicKey) ?? Buffer.of());

/** Each computed by the library of its chain: `test/vectors/generate/addresses`. */
const chains = [
  "aptos",
  "bitcoin",
  "cosmos",
  "doge",
  "ethereum",
  "public-keys",
  "sei",
  "solana",
  "spark",
  "stellar",
  "sui",
  "ton",
  "tron",
  "xrp",
];

const curves: Curve[] = ["CURVE_SECP256K1", "CURVE_ED25519", "CURVE_P256"];
const pairs = ADDRESS_FORMATS.flatMap((format) =>
  curves.filter((curve) => addressFormatProblem(format, curve) === undefined).map((curve) => ({ format, curve })),
);

for (const chain of chains) {
  test(`addresses: vectors of ${chain}`, () => {
    for (const each of vectors(chain)) {
      assert.equal(addressFormatProblem(each.format, each.curve), undefined);
      assert.equal(derive(each), each.address, JSON.stringify(each));
    }
  });
}

test("every format and curve has at least five vectors", () => {
  const counts = Map.groupBy(chains.flatMap(vectors), ({ format, curve }) => `${format} ${curve}`);
  for (const { format, curve } of pairs) {
    const count = counts.get(`${format} ${curve}`)?.length ?? 0;
    assert(count >= 5, `${format} has ${count} on ${curve}`);
  }
  assert.equal(counts.size, pairs.length);
});

test("addresses: published values of other origins", () => {
  const cases = vectors("valid");
  assert(cases.length >= 35);
  for (const each of cases) assert.equal(derive(each), each.address, JSON.stringify(each));
});

test("addresses: what wallets show for a well-known mnemonic", () => {
  const cases = vectors("mnemonic");
  assert(cases.length >= 22);
  for (const each of cases) assert.equal(derive(each), each.address, JSON.stringify(each));
});

test("addresses: invalid vectors", () => {
  const cases = vectors("invalid");
  assert(cases.length >= 28);
  for (const each of cases) assert.throws(() => derive(each), Error, JSON.stringify(each));
});

test("the formats are the public API's, in its order", () => {
  const names = read("formats") as string[];
  assert.equal(names.length, 38);
  assert.deepEqual(ADDRESS_FORMATS, names);
});

test("a problem names the curves", () => {
  assert.equal(addressFormatProblem("ADDRESS_FORMAT_SOLANA", "CURVE_P256"), "takes CURVE_ED25519 keys");
  assert.equal(addressFormatProblem("ADDRESS_FORMAT_SEI", "CURVE_ED25519"), "takes CURVE_SECP256K1 keys");
  assert.equal(
    addressFormatProblem("ADDRESS_FORMAT_UNCOMPRESSED", "CURVE_ED25519"),
    "takes CURVE_SECP256K1 or CURVE_P256 keys",
  );
});

const pointBelow = (order: bigint, multiply: (secret: bigint) => Uint8Array) =>
  fc.bigInt({ min: 1n, max: order - 1n }).map(multiply);
const keysOn: Record<Curve, fc.Arbitrary<Uint8Array>> = {
  CURVE_SECP256K1: pointBelow(secp256k1.Point.Fn.ORDER, (secret) => secp256k1.Point.BASE.multiply(secret).toBytes()),
  CURVE_P256: pointBelow(p256.Point.Fn.ORDER, (secret) => p256.Point.BASE.multiply(secret).toBytes()),
  CURVE_ED25519: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((seed) => ed25519.getPublicKey(seed)),
};

test("every format and curve has either an address or a problem", () => {
  for (const curve of curves) {
    const [publicKey] = fc.sample(keysOn[curve], 1);
    assert(publicKey);
    for (const format of ADDRESS_FORMATS) {
      const attempt = () => deriveAddress(format, curve, publicKey);
      if (addressFormatProblem(format, curve) === undefined) assert.notEqual(attempt(), "");
      else assert.throws(attempt, { name: "TypeError", message: `${format} ${addressFormatProblem(format, curve)}` });
    }
  }
});

test("distinct keys have distinct addresses, and every address is found under its own spelling", () => {
  for (const { format, curve } of pairs) {
    fc.assert(
      fc.property(keysOn[curve], keysOn[curve], (one, other) => {
        const [address, another] = [deriveAddress(format, curve, one), deriveAddress(format, curve, other)];
        // Taproot addresses of a key and its negation are equal, and the generator often draws 1 and the order minus 1.
        const told = (publicKey: Uint8Array) => toHex(format.endsWith("_P2TR") ? publicKey.subarray(1) : publicKey);
        assert.equal(address === another, told(one) === told(other));
        const lookup = normalizeAddress(address);
        assert.equal(lookup, format === "ADDRESS_FORMAT_ETHEREUM" ? address.toLowerCase() : address);
      }),
      { numRuns: 10 },
    );
  }
});

test("a Taproot address knows X alone: keys of either Y share it", () => {
  const points = [secp256k1.Point.BASE, secp256k1.Point.BASE.negate()];
  const addresses = points.map((point) =>
    deriveAddress("ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR", "CURVE_SECP256K1", point.toBytes()),
  );
  assert.equal(addresses[0], addresses[1]);
});

test("bytes that are no public key have no address in any format", () => {
  const offCurve = (curve: Curve): Uint8Array => {
    const bytes = curve === "CURVE_ED25519" ? Buffer.alloc(32) : Buffer.concat([Buffer.of(2), Buffer.alloc(32)]);
    if (curve === "CURVE_ED25519") bytes[0] = 2;
    else bytes[32] = curve === "CURVE_P256" ? 7 : 5;
    return bytes;
  };
  assert.throws(() => secp256k1.Point.fromBytes(offCurve("CURVE_SECP256K1")), "the chosen x must have no point");
  assert.throws(() => p256.Point.fromBytes(offCurve("CURVE_P256")), "the chosen x must have no point");
  assert.throws(() => ed25519.Point.fromBytes(offCurve("CURVE_ED25519")), "the chosen y must have no point");
  for (const { format, curve } of pairs) {
    const [publicKey] = fc.sample(keysOn[curve], 1);
    assert(publicKey);
    const wrong = [
      offCurve(curve),
      publicKey.subarray(1),
      publicKey.subarray(0, -1),
      Buffer.concat([publicKey, Buffer.of(0)]),
      Buffer.alloc(publicKey.length, 0xff),
      Buffer.of(),
    ];
    for (const bytes of wrong) {
      assert.throws(() => deriveAddress(format, curve, bytes), Error, `${format} ${curve} ${toHex(bytes)}`);
    }
  }
});

const mixedCases = (text: string): string[] => [
  text,
  text.toLowerCase(),
  text.toUpperCase(),
  [...text].map((letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase())).join(""),
];

test("hex is looked up in any case: Ethereum, Sui, Aptos and public keys", () => {
  for (const chain of ["ethereum", "sui", "aptos"]) {
    for (const { address } of vectors(chain)) {
      for (const spelling of mixedCases(address.slice(2))) {
        assert.equal(normalizeAddress(`0x${spelling}`), address.toLowerCase());
      }
    }
  }
  for (const { address } of vectors("public-keys")) {
    for (const spelling of mixedCases(address)) assert.equal(normalizeAddress(spelling), address);
  }
});

test("bech32 is looked up in upper case too, but not in mixed case", () => {
  const addresses = ["bitcoin", "cosmos", "sei", "spark"].flatMap((chain) =>
    vectors(chain).map((each) => each.address),
  );
  const segwit = addresses.filter((address) => bech32.decodeUnsafe(address) ?? bech32m.decodeUnsafe(address));
  assert(segwit.length >= 70);
  for (const address of segwit) {
    assert.equal(normalizeAddress(address.toUpperCase()), address);
    const capital = address.charAt(0).toUpperCase() + address.slice(1);
    assert.equal(normalizeAddress(capital), capital);
    const typo = address.toUpperCase().replace(/.$/, (last) => (last === "Q" ? "P" : "Q"));
    assert.equal(normalizeAddress(typo), typo);
  }
});

test("TON addresses are looked up in every correct spelling", () => {
  const cases = read("ton-spellings").cases as { address: string; spellings: string[] }[];
  assert(cases.length >= 21);
  const alphabets = new Set<string>();
  for (const { address, spellings } of cases) {
    assert(spellings.length >= 6);
    for (const spelling of spellings) {
      assert.equal(normalizeAddress(spelling), address, spelling);
      for (const letter of spelling.match(/[-_+/:]/g) ?? []) alphabets.add(letter);
    }
  }
  assert.equal(alphabets.size, 5);
});

test("what only resembles a TON address stays as it is", () => {
  const [{ address, spellings }] = read("ton-spellings").cases;
  const bytes = Buffer.from(address, "base64url");
  const changed = (at: number, value: number): string => {
    const copy = Buffer.from(bytes);
    copy[at] = value;
    return copy.toString("base64url");
  };
  const raw: string = spellings.find((spelling: string) => spelling.startsWith("0:"));
  const wrong = [
    ...Array.from(bytes, (byte, at) => changed(at, byte ^ 1)),
    address.slice(1),
    `${address}A`,
    `${address}=`,
    ` ${address}`,
    raw.slice(0, -1),
    `${raw}0`,
    raw.replace("0:", "1:"),
    raw.replace("0:", "-1:"),
    raw.replace("0:", ""),
    // The account of the elector, in the masterchain.
    "Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF",
  ];
  for (const text of wrong) assert.equal(normalizeAddress(text), text);
});

test("other addresses are looked up exactly", () => {
  const others = [
    "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
    "",
    "0xAB",
    "0x9858EfFD232B4033E47d90003D41EC34EcaEda94A",
    "0X9858EFFD232B4033E47D90003D41EC34ECAEDA94",
    "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
    "DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC",
    "GB3JDWCQJCWMJ3IILWIGDTQJJC5567PGVEVXSCVPEQOTDN64VJBDQBYX",
    "rHsMGQEkVNJmpGWs8XUBoTBiAAbwxZN5v3",
    "BC1",
    "A1",
  ];
  for (const other of others) assert.equal(normalizeAddress(other), other);
});

test("any string has a spelling to be looked up under, which is its own", () => {
  const addresses = fc.constantFrom(...chains.flatMap(vectors).map((each) => each.address));
  const damaged = fc
    .tuple(addresses, fc.nat(130), anyText({ maxLength: 3 }))
    .map(([address, at, text]) => address.slice(0, at) + text + address.slice(at + 1));
  const repeated = fc
    .tuple(fc.constantFrom("A", "1", "0", "a", "A1", "0x", "04", "0:", "=", "\u0000", "é", "\ud800"), fc.nat(1024))
    .map(([text, length]) => text.repeat(length).slice(0, length));
  const anything = anyText({ maxLength: 1024 });
  fc.assert(
    fc.property(fc.oneof(anything, damaged, repeated, addresses), (text) => {
      const lookup = normalizeAddress(text);
      assert.equal(normalizeAddress(lookup), lookup);
    }),
    { numRuns: 2000 },
  );
});
