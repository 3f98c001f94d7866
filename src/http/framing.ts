import type { IncomingMessage } from "node:http";

/** Host of RFC 9110 section 7.2: a name, an IPv4 address or a bracketed IPv6 address, and a port. It may be empty. */
const HOST = /^(?:\[[0-9A-Za-z:.%_~-]+\]|[0-9A-Za-z._~!$&'()*+,;=%-]*)(?::[0-9]*)?$/;
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]+)([/?].*)?$/i;
const HOST_LENGTH = "host".length;

/**
 * Finds what RFC 9112 requires a server to refuse but Node's parser accepts, because two parties on a request's way could read it
 * differently. Undefined if there is no such problem.
 */
export function framingProblem({ httpVersion, url, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "its version is neither HTTP/1.1 nor HTTP/1.0";
  const { host, "transfer-encoding": coding } = headers;
  if (host === undefined) {
    if (httpVersion === "1.1") return "it has no Host header";
  } else {
    if (!HOST.test(host)) return "its Host header names no host";
    if (hasTwoHosts(rawHeaders)) return "it has more than one Host header";
  }
  if (coding !== undefined) {
    if (httpVersion === "1.0") return "HTTP/1.0 has no Transfer-Encoding";
    if (coding.toLowerCase() !== "chunked") return "it has a Transfer-Encoding other than chunked";
  }
  return targetProblem(url ?? "", host);
}

/** Refuses encoded bodies, which are not what was stamped. Apps that run here may accept them. */
export function encodingProblem({ headers: { "content-encoding": encoding } }: IncomingMessage): string | undefined {
  if (encoding === undefined || encoding.toLowerCase() === "identity") return undefined;
  return "its body has a Content-Encoding; send it as it is";
}

/** The path and query of a target. Some proxies send the absolute form, of which the part after the authority is returned. */
export function pathAndQuery(url: string): string {
  if (url.startsWith("/")) return url;
  const [, , rest = "/"] = ABSOLUTE_FORM.exec(url) ?? [undefined, undefined, url];
  return rest.startsWith("?") ? `/${rest}` : rest;
}

function targetProblem(url: string, host: string | undefined): string | undefined {
  if (url.includes("#")) return "its target has a fragment";
  if (url.startsWith("/") || url === "*") return undefined;
  const [, authority] = ABSOLUTE_FORM.exec(url) ?? [];
  if (authority === undefined) return "its target is no path";
  const isHost = host === undefined || authority.toLowerCase() === host.toLowerCase();
  return isHost ? undefined : "its target is of another host than its Host header";
}

/** Node keeps only the first of them. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === HOST_LENGTH && name.toLowerCase() === "host") count++;
  }
  return count > 1;
}
