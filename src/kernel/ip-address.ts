import { isIPv4, isIPv6 } from "node:net";

/** IP addresses and blocks of them. An IPv4-mapped IPv6 address is treated as the IPv4 address that it contains, here and everywhere. */

export interface IpAddress {
  family: 4 | 6;
  /** The 32 or 128 bits as a number. */
  bits: bigint;
}

/** All addresses that begin with the first `prefix` bits of `bits`; the bits after those are zero. */
export interface Cidr extends IpAddress {
  prefix: number;
}

const WIDTH = { 4: 32, 6: 128 } as const;
/** ::ffff:0:0/96, RFC 4291 section 2.5.5.2. */
const MAPPED = 0xffffn;
const MAPPED_PREFIX = 96;

/**
 * Parses a dotted quad or any RFC 4291 notation, without brackets or zone. Undefined for everything else, including other notations of IPv4
 * addresses.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (isIPv4(text)) return { family: 4, bits: bitsOfIpv4(text) };
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const bits = bitsOfIpv6(text);
  return isMapped(bits) ? { family: 4, bits: bits & 0xffffffffn } : { family: 6, bits };
}

/**
 * Parses `<address>/<prefix>`, or an address as the block of that single address. Bits after the prefix are cleared, so that all notations
 * of a block are equal.
 */
export function parseCidr(text: string): Cidr | { problem: string } {
  const slash = text.indexOf("/");
  const written = slash < 0 ? text : text.slice(0, slash);
  const address = parseIpAddress(written);
  if (!address) return { problem: "must be an IP address or a CIDR block, such as 203.0.113.0/24 or 2001:db8::/48" };
  const { family, bits } = address;
  if (slash < 0) return { family, bits, prefix: WIDTH[family] };
  const asWritten = written.includes(":") ? 6 : 4;
  const digits = text.slice(slash + 1);
  const given = Number(digits);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(digits) || given > WIDTH[asWritten]) {
    return { problem: `must have a prefix from 0 to ${WIDTH[asWritten]} after its slash` };
  }
  const prefix = asWritten === family ? given : given - MAPPED_PREFIX;
  if (prefix < 0)
    return { problem: `must have a prefix of at least ${MAPPED_PREFIX}: the address is an IPv4-mapped one` };
  const beyond = BigInt(WIDTH[family] - prefix);
  return { family, bits: (bits >> beyond) << beyond, prefix };
}

/** The canonical text of an address: a dotted quad, or RFC 5952. */
export const formatIpAddress = ({ family, bits }: IpAddress): string =>
  family === 4 ? formatIpv4(bits) : formatIpv6(bits);

/** The canonical text of a block. It has a prefix even for a single address. */
export const formatCidr = (cidr: Cidr): string => `${formatIpAddress(cidr)}/${cidr.prefix}`;

export function isWithin(address: IpAddress, cidr: Cidr): boolean {
  if (address.family !== cidr.family) return false;
  const beyond = BigInt(WIDTH[cidr.family] - cidr.prefix);
  return address.bits >> beyond === cidr.bits >> beyond;
}

/** Bits of an IPv6 address that identify the network of one customer or household. Anybody can have any number of addresses within it. */
const NETWORK_PREFIX = 64;
/** Bits of an IPv6 address that identify a customer who has many networks: providers hand out blocks of this size, some for the asking. */
const SITE_PREFIX = 48;

/**
 * The key under which a client's address is counted: an IPv4 address itself, or the network of an IPv6 address. Any other text is returned
 * unchanged.
 */
export const networkOf = (text: string): string => blockOf(text, NETWORK_PREFIX);

/** The same for whoever may have many networks: an IPv4 address itself, or the site of an IPv6 address. */
export const siteOf = (text: string): string => blockOf(text, SITE_PREFIX);

function blockOf(text: string, prefix: number): string {
  if (!text.includes(":")) return text;
  const address = parseIpAddress(text.replace(/%.*$/, ""));
  if (!address) return text;
  if (address.family === 4) return formatIpAddress(address);
  const beyond = BigInt(WIDTH[6] - prefix);
  return formatCidr({ family: 6, bits: (address.bits >> beyond) << beyond, prefix });
}

const isMapped = (bits: bigint): boolean => bits >> 32n === MAPPED;

const bitsOfIpv4 = (text: string): bigint => text.split(".").reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n);

function bitsOfIpv6(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const before = groupsOf(head);
  if (tail === undefined) return joined(before);
  const after = groupsOf(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0n);
  return joined([...before, ...zeros, ...after]);
}

/** Groups of 16 bits. A dotted quad at the end makes two of them. */
function groupsOf(text: string): bigint[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const bits = bitsOfIpv4(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}

const joined = (groups: readonly bigint[]): bigint => groups.reduce((bits, group) => (bits << 16n) | group, 0n);

const formatIpv4 = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join(".");

/** RFC 5952 section 4: lowercase, no leading zeros, the first of the longest runs of zero groups shortened. */
function formatIpv6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  const run = longestRunOfZeros(groups);
  if (run.length < 2) return groups.join(":");
  return `${groups.slice(0, run.start).join(":")}::${groups.slice(run.start + run.length).join(":")}`;
}

function longestRunOfZeros(groups: readonly string[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let length = 0;
  for (const [index, group] of groups.entries()) {
    length = group === "0" ? length + 1 : 0;
    if (length > longest.length) longest = { start: index + 1 - length, length };
  }
  return longest;
}
