import { sharedAnswer } from "../kernel/shared-answer.ts";
import { docsRoutes } from "./docs.ts";
import type { OpenApiInfo } from "./openapi.ts";
import type { Mount, Route, RouteAnswer } from "./route.ts";

/** The status of the parts of the service. */
export interface Readiness {
  status: "ready" | "not ready";
  /** `unwritable`: only reads work. */
  database: "ready" | "unwritable" | "unavailable";
  signer: "ready" | "sealed" | "failed";
  /** `unknown` while the database is unavailable. */
  organization: "ready" | "missing" | "unknown";
  /** For information only: the server is ready without any chain. */
  chains?: Record<string, { status: string; nodes: { host: string; status: string }[] }>;
  /** The sinks of the audit stream, if any. `full`: the backlog has reached its bound. */
  audit?: Record<string, { status: "delivering" | "failing" | "full"; backlog: number }>;
  /**
   * Warnings, by subject: sponsors' accounts that are low, by chain, the provider of `swaps`, mail that cannot be sent, audit sinks that accept
   * nothing, and a failed scheduled backup. They do not affect readiness.
   */
  warnings?: Record<string, string>;
  /** Since when and why an operator has stopped all changes. This does not affect readiness. */
  maintenance?: string;
  /** Explanations, for the person on call, of the parts that are not ready. Anybody may read them. */
  reasons?: Partial<Record<"database" | "signer" | "organization" | "audit" | "server", string>>;
}

export interface PagesOptions {
  readiness: () => Promise<Readiness>;
  /** The public keys of webhook deliveries' signatures. */
  webhookKeySet: () => Promise<unknown>;
  /** The public keys of the OIDC tokens that this installation issues, and its discovery document as an issuer. */
  issuerKeySet: () => Promise<unknown>;
  discoveryDocument: () => unknown;
  /** The installation's public keys by purpose, in the form in which SDKs accept them in place of their built-in ones. */
  serviceKeys: () => Promise<Record<string, unknown>>;
  /** The accounts from which this installation pays fees, by CAIP-2 namespace. */
  sponsors: () => Promise<Record<string, string>>;
  /** For the well-known page. */
  info: OpenApiInfo;
  openApi: () => Promise<Record<string, unknown>>;
}

/** How long receivers may cache the webhook keys. A new key is published long before the old one is removed. */
const KEY_SET_CACHE = "public, max-age=86400, s-maxage=86400, stale-if-error=604800";

/** Verifiers must receive a new signing key soon. */
const ISSUER_CACHE = "public, max-age=300";

/** Pages for operators and receivers of webhooks, and the documentation. */
export const pages = ({ readiness, discoveryDocument, info, openApi, ...asked }: PagesOptions): Mount => {
  // Anybody may request the keys at any rate, so there is only one query to the database at a time.
  const webhookKeySet = sharedAnswer(asked.webhookKeySet);
  const issuerKeySet = sharedAnswer(asked.issuerKeySet);
  const serviceKeys = sharedAnswer(asked.serviceKeys);
  const sponsors = sharedAnswer(asked.sponsors);
  return {
    routes: [
      page("/healthz", () => json({ status: "ok" })),
      page("/readyz", async () => {
        const state = await readiness();
        return json(state, state.status === "ready" ? 200 : 503);
      }),
      page("/.well-known/keystead.json", async () => {
        const { version, baseUrl } = info;
        return json({
          service: "keystead",
          version,
          baseUrl,
          serviceKeys: await serviceKeys(),
          sponsors: await sponsors(),
        });
      }),
      page("/.well-known/openid-configuration", () => ({
        ...json(discoveryDocument()),
        headers: { "cache-control": ISSUER_CACHE },
      })),
      page("/.well-known/jwks.json", async () => ({
        ...json(await issuerKeySet()),
        headers: { "cache-control": ISSUER_CACHE },
      })),
      page("/public/v1/discovery/webhooks/jwks", async () => ({
        ...json(await webhookKeySet()),
        headers: { "cache-control": KEY_SET_CACHE },
      })),
      ...docsRoutes(openApi),
    ],
  };
};

const page = (path: string, answer: () => RouteAnswer | Promise<RouteAnswer>): Route => ({
  method: "GET",
  path,
  accept: () => answer,
});

const json = (body: unknown, status = 200): RouteAnswer => ({ status, body: JSON.stringify(body) });
