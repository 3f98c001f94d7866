import type { NewUser } from "../../authority/rules/users.ts";
import type { IdFor } from "../../kernel/ids.ts";
import {
  type ApiKeyParams,
  type CheckedAuthenticator,
  type CheckedOauthProvider,
  newApiKeys,
  newAuthenticators,
  newOauthProviders,
} from "../credentials/model.ts";

/** The verified credentials of a user. */
export interface CheckedCredentials {
  authenticators?: readonly CheckedAuthenticator[] | undefined;
  oauthProviders?: readonly CheckedOauthProvider[] | undefined;
}

/** The user that a request describes; `place` is the user's field in the request. */
export function newUser(
  params: {
    userName: string;
    userEmail?: string;
    userPhoneNumber?: string;
    apiKeys: readonly ApiKeyParams[];
    userTags?: readonly string[];
  },
  { authenticators = [], oauthProviders = [] }: CheckedCredentials,
  id: IdFor,
  place: string,
): NewUser {
  const { userName, userEmail, userPhoneNumber, apiKeys, userTags = [] } = params;
  return {
    id: id(place),
    name: userName,
    email: userEmail,
    phoneNumber: userPhoneNumber,
    apiKeys: newApiKeys(apiKeys, id, `${place}.apiKeys`),
    authenticators: newAuthenticators(authenticators, id, `${place}.authenticators`),
    oauthProviders: newOauthProviders(oauthProviders, id, `${place}.oauthProviders`),
    tagIds: userTags,
  };
}
