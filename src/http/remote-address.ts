import { type Cidr, formatIpAddress, type IpAddress, isWithin, parseIpAddress } from "../kernel/ip-address.ts";
import { MAX_FORWARDED_ADDRESSES } from "../kernel/limits.ts";

/** The client's address as text, without a zone, from the connection's address and the X-Forwarded-For header. Undefined if unknown. */
export type RemoteAddressOf = (connection: string | undefined, forwardedFor: string | undefined) => string | undefined;

/**
 * Every proxy appends to X-Forwarded-For the address that it received the request from. The header is therefore read from the right, while
 * the entries were written by trusted proxies: the first address that is not a trusted proxy is the client. Entries left of it are the
 * client's own claims. If a trusted proxy's entry is not an address, the client is unknown.
 */
export function remoteAddressBehind(trustedProxies: readonly Cidr[]): RemoteAddressOf {
  if (trustedProxies.length === 0) return (connection) => connection && withoutZone(connection);
  const isTrusted = (address: IpAddress | undefined) => isWithinAny(address, trustedProxies);
  return (connection, forwardedFor) => {
    let address = connection === undefined ? undefined : parseIpAddress(withoutZone(connection));
    let rest = forwardedFor;
    for (let looked = 0; rest !== undefined && isTrusted(address); looked++) {
      if (looked === MAX_FORWARDED_ADDRESSES) return undefined;
      const comma = rest.lastIndexOf(",");
      address = parseIpAddress(withoutPort(rest.slice(comma + 1).trim()));
      rest = comma < 0 ? undefined : rest.slice(0, comma);
    }
    return address && formatIpAddress(address);
  };
}

/** Whether the connection of this address is that of a trusted proxy. */
export const isProxyAmong =
  (trustedProxies: readonly Cidr[]) =>
  (connection: string | undefined): boolean =>
    connection !== undefined && isWithinAny(parseIpAddress(withoutZone(connection)), trustedProxies);

const isWithinAny = (address: IpAddress | undefined, blocks: readonly Cidr[]): boolean =>
  address !== undefined && blocks.some((block) => isWithin(address, block));

/** A link-local address includes a network interface, which is the server's. */
const withoutZone = (text: string): string => text.replace(/%.*$/, "");

/** Removes the port and brackets that some proxies write: `203.0.113.7:443`, `[2001:db8::1]:443`, `[2001:db8::1]`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^[\]]*)\](:[0-9]{1,5})?$/.exec(entry);
  if (bracketed) return bracketed[1] ?? "";
  return entry.replace(/^([0-9.]+):[0-9]{1,5}$/, "$1");
}
