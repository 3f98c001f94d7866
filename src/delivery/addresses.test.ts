import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { isPublicAddress } from "./addresses.ts";
import { checkOutboundUrl } from "./url-rules.ts";

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/iana-special-purpose/addresses.json", import.meta.url), "utf8"),
) as Record<"public" | "special" | "notAnAddress", string[]>;

test("public addresses are public", () => {
  assert.ok(vectors.public.length >= 46);
  for (const address of vectors.public) assert.equal(isPublicAddress(address), true, address);
});

test("special-purpose addresses are not", () => {
  assert.ok(vectors.special.length >= 100);
  for (const address of vectors.special) assert.equal(isPublicAddress(address), false, address);
});

test("what is not an address is not a public one", () => {
  assert.ok(vectors.notAnAddress.length >= 30);
  for (const text of vectors.notAnAddress) assert.equal(isPublicAddress(text), false, JSON.stringify(text));
});

const ipv4Of = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join(".");
const groupsOf = (value: bigint) =>
  Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
const ipv6Of = (value: bigint) =>
  groupsOf(value)
    .map((group) => group.toString(16))
    .join(":");

test("no special IPv4 address becomes public inside an IPv6 transition prefix", () => {
  const prefixes = [
    "::",
    "::ffff:",
    "::ffff:0:",
    "64:ff9b::",
    "64:ff9b:1::",
    "64:ff9b:1:ffff::",
    "2002:",
    "2001:0:", // biome-ignore format: a list
  ];
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffffff }), fc.constantFrom(...prefixes), (value, prefix) => {
      const embedded = `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
      const address = prefix.startsWith("200") ? `${prefix}${embedded}::` : `${prefix}${embedded}`;
      assert.equal(isPublicAddress(address), false, address);
    }),
    { numRuns: 2000 },
  );
});

/** A number in one of the radixes that the URL Standard's IPv4 parser accepts. */
function inRadix(value: number, radix: number, zeros: number): string {
  const padding = "0".repeat(zeros);
  if (radix === 16) return `0x${padding}${value.toString(16)}`;
  if (radix === 17) return `0X${padding}${value.toString(16).toUpperCase()}`;
  if (radix === 8) return `0${padding}${value.toString(8)}`;
  return String(value);
}

/** If there are fewer than four parts, the last one takes all remaining bytes. */
function ipv4Parts(value: number, count: number): number[] {
  const first = Array.from({ length: count - 1 }, (_, index) => (value >>> (24 - 8 * index)) & 0xff);
  return [...first, count === 1 ? value : value & (2 ** (8 * (5 - count)) - 1)];
}

const disguises: ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text}.`,
  (text) => text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (text) => text.replace(/[0-9a-fx]/g, (char) => `%${char.charCodeAt(0).toString(16)}`),
  (text) => text.replaceAll(".", "。"),
  (text) => text.replaceAll(".", "%2e"),
];

/** Random addresses, most of them near the edge of a special-purpose block. */
const ipv4Values = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc
    .tuple(
      fc.constantFrom(0x0a000000, 0x64400000, 0x7f000000, 0xa83f8110, 0xa9fea9fe, 0xac100000, 0xc0000000, 0xc0000200),
      fc.integer({ min: -300, max: 300 }),
    )
    .map(([edge, offset]) => edge + offset),
);

test("every spelling of an IPv4 address that the URL parser takes gets the verdict of the address", () => {
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(
      ipv4Values,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom(8, 10, 16, 17), { minLength: 4, maxLength: 4 }),
      fc.integer({ min: 0, max: 3 }),
      fc.constantFrom(...disguises),
      (value, count, radices, zeros, disguise) => {
        const parts = ipv4Parts(value, count).map((part, index) => inRadix(part, radices[index] ?? 10, zeros));
        const text = `https://${disguise(parts.join("."))}/`;
        const checked = checkOutboundUrl(text, { allowPrivateNetworks: false });
        const expected = isPublicAddress(ipv4Of(value));
        verdicts.add(expected);
        assert.equal("url" in checked, expected, `${text} is ${ipv4Of(value)}`);
        if ("url" in checked) assert.equal(checked.url.hostname, ipv4Of(value));
      },
    ),
    { numRuns: 5000 },
  );
  assert.equal(verdicts.size, 2);
});

/** One of the notations of an address in RFC 4291 section 2.2. */
function spellIpv6(
  value: bigint,
  style: { padded: boolean; upper: boolean; dotted: boolean; squeeze: number },
): string {
  const groups = groupsOf(value);
  const texts = groups.map((group) => group.toString(16).padStart(style.padded ? 4 : 1, "0"));
  if (style.dotted) texts.splice(6, 2, ipv4Of(Number(value & 0xffffffffn)));
  const limit = style.dotted ? 6 : 8;
  let end = style.squeeze;
  while (end < limit && groups[end] === 0) end++;
  const squeezed =
    end > style.squeeze ? `${texts.slice(0, style.squeeze).join(":")}::${texts.slice(end).join(":")}` : texts.join(":");
  return style.upper ? squeezed.toUpperCase() : squeezed;
}

const ipv6Values = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  fc.bigInt({ min: 2n ** 125n, max: 2n ** 126n - 1n }),
  fc
    .tuple(
      fc.constantFrom(0n, 0xffffn << 32n, 0x64ff9bn << 96n, 0x20010db8n << 96n, 0x2002n << 112n, 0x26064700n << 96n),
      fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }),
    )
    .map(([prefix, low]) => prefix | low),
);

test("every spelling of an IPv6 address that the URL parser takes gets the verdict of the address", () => {
  const verdicts = new Set<boolean>();
  const style = fc.record({
    padded: fc.boolean(),
    upper: fc.boolean(),
    dotted: fc.boolean(),
    squeeze: fc.integer({ min: 0, max: 7 }),
  });
  fc.assert(
    fc.property(ipv6Values, style, (value, chosen) => {
      const spelling = spellIpv6(value, chosen);
      const expected = isPublicAddress(ipv6Of(value));
      verdicts.add(expected);
      assert.equal(isPublicAddress(spelling), expected, `${spelling} is ${ipv6Of(value)}`);
      const checked = checkOutboundUrl(`https://[${spelling}]/`, { allowPrivateNetworks: false });
      assert.equal("url" in checked, expected, `${spelling} is ${ipv6Of(value)}`);
    }),
    { numRuns: 5000 },
  );
  assert.equal(verdicts.size, 2);
});
