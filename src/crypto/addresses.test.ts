import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bytesFromHex } from "../kernel/bytes.ts";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  addressFormatProblem,
  deriveAddress,
  normalizeAddress,
} from "./addresses.ts";
import type { Curve } from "./curves.ts";

type Case = { format: AddressFormat; curve: Curve; publicKey: string; address: string };

const vectors = (name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../../test/vectors/addresses/${name}.json`, import.meta.url), "utf8")).cases;

const derive = ({ format, curve, publicKey }: Case): string =>
  deriveAddress(format, curve, bytesFromHex(publicKey) ?? Buffer.of());

test("addresses: valid vectors", () => {
  const cases = vectors("valid");
  assert(cases.length >= 34);
  for (const each of cases) {
    assert.equal(addressFormatProblem(each.format, each.curve), undefined);
    assert.equal(derive(each), each.address);
  }
});

test("addresses: invalid vectors", () => {
  const cases = vectors("invalid");
  assert(cases.length >= 15);
  for (const each of cases) assert.throws(() => derive(each), Error, JSON.stringify(each));
});

test("the formats are the public API's, in its order", () => {
  const names = JSON.parse(
    readFileSync(new URL("../../test/vectors/addresses/formats.json", import.meta.url), "utf8"),
  ) as string[];
  assert.equal(names.length, 38);
  assert.deepEqual(ADDRESS_FORMATS, names);
});

test("a problem names the curves, or what is supported", () => {
  assert.equal(addressFormatProblem("ADDRESS_FORMAT_SOLANA", "CURVE_P256"), "takes CURVE_ED25519 keys");
  assert.equal(addressFormatProblem("ADDRESS_FORMAT_ETHEREUM", "CURVE_P256"), "takes CURVE_SECP256K1 keys");
  assert.equal(
    addressFormatProblem("ADDRESS_FORMAT_UNCOMPRESSED", "CURVE_ED25519"),
    "takes CURVE_SECP256K1 or CURVE_P256 keys",
  );
  assert.equal(
    addressFormatProblem("ADDRESS_FORMAT_COSMOS", "CURVE_SECP256K1"),
    "is not supported yet; supported are ADDRESS_FORMAT_UNCOMPRESSED, ADDRESS_FORMAT_COMPRESSED, ADDRESS_FORMAT_ETHEREUM, ADDRESS_FORMAT_SOLANA",
  );
});

test("every format and curve has either an address or a problem", () => {
  const key: Record<Curve, string> = {
    CURVE_SECP256K1: "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    CURVE_P256: "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    CURVE_ED25519: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  };
  for (const format of ADDRESS_FORMATS) {
    for (const curve of Object.keys(key) as Curve[]) {
      const attempt = () => derive({ format, curve, publicKey: key[curve], address: "" });
      if (addressFormatProblem(format, curve) === undefined) assert.notEqual(attempt(), "");
      else assert.throws(attempt, TypeError);
    }
  }
});

test("Ethereum addresses are looked up in any case, others exactly", () => {
  const checksummed = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
  assert.equal(normalizeAddress(checksummed), checksummed.toLowerCase());
  assert.equal(normalizeAddress(checksummed.toUpperCase().replace("X", "x")), checksummed.toLowerCase());
  const others = [
    "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
    "",
    "0xAB",
    `${checksummed}A`,
    "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH",
  ];
  for (const other of others) assert.equal(normalizeAddress(other), other);
});
