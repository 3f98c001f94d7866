import assert from "node:assert/strict";
import { BlockList, SocketAddress } from "node:net";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Cidr, formatCidr, formatIpAddress, isWithin, parseCidr, parseIpAddress } from "./ip-address.ts";

const cidrOf = (text: string): Cidr => {
  const cidr = parseCidr(text);
  assert.ok(!("problem" in cidr), `${text} is a block`);
  return cidr;
};
const normalized = (text: string): string => formatCidr(cidrOf(text));

describe("addresses", () => {
  const spellings: Record<string, string> = {
    "203.0.113.7": "203.0.113.7",
    "0.0.0.0": "0.0.0.0",
    "255.255.255.255": "255.255.255.255",
    "::": "::",
    "::1": "::1",
    "2001:DB8:0:0:0:0:0:1": "2001:db8::1",
    "2001:0db8:0000:0000:0001:0000:0000:0001": "2001:db8::1:0:0:1",
    "2001:db8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1",
    "2001:db8::": "2001:db8::",
    "64:ff9b::192.0.2.33": "64:ff9b::c000:221",
    "::ffff:203.0.113.7": "203.0.113.7",
    "::FFFF:cb00:7107": "203.0.113.7",
    "0:0:0:0:0:ffff:203.0.113.7": "203.0.113.7",
  };
  for (const [text, expected] of Object.entries(spellings)) {
    it(`${text} is ${expected}`, () => {
      const address = parseIpAddress(text);
      assert.ok(address);
      assert.equal(formatIpAddress(address), expected);
    });
  }

  const others = [
    "",
    " 203.0.113.7",
    "203.0.113.7 ",
    "203.0.113",
    "203.0.113.256",
    "203.0.113.07",
    "0xcb007107",
    "3405803783",
    "203.0.113.7:80",
    "[::1]",
    "fe80::1%eth0",
    "1::2::3",
    ":::",
    "::ffff:1.2.3",
    "12345::",
    "localhost",
    "203.0.113.7/32",
  ];
  for (const text of others) {
    it(`${JSON.stringify(text)} is none`, () => assert.equal(parseIpAddress(text), undefined));
  }

  it("are read as Node reads them, and written so that they are read as the same", () => {
    const ipv6 = fc.oneof(
      fc.ipV6(),
      fc
        .array(fc.constantFrom("0", "0", "1", "ffff", "db8"), { minLength: 8, maxLength: 8 })
        .map((groups) => groups.join(":")),
    );
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), ipv6), (text) => {
        const address = parseIpAddress(text);
        assert.ok(address, text);
        const written = formatIpAddress(address);
        assert.deepEqual(parseIpAddress(written), address);
        const family = text.includes(":") ? "ipv6" : "ipv4";
        const ofNode = new SocketAddress({ address: text, family }).address.replace(/^::ffff:(?=.*\.)/, "");
        // Node writes the last 32 bits of ::/96 as a dotted quad; RFC 5952 section 5 leaves that open.
        if (ofNode.includes(".") && address.family === 6) return;
        assert.equal(written, ofNode);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("blocks", () => {
  const spellings: Record<string, string> = {
    "203.0.113.0/24": "203.0.113.0/24",
    "203.0.113.77/24": "203.0.113.0/24",
    "203.0.113.77": "203.0.113.77/32",
    "255.255.255.255/0": "0.0.0.0/0",
    "2001:db8:1:2:3::/48": "2001:db8:1::/48",
    "2001:DB8::1": "2001:db8::1/128",
    "::ffff:203.0.113.77/120": "203.0.113.0/24",
    "::ffff:203.0.113.77": "203.0.113.77/32",
    "::/0": "::/0",
  };
  for (const [text, expected] of Object.entries(spellings)) {
    it(`${text} is ${expected}`, () => assert.equal(normalized(text), expected));
  }

  const others: Record<string, RegExp> = {
    "": /IP address or a CIDR block/,
    "/24": /IP address or a CIDR block/,
    "example.com/24": /IP address or a CIDR block/,
    "203.0.113.0/33": /prefix from 0 to 32/,
    "203.0.113.0/": /prefix from 0 to 32/,
    "203.0.113.0/024": /prefix from 0 to 32/,
    "203.0.113.0/+24": /prefix from 0 to 32/,
    "203.0.113.0/-1": /prefix from 0 to 32/,
    "203.0.113.0/24/24": /prefix from 0 to 32/,
    "203.0.113.0/255.255.255.0": /prefix from 0 to 32/,
    "203.0.113.0/1e1": /prefix from 0 to 32/,
    "2001:db8::/129": /prefix from 0 to 128/,
    "::ffff:203.0.113.0/95": /at least 96/,
    "::ffff:203.0.113.0/24": /at least 96/,
  };
  for (const [text, expected] of Object.entries(others)) {
    it(`${JSON.stringify(text)} is none`, () => {
      const refused = parseCidr(text);
      assert.ok("problem" in refused);
      assert.match(refused.problem, expected);
    });
  }

  const block = fc.oneof(
    fc.record({ network: fc.ipV4(), prefix: fc.integer({ min: 0, max: 32 }), family: fc.constant("ipv4" as const) }),
    fc.record({ network: fc.ipV6(), prefix: fc.integer({ min: 0, max: 128 }), family: fc.constant("ipv6" as const) }),
  );

  it("have one spelling, which means the same", () => {
    fc.assert(
      fc.property(block, ({ network, prefix }) => {
        const cidr = parseCidr(`${network}/${prefix}`);
        if ("problem" in cidr) return;
        assert.deepEqual(cidrOf(formatCidr(cidr)), cidr);
      }),
    );
  });

  it("hold what Node's block lists hold", () => {
    /** The network with some of its last bits flipped: an address near the edge of the block, inside or outside. */
    const near = (network: string, flipped: bigint): string | undefined => {
      const address = parseIpAddress(network);
      if (!address) return undefined;
      return formatIpAddress({
        ...address,
        bits: address.bits ^ (flipped & (address.family === 4 ? 0xffffffffn : ~0n)),
      });
    };
    let inside = 0;
    let outside = 0;
    fc.assert(
      fc.property(block, fc.integer({ min: 0, max: 127 }), ({ network, prefix, family }, bit) => {
        const parsed = parseIpAddress(network);
        if (!parsed || parsed.family !== (family === "ipv4" ? 4 : 6)) return;
        const address = near(network, 1n << BigInt(family === "ipv4" ? bit % 32 : bit)) as string;
        const list = new BlockList();
        list.addSubnet(network, prefix, family);
        const other = parseIpAddress(address);
        assert.ok(other);
        if (other.family !== parsed.family) return;
        const expected = list.check(address, family);
        if (expected) inside++;
        else outside++;
        assert.equal(isWithin(other, cidrOf(`${network}/${prefix}`)), expected, `${address} in ${network}/${prefix}`);
      }),
      { numRuns: 2000 },
    );
    assert.ok(inside > 200 && outside > 200, `${inside} inside, ${outside} outside`);
  });

  it("of one family hold nothing of the other", () => {
    assert.equal(isWithin(parseIpAddress("::1") as never, cidrOf("0.0.0.0/0")), false);
    assert.equal(isWithin(parseIpAddress("0.0.0.1") as never, cidrOf("::/0")), false);
    assert.equal(isWithin(parseIpAddress("::ffff:10.0.0.1") as never, cidrOf("10.0.0.0/8")), true);
  });
});
