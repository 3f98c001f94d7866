import { capability } from "../../engine/capability.ts";
import { clientSecretKey } from "./client-secret-key.ts";
import { createOauth2Credential } from "./create-oauth2-credential.ts";
import { deleteOauth2Credential } from "./delete-oauth2-credential.ts";
import { getOauth2Credential } from "./get-oauth2-credential.ts";
import { issuerKey } from "./issuer-key.ts";
import { listOauth2Credentials } from "./list-oauth2-credentials.ts";
import { oauth2Authenticate } from "./oauth2-authenticate.ts";
import { updateOauth2Credential } from "./update-oauth2-credential.ts";

export { discoveryDocument, issuerKeySet } from "./issuer-key.ts";

export const oauth = capability({
  title: "OAuth 2.0",
  operations: [
    createOauth2Credential,
    updateOauth2Credential,
    deleteOauth2Credential,
    getOauth2Credential,
    listOauth2Credentials,
    oauth2Authenticate,
  ],
  serviceKeys: [clientSecretKey, issuerKey],
  erases: ["oauth2_credentials"],
});
