import { BlockList, isIPv4, isIPv6 } from "node:net";

/** IPv4 blocks without public hosts: IANA IPv4 Special-Purpose Address Registry (RFC 6890), and multicast. */
const SPECIAL_IPV4: readonly [string, number][] = [
  ["0.0.0.0", 8], // this network, RFC 791
  ["10.0.0.0", 8], // private use, RFC 1918
  ["100.64.0.0", 10], // carrier-grade NAT, RFC 6598; a cloud's metadata at 100.100.100.200
  ["127.0.0.0", 8], // loopback, RFC 1122
  ["168.63.129.16", 32], // a cloud's virtual host service, reachable only from inside a virtual machine
  ["169.254.0.0", 16], // link-local, RFC 3927; metadata at 169.254.169.254
  ["172.16.0.0", 12], // private use, RFC 1918
  ["192.0.0.0", 24], // IETF protocol assignments, RFC 6890
  ["192.0.2.0", 24], // documentation, RFC 5737
  ["192.88.99.0", 24], // 6to4 relay anycast, RFC 7526
  ["192.168.0.0", 16], // private use, RFC 1918
  ["198.18.0.0", 15], // benchmarking, RFC 2544
  ["198.51.100.0", 24], // documentation, RFC 5737
  ["203.0.113.0", 24], // documentation, RFC 5737
  ["224.0.0.0", 4], // multicast, RFC 5771
  ["240.0.0.0", 4], // reserved, RFC 1112; broadcast 255.255.255.255
];

/**
 * Special-purpose blocks inside 2000::/3 (IANA IPv6 Special-Purpose Address Registry). Everything outside 2000::/3 is refused: ::, ::1,
 * IPv4-compatible and IPv4-mapped, NAT64, discard, unique local, link-local, site-local, multicast.
 */
const SPECIAL_IPV6: readonly [string, number][] = [
  ["2001::", 23], // IETF protocol assignments, RFC 2928: Teredo, benchmarking, ORCHID
  ["2001:db8::", 32], // documentation, RFC 3849
  ["2002::", 16], // 6to4, RFC 3056: holds an IPv4 address
  ["3fff::", 20], // documentation, RFC 9637
];

// One list per family, because a BlockList compares IPv4 addresses also with rules for IPv4-mapped addresses.
const specialIpv4 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV4) specialIpv4.addSubnet(network, prefix, "ipv4");

const globalUnicast = new BlockList();
globalUnicast.addSubnet("2000::", 3, "ipv6"); // RFC 4291 section 2.4, as assigned by IANA

const specialIpv6 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV6) specialIpv6.addSubnet(network, prefix, "ipv6");

/**
 * Whether `ip` is a public address. Accepts a dotted quad or any RFC 4291 notation without brackets. False for everything else: other IPv4
 * notations, scoped addresses (`fe80::1%eth0`), host names.
 *
 * A network's own NAT64 prefix (RFC 6052 section 2.2) looks like any other address and cannot be detected here.
 */
export function isPublicAddress(ip: string): boolean {
  if (isIPv4(ip)) return !specialIpv4.check(ip, "ipv4");
  if (!isIPv6(ip) || ip.includes("%")) return false;
  return globalUnicast.check(ip, "ipv6") && !specialIpv6.check(ip, "ipv6");
}
