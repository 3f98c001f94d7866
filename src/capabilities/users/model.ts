import type { NewUser } from "../../authority/rules/users.ts";
import {
  type ApiKeyParams,
  type CheckedAuthenticator,
  newApiKeys,
  newAuthenticators,
  newOauthProviders,
  type OauthProviderParams,
} from "../credentials/model.ts";

/** A user as requests describe one, passkeys verified; `place` is where the user stands in the request. */
export function newUser(
  params: {
    userName: string;
    userEmail?: string;
    userPhoneNumber?: string;
    apiKeys: readonly ApiKeyParams[];
    oauthProviders?: readonly OauthProviderParams[];
    userTags?: readonly string[];
  },
  authenticators: readonly CheckedAuthenticator[],
  id: (place: string) => string,
  place: string,
): NewUser {
  const { userName, userEmail, userPhoneNumber, apiKeys, oauthProviders = [], userTags = [] } = params;
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
