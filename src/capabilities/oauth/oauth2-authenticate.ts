import { type Static, Type } from "typebox";
import { credentialBundle, sealBundle } from "../../crypto/bundles.ts";
import { parseP256Point } from "../../crypto/hpke.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { parseTargetPublicKey, TargetPublicKey } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { ISSUED_TOKEN_LIFETIME_MS, MAX_LABEL_LENGTH, MAX_OAUTH2_FIELD_LENGTH } from "../../kernel/limits.ts";
import { type Exchanged, ExchangeProblem } from "../../providers/oauth2/exchange.ts";
import type { Oauth2Provider } from "../../providers/oauth2/providers.ts";
import { signIssuedToken } from "./issuer-key.ts";
import { requireCredential } from "./store.ts";

const Text = Type.String({ maxLength: MAX_OAUTH2_FIELD_LENGTH });

const Intent = Strict({
  oauth2CredentialId: Id,
  authCode: Text,
  redirectUri: Text,
  codeVerifier: Text,
  nonce: Type.String({ maxLength: MAX_LABEL_LENGTH }),
  bearerTokenTargetPublicKey: Type.Optional(TargetPublicKey),
});
type Intent = Static<typeof Intent>;

export const oauth2Authenticate = activity({
  path: "oauth2_authenticate",
  summary:
    "Exchange a code that a person got from X or Discord, with PKCE, for an OIDC token of this service. Each code can be exchanged once.",
  needs: ["oauth2", "publicUrl"],
  asks: ["openClientSecret", "signStatements"],
  intent: Intent,
  result: Type.Object({ oidcToken: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check({ bearerTokenTargetPublicKey: target, ...fields }) {
    for (const name of ["authCode", "redirectUri", "codeVerifier", "nonce"] as const) {
      if (fields[name] === "") fail("OAUTH2_FIELD_EMPTY", { field: `parameters.${name}`, name: snakeCase(name) });
    }
    if (target !== undefined) parseTargetPublicKey(target, "parameters.bearerTokenTargetPublicKey");
  },
  prepare,
  run: async ({ prepared: oidcToken }) => ({ oidcToken }),
});

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Context = PrepareContext<Intent, "openClientSecret" | "signStatements", undefined, "oauth2" | "publicUrl">;

async function prepare(context: Context): Promise<string> {
  const { intent, read, organization, signer, publicUrl, now } = context;
  const { client_id: clientId, ...credential } = await requireCredential(
    read,
    organization.id,
    intent.oauth2CredentialId,
  );
  const { person, accessToken } = await exchange(context, {
    id: credential.id,
    provider: credential.provider as Oauth2Provider,
    clientId,
    sealedClientSecret: credential.sealed_client_secret,
  });
  const issuedAt = Math.floor(now / 1000);
  const { bearerTokenTargetPublicKey: target } = intent;
  return signIssuedToken(
    { read, signer },
    {
      iss: publicUrl(),
      aud: clientId,
      sub: person.subject,
      iat: issuedAt,
      exp: issuedAt + ISSUED_TOKEN_LIFETIME_MS / 1000,
      nonce: intent.nonce,
      ...(person.email === undefined ? {} : { email: person.email, email_verified: true }),
      ...(target === undefined ? {} : { encrypted_bearer_token: encryptedTo(target, accessToken) }),
    },
  );
}

interface Client {
  id: string;
  provider: Oauth2Provider;
  clientId: string;
  sealedClientSecret: Uint8Array;
}

async function exchange(
  { intent, organization, signer, oauth2 }: Context,
  { id, provider, clientId, sealedClientSecret }: Client,
): Promise<Exchanged> {
  const { clientSecret } = await signer.ask({
    verb: "openClientSecret",
    ...keyOwnerOf(organization),
    credentialId: id,
    sealedClientSecret: Buffer.from(sealedClientSecret).toString("base64"),
  });
  const { authCode: code, redirectUri, codeVerifier, nonce, bearerTokenTargetPublicKey: target = "" } = intent;
  const boundTo = [organization.id, nonce, target].join(" ");
  const asked = { provider, clientId, clientSecret: Buffer.from(clientSecret, "base64").toString(), code, boundTo };
  const whose = { organizationId: rootIdOf(organization) };
  try {
    return await oauth2.exchange({ ...asked, ...whose, redirectUri, codeVerifier });
  } catch (error) {
    if (!(error instanceof ExchangeProblem)) throw error;
    const { message: reason } = error;
    if (error.of === "client") return fail("OAUTH2_CREDENTIAL_REFUSED", { provider, id, reason });
    if (error.of === "code") return fail("OAUTH2_CODE_REFUSED", { provider, reason });
    return fail("OAUTH2_PROVIDER_UNAVAILABLE", { provider, reason });
  }
}

/** The provider's bearer token, encrypted so that only the app can read it. */
function encryptedTo(target: string, accessToken: string): string {
  return credentialBundle(sealBundle(parseP256Point(target) as Buffer, Buffer.from(accessToken)));
}
