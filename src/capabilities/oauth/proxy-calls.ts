import { type Static, Type } from "typebox";
import { OneOf, Strict } from "../../engine/fields.ts";
import { type ProxyContext, proxyCall } from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_OAUTH2_FIELD_LENGTH, MAX_OIDC_TOKEN_LENGTH } from "../../kernel/limits.ts";
import { type Oauth2Provider, oauth2Providers } from "../../providers/oauth2/providers.ts";
import { methodOfToken, namedAccount, sessionSecondsOf } from "../auth-proxy/model.ts";
import { oauthLogin } from "./oauth-login.ts";
import { oauth2Authenticate } from "./oauth2-authenticate.ts";

/** Sign-in with external identities, for people who have no credential yet. */

const LoginRequest = Strict({
  oidcToken: Type.String({ minLength: 1, maxLength: MAX_OIDC_TOKEN_LENGTH }),
  publicKey: Type.String({ minLength: 1, maxLength: 256 }),
  invalidateExisting: Type.Optional(Type.Boolean()),
  organizationId: Type.Optional(Type.String({ maxLength: 64 })),
});

const oauthLoginCall = proxyCall({
  path: "oauth_login",
  summary: "Sign a user in with an OIDC token that is bound to the user's key.",
  request: LoginRequest,
  response: Type.Object({ session: Type.String() }),
  methods: ({ oidcToken }, ownIssuer) => [methodOfToken(oidcToken, "oidcToken", ownIssuer)],
  async answer(context) {
    const { organizationId: _, ...request } = context.request;
    const organizationId = namedAccount(context.request, context.config) ?? (await accountOf(context));
    const parameters = { ...request, expirationSeconds: sessionSecondsOf(context.config.settings) };
    return context.submit(oauthLogin, { organizationId, parameters });
  },
});

async function accountOf({ ask, request }: ProxyContext<Static<typeof LoginRequest>>): Promise<string> {
  const filter = { filterType: "OIDC_TOKEN", filterValue: request.oidcToken };
  const { organizationIds } = (await ask("list_suborgs", filter)) as { organizationIds: string[] };
  if (organizationIds.length > 1) fail("CREDENTIAL_AMBIGUOUS", { kind: "OAuth provider" });
  return organizationIds[0] ?? fail("ACCOUNT_NOT_FOUND", { what: "OAuth provider" });
}

const Text = Type.String({ maxLength: MAX_OAUTH2_FIELD_LENGTH });

const oauth2AuthenticateCall = proxyCall({
  path: "oauth2_authenticate",
  summary: "Exchange a code that a person got from X or Discord for an OIDC token of this service.",
  request: Strict({
    provider: OneOf(oauth2Providers),
    authCode: Text,
    redirectUri: Text,
    codeVerifier: Text,
    nonce: Text,
    clientId: Text,
  }),
  response: Type.Object({ oidcToken: Type.String() }),
  methods: ({ provider }) => [methodOfProvider[provider]],
  async answer({ request: { provider, clientId, ...request }, ask, submit, config: { organizationId } }) {
    for (const [field, name] of Object.entries(required)) {
      if (!{ ...request, clientId }[field as keyof typeof required]) fail("OAUTH2_FIELD_EMPTY", { field, name });
    }
    const { oauth2Credentials } = (await ask("list_oauth2_credentials", {})) as {
      oauth2Credentials: { provider: string; clientId: string; oauth2CredentialId: string }[];
    };
    const known = oauth2Credentials.find((each) => each.provider === provider && each.clientId === clientId);
    if (!known) return fail("OAUTH2_CREDENTIAL_NOT_FOUND", { id: `${clientId} (${provider})`, organizationId });
    return submit(oauth2Authenticate, { parameters: { ...request, oauth2CredentialId: known.oauth2CredentialId } });
  },
});

const methodOfProvider: Record<Oauth2Provider, "x" | "discord"> = {
  OAUTH2_PROVIDER_X: "x",
  OAUTH2_PROVIDER_DISCORD: "discord",
};

/** The fields that must not be empty, with the names that published clients use for them. */
const required = {
  clientId: "client_id",
  authCode: "auth_code",
  redirectUri: "redirect_uri",
  codeVerifier: "code_verifier",
  nonce: "nonce",
} as const;

export const oauthCalls = [oauthLoginCall, oauth2AuthenticateCall];
