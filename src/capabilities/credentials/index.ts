import { capability } from "../../engine/capability.ts";
import { createApiKeys } from "./create-api-keys.ts";
import { createAuthenticators } from "./create-authenticators.ts";
import { createOauthProviders } from "./create-oauth-providers.ts";
import { deleteApiKeys } from "./delete-api-keys.ts";
import { deleteAuthenticators } from "./delete-authenticators.ts";
import { deleteOauthProviders } from "./delete-oauth-providers.ts";
import { getApiKey } from "./get-api-key.ts";
import { getApiKeys } from "./get-api-keys.ts";
import { getAuthenticator } from "./get-authenticator.ts";
import { getAuthenticators } from "./get-authenticators.ts";
import { getOauthProviders } from "./get-oauth-providers.ts";

export const credentials = capability({
  title: "Credentials",
  operations: [
    createApiKeys,
    deleteApiKeys,
    createAuthenticators,
    deleteAuthenticators,
    getApiKey,
    getApiKeys,
    getAuthenticator,
    getAuthenticators,
    createOauthProviders,
    deleteOauthProviders,
    getOauthProviders,
  ],
  erases: ["authenticators", "oauth_providers", "api_keys"],
});
