import { capability } from "../../engine/capability.ts";
import { clientSecretKey } from "./client-secret-key.ts";
import { createOauth2Credential } from "./create-oauth2-credential.ts";
import { deleteOauth2Credential } from "./delete-oauth2-credential.ts";
import { getOauth2Credential } from "./get-oauth2-credential.ts";
import { issuerKey } from "./issuer-key.ts";
import { listOauth2Credentials } from "./list-oauth2-credentials.ts";
import { oauthSignIn } from "./oauth.ts";
import { oauthLogin } from "./oauth-login.ts";
import { oauth2Authenticate } from "./oauth2-authenticate.ts";
import { oauthCalls } from "./proxy-calls.ts";
import { updateOauth2Credential } from "./update-oauth2-credential.ts";

export { discoveryDocument, issuerKeySet } from "./issuer-key.ts";

/**
 * Sign-in with external identities, from a provider's authorization code to a session. Sign-in by an OIDC token belongs here, with the operation
 * that issues such tokens, and not with the other credentials: it uses the OAuth providers of users but does not change them.
 */
export const oauth = capability({
  title: "OAuth",
  operations: [
    createOauth2Credential,
    updateOauth2Credential,
    deleteOauth2Credential,
    getOauth2Credential,
    listOauth2Credentials,
    oauth2Authenticate,
    oauthSignIn,
    oauthLogin,
  ],
  proxyCalls: oauthCalls,
  serviceKeys: [clientSecretKey, issuerKey],
  erases: ["oauth2_credentials"],
});
