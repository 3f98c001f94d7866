import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Cidr, formatIpAddress, parseCidr, parseIpAddress } from "../kernel/ip-address.ts";
import { MAX_FORWARDED_ADDRESSES } from "../kernel/limits.ts";
import { remoteAddressBehind } from "./remote-address.ts";

const direct = remoteAddressBehind([]);
const behind = remoteAddressBehind(["10.0.0.0/8", "fd00::/8"].map((text) => parseCidr(text) as Cidr));

describe("without trusted proxies the connection counts alone", () => {
  it("whatever the header says", () => {
    assert.equal(direct("203.0.113.7", "198.51.100.1"), "203.0.113.7");
    assert.equal(direct("fe80::1%eth0", undefined), "fe80::1");
    assert.equal(direct(undefined, "198.51.100.1"), undefined);
  });
});

describe("behind trusted proxies", () => {
  const cases: [
    what: string,
    connection: string | undefined,
    header: string | undefined,
    expected: string | undefined,
  ][] = [
    ["no header", "10.0.0.1", undefined, "10.0.0.1"],
    ["one client", "10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["two proxies", "10.0.0.1", "203.0.113.7, 10.0.0.2", "203.0.113.7"],
    ["a proxy over IPv4-mapped IPv6", "::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["a proxy over IPv6", "fd00::1", "2001:DB8:0::7", "2001:db8::7"],
    ["a spoofed entry", "10.0.0.1", "127.0.0.1, 203.0.113.7", "203.0.113.7"],
    ["a spoofed proxy", "10.0.0.1", "127.0.0.1,10.0.0.9,203.0.113.7", "203.0.113.7"],
    ["spoofed nonsense", "10.0.0.1", "'; drop table, 203.0.113.7", "203.0.113.7"],
    ["an untrusted connection", "203.0.113.9", "127.0.0.1", "203.0.113.9"],
    ["a client inside the trusted networks", "10.0.0.1", "10.7.7.7", "10.7.7.7"],
    ["a port", "10.0.0.1", "203.0.113.7:65535", "203.0.113.7"],
    ["IPv6 in brackets", "10.0.0.1", "[2001:db8::7]", "2001:db8::7"],
    ["IPv6 in brackets with a port", "10.0.0.1", "[2001:db8::7]:443", "2001:db8::7"],
    ["no word", "10.0.0.1", "", undefined],
    ["an unknown client", "10.0.0.1", "unknown", undefined],
    ["an unknown client before a proxy", "10.0.0.1", "203.0.113.7, _hidden, 10.0.0.2", undefined],
    ["another spelling of an address", "10.0.0.1", "0x7f.1", undefined],
    ["a bad port", "10.0.0.1", "203.0.113.7:port", undefined],
    ["no connection any more", undefined, "203.0.113.7", undefined],
  ];
  for (const [what, connection, header, expected] of cases) {
    it(what, () => assert.equal(behind(connection, header), expected));
  }

  it("whatever a client writes to the left of its own address changes nothing", () => {
    const left = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constant("10.0.0.1"));
    fc.assert(
      fc.property(fc.array(left), fc.oneof(fc.ipV4(), fc.ipV6()), (spoofed, client) => {
        const address = parseIpAddress(client);
        assert.ok(address);
        const alone = behind("10.0.0.1", client);
        if (alone !== formatIpAddress(address) || /^(10\.|fd)/.test(alone)) return;
        assert.equal(behind("10.0.0.1", [...spoofed, client].join(",")), alone);
      }),
    );
  });

  it("only so many entries are looked at", () => {
    const proxies = (count: number) => Array.from({ length: count }, () => "10.0.0.2").join();
    assert.equal(behind("10.0.0.1", `203.0.113.7,${proxies(MAX_FORWARDED_ADDRESSES - 1)}`), "203.0.113.7");
    assert.equal(behind("10.0.0.1", `203.0.113.7,${proxies(MAX_FORWARDED_ADDRESSES)}`), undefined);
  });
});
