import { sharedAnswer } from "../kernel/shared-answer.ts";
import { docsRoutes } from "./docs.ts";
import type { Mount, Route, RouteAnswer } from "./listener.ts";
import type { OpenApiInfo } from "./openapi.ts";

/** What the parts of the service say of themselves. */
export interface Readiness {
  status: "ready" | "not ready";
  /** `unwritable`: reads work. */
  database: "ready" | "unwritable" | "unavailable";
  signer: "ready" | "sealed" | "failed";
  /** `unknown` while the database does not tell. */
  organization: "ready" | "missing" | "unknown";
  /** For information: the server is ready without any chain. */
  chains?: Record<string, { status: string; nodes: { host: string; status: string }[] }>;
  /** The sinks of the audit stream, where there are any: `full` where as many lines wait as may. */
  audit?: Record<string, { status: "delivering" | "failing" | "full"; backlog: number }>;
  /**
   * Of sponsors' accounts that are poor, by chain, of the provider of `swaps`, of audit sinks that take nothing, and of a scheduled backup
   * that failed; the server is ready all the same.
   */
  warnings?: Record<string, string>;
  /** Since when nothing is changed, and why, where an operator said so; the server is ready all the same. */
  maintenance?: string;
  /** Of the parts that are not ready, in words for whoever is woken up. Anybody may read them. */
  reasons?: Partial<Record<"database" | "signer" | "organization" | "audit" | "server", string>>;
}

export interface PagesOptions {
  readiness: () => Promise<Readiness>;
  /** The keys that webhook deliveries are signed with. */
  webhookKeySet: () => Promise<unknown>;
  /** The keys of the OIDC tokens that this installation issues, and what it says of itself as their issuer. */
  issuerKeySet: () => Promise<unknown>;
  discoveryDocument: () => unknown;
  /** The installation's public keys by purpose, in the form that the SDKs take in place of those they know. */
  serviceKeys: () => Promise<Record<string, unknown>>;
  /** The accounts that this installation pays from, by the namespaces of CAIP-2. */
  sponsors: () => Promise<Record<string, string>>;
  /** For the well-known page. */
  info: OpenApiInfo;
  openApi: () => Promise<Record<string, unknown>>;
}

/** How long receivers may keep the webhook keys; a new key is published long before the old one leaves. */
const KEY_SET_CACHE = "public, max-age=86400, s-maxage=86400, stale-if-error=604800";

/** A key that signs from now on must reach whoever verifies before long. */
const ISSUER_CACHE = "public, max-age=300";

/** What operators and receivers of webhooks look at, and the documentation. */
export const pages = ({ readiness, discoveryDocument, info, openApi, ...asked }: PagesOptions): Mount => {
  // Anybody may ask for the keys, as often as they like: the database is asked once at a time.
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
