import { parseJsonObject } from "../../crypto/json-object.ts";
import { type OutboundAnswer, type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { addressOfHost, checkOutboundUrl, type OutboundPolicy } from "../../delivery/url-rules.ts";
import {
  DEFAULT_KEY_SET_LIFETIME_MS,
  ISSUER_TIMEOUT_MS,
  MAX_ISSUER_DOCUMENT_BYTES,
  MAX_KEY_SET_LIFETIME_MS,
  MIN_KEY_SET_LIFETIME_MS,
} from "../../kernel/limits.ts";
import { type KeySet, keySetOf } from "./key-set.ts";

/** Fetches what an issuer publishes: its discovery document, and the keys to which it refers. */

/** Why an issuer's keys are not available. `message` continues a sentence whose subject is the token. */
export class IssuerProblem extends Error {
  /** Whether a retry may succeed. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass = false) {
    super(message);
    this.name = "IssuerProblem";
    this.mayPass = mayPass;
  }
}

export interface PublishedKeys {
  keySet: KeySet;
  lifetimeMs: number;
  /** The size of the answer that contained them. */
  bytes: number;
}

export interface IssuerFetching {
  outbound: Pick<OutboundClient, "request">;
  policy: OutboundPolicy;
}

/** @throws IssuerProblem */
export async function fetchKeysOf(issuer: string, fetching: IssuerFetching): Promise<PublishedKeys> {
  if (issuer.includes("?")) throw new IssuerProblem("is of an issuer whose URL has a query");
  // OpenID Connect Discovery 1.0, section 4.1.
  const latest = performance.now() + ISSUER_TIMEOUT_MS;
  const fetchNext = (url: string) => fetchDocument(url, latest - performance.now(), fetching);
  const discovery = await fetchNext(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (discovery.document.issuer !== issuer) {
    throw new IssuerProblem("is of an issuer whose discovery document names another one");
  }
  const { jwks_uri: keySetUrl } = discovery.document;
  if (typeof keySetUrl !== "string")
    throw new IssuerProblem("is of an issuer whose discovery document has no `jwks_uri`");
  const published = await fetchNext(keySetUrl);
  const keySet = keySetOf(published.document);
  if (!keySet) throw new IssuerProblem("is of an issuer whose `jwks_uri` does not lead to a JWK Set");
  return {
    keySet,
    lifetimeMs: Math.min(discovery.lifetimeMs, published.lifetimeMs),
    bytes: published.bytes,
  };
}

interface FetchedDocument {
  document: Record<string, unknown>;
  lifetimeMs: number;
  bytes: number;
}

async function fetchDocument(
  url: string,
  leftMs: number,
  { outbound, policy }: IssuerFetching,
): Promise<FetchedDocument> {
  const refuse = (reason: string): never => {
    throw new IssuerProblem(`is of an issuer that publishes no usable document: ${reason}`);
  };
  const problem = problemOf(url, policy);
  if (problem !== undefined) refuse(`its URL ${problem}`);
  const answer = await outbound
    .request({
      method: "GET",
      url,
      headers: { accept: "application/json", "user-agent": "keystead-oidc/1" },
      timeoutMs: Math.max(1, Math.floor(leftMs)),
      maxResponseBytes: MAX_ISSUER_DOCUMENT_BYTES,
    })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? unreachable(error) : error;
    });
  if (answer.status >= 500 || answer.status === 429) {
    throw new IssuerProblem(`is of an issuer that answered with the status ${answer.status}`, true);
  }
  if (answer.status !== 200) refuse(`it answered with the status ${answer.status}`);
  if (answer.truncated) refuse(`it answered with more than ${MAX_ISSUER_DOCUMENT_BYTES} bytes`);
  const document = parseJsonObject(answer.body, (reason) => refuse(`its answer is not a JSON object: ${reason}`));
  return { document, lifetimeMs: lifetimeOf(answer), bytes: answer.body.length };
}

/** In addition to the rules for all outbound requests: plain http is allowed only to this machine. */
function problemOf(url: string, policy: OutboundPolicy): string | undefined {
  const checked = checkOutboundUrl(url, policy);
  if ("problem" in checked) return checked.problem;
  return checked.url.protocol === "https:" || isThisMachine(checked.url.hostname) ? undefined : "must use https";
}

function isThisMachine(hostname: string): boolean {
  const address = addressOfHost(hostname);
  return hostname === "localhost" || address === "::1" || address?.startsWith("127.") === true;
}

/** Problems of the request itself, which a retry cannot solve. */
const LASTING: readonly OutboundError["kind"][] = ["url", "blocked"];

const unreachable = ({ kind, message }: OutboundError): IssuerProblem =>
  new IssuerProblem(`is of an issuer that cannot be asked for its keys: ${message}`, !LASTING.includes(kind));

/**
 * RFC 9111 sections 4.2.1 and 4.2.3, within bounds. With a shorter time every token would cause a fetch; with a longer one, removed keys
 * would stay valid too long.
 */
function lifetimeOf({ headers }: Pick<OutboundAnswer, "headers">): number {
  const control = headers["cache-control"]?.toLowerCase() ?? "";
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(control)) return MIN_KEY_SET_LIFETIME_MS;
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(control)?.[1];
  if (maxAge === undefined) return DEFAULT_KEY_SET_LIFETIME_MS;
  const age = /^\d{1,10}$/.test(headers.age ?? "") ? Number(headers.age) : 0;
  const lifetimeMs = (Number(maxAge) - age) * 1000;
  return Math.min(Math.max(lifetimeMs, MIN_KEY_SET_LIFETIME_MS), MAX_KEY_SET_LIFETIME_MS);
}
