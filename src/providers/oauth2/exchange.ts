import { createHash } from "node:crypto";
import { parseJsonObject } from "../../crypto/json-object.ts";
import { boundedTurns } from "../../delivery/bounded-turns.ts";
import {
  type OutboundAnswer,
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
} from "../../delivery/outbound.ts";
import type { Clock } from "../../kernel/clock.ts";
import {
  EXCHANGE_LIFETIME_MS,
  MAX_EXCHANGES,
  MAX_EXCHANGES_OF_ONE_ORGANIZATION,
  MAX_KEPT_EXCHANGES,
  MAX_OAUTH2_ANSWER_BYTES,
  MAX_WAITING_EXCHANGES,
  OAUTH2_TIMEOUT_MS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { type Oauth2Person, type Oauth2Provider, type Oauth2Urls, providerForms } from "./providers.ts";

/** A code from a provider that a person submits (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
export interface CodeExchange {
  provider: Oauth2Provider;
  clientId: string;
  clientSecret: string;
  code: string;
  redirectUri: string;
  codeVerifier: string;
  /** What the code is exchanged for. The same code with another value here is a different exchange. */
  boundTo: string;
  /** The organization that exchanges the code. The exchanges of one organization in flight are bounded. */
  organizationId: string;
}

export interface Exchanged {
  person: Oauth2Person;
  /** The provider's bearer token. */
  accessToken: string;
}

/** Why a code was not exchanged. `message` describes what the provider did and may be shown. */
export class ExchangeProblem extends Error {
  /** `client`: the provider rejected the client; `code`: it rejected the code; `provider`: it gave no usable answer. */
  readonly of: "client" | "code" | "provider";

  constructor(of: "client" | "code" | "provider", message: string) {
    super(message);
    this.name = "ExchangeProblem";
    this.of = of;
  }
}

export interface Oauth2Clients {
  /**
   * Exchanges a code for a bearer token and fetches the person it belongs to. A code works once at the provider: a repeated request, while
   * this one is in flight or shortly after, gets the same answer without calling the provider.
   *
   * @throws ExchangeProblem
   */
  exchange(exchange: CodeExchange): Promise<Exchanged>;
}

export interface Oauth2Options {
  outbound: Pick<OutboundClient, "request">;
  urls: Oauth2Urls;
  clock: Clock;
}

export function createOauth2Clients(options: Oauth2Options): Oauth2Clients {
  const inTurn = boundedTurns(
    {
      perKey: MAX_EXCHANGES_OF_ONE_ORGANIZATION,
      total: MAX_EXCHANGES,
      inside: MAX_WAITING_EXCHANGES,
      waitMs: OAUTH2_TIMEOUT_MS,
    },
    () => {
      throw new ExchangeProblem("provider", "too many requests wait for it");
    },
  );
  const kept = recentlyUsed<{ until: number; exchanged: Promise<Exchanged> }>({ entries: MAX_KEPT_EXCHANGES });
  return {
    exchange(exchange) {
      const key = createHash("sha256").update(JSON.stringify(exchange)).digest("base64url");
      const known = kept.get(key);
      if (known && options.clock() < known.until) return known.exchanged;
      const exchanged = inTurn(exchange.organizationId, () => exchangeAt(options, exchange));
      kept.set(key, { until: options.clock() + EXCHANGE_LIFETIME_MS, exchanged });
      // If the provider was unavailable, it may not have received the code.
      exchanged.catch((error: unknown) => {
        if (!(error instanceof ExchangeProblem) || error.of === "provider") kept.forget(key);
      });
      return exchanged;
    },
  };
}

async function exchangeAt({ outbound, urls }: Oauth2Options, exchange: CodeExchange): Promise<Exchanged> {
  const { tokenPath, personPath, personOf } = providerForms[exchange.provider];
  const base = urls[exchange.provider];
  const granted = await ask(outbound, {
    method: "POST",
    url: `${base}${tokenPath}`,
    headers: {
      authorization: `Basic ${credentialsOf(exchange)}`,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: exchange.clientId,
      code: exchange.code,
      redirect_uri: exchange.redirectUri,
      code_verifier: exchange.codeVerifier,
    }).toString(),
  });
  if (granted.status !== 200) throw refusalOf(granted);
  const { access_token: accessToken, token_type: type } = objectIn(granted);
  if (typeof accessToken !== "string" || !/^[\x21-\x7e]+$/.test(accessToken) || !isBearer(type)) {
    throw new ExchangeProblem("provider", "it granted no bearer token");
  }
  const described = await ask(outbound, {
    method: "GET",
    url: `${base}${personPath}`,
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const person = described.status === 200 ? personOf(objectIn(described)) : undefined;
  if (!person) throw new ExchangeProblem("provider", `it does not say who signed in (status ${described.status})`);
  return { person, accessToken };
}

const isBearer = (type: unknown): boolean => typeof type === "string" && /^bearer$/i.test(type);

/** RFC 6749 section 2.3.1: both are form-encoded before they are joined. */
function credentialsOf({ clientId, clientSecret }: CodeExchange): string {
  const encoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString("base64");
}

type Asked = Pick<OutboundRequest, "method" | "url" | "body"> & { headers: Record<string, string> };

async function ask(outbound: Pick<OutboundClient, "request">, { headers, ...request }: Asked): Promise<OutboundAnswer> {
  try {
    return await outbound.request({
      ...request,
      headers: { ...headers, accept: "application/json", "user-agent": "keystead-oauth2/1" },
      timeoutMs: OAUTH2_TIMEOUT_MS,
      maxResponseBytes: MAX_OAUTH2_ANSWER_BYTES,
    });
  } catch (error) {
    throw error instanceof OutboundError ? new ExchangeProblem("provider", error.message) : error;
  }
}

function objectIn({ body, truncated }: OutboundAnswer): Record<string, unknown> {
  const refuse = (): never => {
    throw new ExchangeProblem("provider", "it answered with something that is not JSON");
  };
  return truncated ? refuse() : parseJsonObject(body, refuse);
}

/** The error in a token endpoint's answer (RFC 6749 section 5.2): its code, and none of its text. */
function refusalOf(answer: OutboundAnswer): ExchangeProblem {
  const { status } = answer;
  if (status >= 500 || status === 429 || status < 400) {
    return new ExchangeProblem("provider", `it answered with the status ${status}`);
  }
  const word = errorWord(answer) ?? `status ${status}`;
  const isOfClient = status === 401 || word === "invalid_client" || word === "unauthorized_client";
  return new ExchangeProblem(isOfClient ? "client" : "code", word);
}

function errorWord({ body }: OutboundAnswer): string | undefined {
  const { error } = parseJsonObjectOrNone(body);
  return typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? error : undefined;
}

function parseJsonObjectOrNone(body: Buffer): Record<string, unknown> {
  try {
    return parseJsonObject(body, () => {
      throw new TypeError("not JSON");
    });
  } catch {
    return {};
  }
}
