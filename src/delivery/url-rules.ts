import { isIP } from "node:net";
import { MAX_URL_LENGTH } from "../kernel/limits.ts";
import { isPublicAddress } from "./addresses.ts";

/** `allowPrivateNetworks` allows plain http, private addresses and local names. For development only. */
export interface OutboundPolicy {
  allowPrivateNetworks: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SPACE_OR_CONTROL = /[\u0000-\u0020\u007f]/;
const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\]+)/i;
const LABEL = /^[a-z0-9_-]{1,63}$/;
const MAX_HOSTNAME_LENGTH = 253;
/**
 * RFC 6761 section 6.3, RFC 6762 section 3, RFC 8375, ICANN resolution 2024.07.29.06, and `localdomain`, which resolvers traditionally use.
 */
const LOCAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;

/** @param name in lowercase */
export const isLocalName = (name: string): boolean => LOCAL_NAME.test(name);

/**
 * Checks a URL that an organization asks the service to call. `problem` continues a sentence that begins with the field's name ("must use
 * https"). The returned URL is the WHATWG URL: its host is lowercase, in IDNA ASCII form, and canonical if it is an address. Always connect
 * to this URL, never to the text.
 *
 * What a host name resolves to is checked later, when connecting.
 */
export function checkOutboundUrl(text: string, policy: OutboundPolicy): { url: URL } | { problem: string } {
  const textProblem = problemOfText(text);
  if (textProblem !== undefined) return { problem: textProblem };
  const url = URL.parse(text);
  if (url === null) return { problem: "is not a valid URL" };
  const problem = problemOfUrl(url, policy) ?? problemOfHost(url.hostname, policy);
  return problem === undefined ? { url } : { problem };
}

/** Refuses everything that the URL parser would correct silently, because another parser might correct it to a different host. */
function problemOfText(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`;
  if (!text.isWellFormed()) return "is not well-formed Unicode";
  if (SPACE_OR_CONTROL.test(text)) return "must not contain spaces or control characters";
  if (text.includes("\\")) return "must not contain a backslash";
  if (text.includes("#")) return "must not contain a fragment";
  const authority = SCHEME_AND_AUTHORITY.exec(text)?.[1];
  if (authority === undefined) return "must be an absolute URL with a host, such as https://example.com/hook";
  if (authority.includes("@")) return "must not contain a user name or password";
  return undefined;
}

function problemOfUrl(url: URL, policy: OutboundPolicy): string | undefined {
  const allowed = policy.allowPrivateNetworks ? ["https:", "http:"] : ["https:"];
  if (!allowed.includes(url.protocol)) return policy.allowPrivateNetworks ? "must use https or http" : "must use https";
  if (url.href.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters when encoded`;
  if (url.port === "0") return "must not use port 0";
  return undefined;
}

function problemOfHost(hostname: string, policy: OutboundPolicy): string | undefined {
  const address = addressOfHost(hostname);
  if (address !== undefined) {
    return policy.allowPrivateNetworks || isPublicAddress(address) ? undefined : "must have a public address";
  }
  if (hostname.endsWith(".")) return "must have a host name without a dot at its end";
  const labels = hostname.split(".");
  if (hostname.length > MAX_HOSTNAME_LENGTH || !labels.every((label) => LABEL.test(label))) {
    return "must have a valid host name";
  }
  if (policy.allowPrivateNetworks) return undefined;
  if (labels.length === 1 || isLocalName(hostname)) return "must have a public host name";
  return undefined;
}

/** The IP address in a WHATWG URL's host, without brackets. Undefined if the host is a name. */
export function addressOfHost(hostname: string): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? undefined : bare;
}
