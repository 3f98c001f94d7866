/** The OAuth 2.0 providers that issue no OIDC tokens of their own: their endpoints, and their answers about a person. */

export const oauth2Providers = ["OAUTH2_PROVIDER_X", "OAUTH2_PROVIDER_DISCORD"] as const;
export type Oauth2Provider = (typeof oauth2Providers)[number];

/** The origins of the providers, which tests replace. */
export type Oauth2Urls = Record<Oauth2Provider, string>;

/** A person at a provider. */
export interface Oauth2Person {
  /** `<provider>:<id>`. */
  subject: string;
  /** An address that the provider has verified. */
  email: string | undefined;
}

interface ProviderForm {
  tokenPath: string;
  personPath: string;
  /** Undefined for an invalid answer. */
  personOf: (answer: Record<string, unknown>) => Oauth2Person | undefined;
}

const ID = /^[0-9A-Za-z_-]{1,200}$/;
const isId = (id: unknown): id is string => typeof id === "string" && ID.test(id);

export const providerForms: Record<Oauth2Provider, ProviderForm> = {
  OAUTH2_PROVIDER_X: {
    tokenPath: "/2/oauth2/token",
    personPath: "/2/users/me",
    personOf({ data }) {
      const { id } = (data ?? {}) as { id?: unknown };
      return isId(id) ? { subject: `x:${id}`, email: undefined } : undefined;
    },
  },
  OAUTH2_PROVIDER_DISCORD: {
    tokenPath: "/api/oauth2/token",
    personPath: "/api/users/@me",
    personOf({ id, email, verified }) {
      if (!isId(id)) return undefined;
      return { subject: `discord:${id}`, email: typeof email === "string" && verified === true ? email : undefined };
    },
  },
};
