import { type Static, Type } from "typebox";
import { addUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Email, Ids, Label, List, OneOf, PhoneNumber, SomeOf, Strict } from "../../engine/fields.ts";
import { findAllowedOrigins } from "../../engine/identity/passkey-origins.ts";
import { MAX_USERS } from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import {
  ApiKeyParams,
  ApiKeyParamsV1,
  AuthenticatorParams,
  AuthenticatorParamsV1,
  checkApiKeys,
  checkProvidersOfNewUsers,
  OauthProviderParams,
  OauthProviderParamsV1,
  upgradeApiKey,
  upgradeAuthenticator,
  verifyAuthenticatorsOfNewUsers,
  verifyProvidersOfNewUsers,
} from "../credentials/model.ts";
import { newUser } from "./model.ts";

const UserParams = Strict({
  userName: Label,
  userEmail: Type.Optional(Email),
  userPhoneNumber: Type.Optional(PhoneNumber),
  apiKeys: List(ApiKeyParams),
  authenticators: List(AuthenticatorParams, 10),
  oauthProviders: List(OauthProviderParams),
  userTags: Ids,
});
const IntentV3 = Strict({
  users: SomeOf(
    Strict({
      userName: Label,
      userEmail: Type.Optional(Email),
      userPhoneNumber: Type.Optional(PhoneNumber),
      apiKeys: List(ApiKeyParams),
      authenticators: List(AuthenticatorParams, 10),
      oauthProviders: List(OauthProviderParamsV1),
      userTags: Ids,
    }),
    MAX_USERS,
  ),
});
const IntentV2 = Strict({
  users: SomeOf(
    Strict({
      userName: Label,
      userEmail: Type.Optional(Email),
      apiKeys: List(ApiKeyParamsV1),
      authenticators: List(AuthenticatorParams, 10),
      userTags: Ids,
    }),
    MAX_USERS,
  ),
});
const IntentV1 = Strict({
  users: SomeOf(
    Strict({
      userName: Label,
      userEmail: Type.Optional(Email),
      accessType: OneOf(["ACCESS_TYPE_WEB", "ACCESS_TYPE_API", "ACCESS_TYPE_ALL"]),
      apiKeys: List(ApiKeyParamsV1),
      authenticators: List(AuthenticatorParamsV1, 10),
      userTags: Ids,
    }),
    MAX_USERS,
  ),
});

export const createUsers = activity({
  path: "create_users",
  summary: "Add users with their credentials and tags.",
  version: 4,
  intent: Strict({ users: SomeOf(UserParams, MAX_USERS) }),
  result: Type.Object({ userIds: Type.Array(Type.String()) }),
  versions: {
    1: {
      intent: IntentV1,
      // Access types are obsolete; they no longer determine what a user may do.
      upgrade: ({ users }: Static<typeof IntentV1>) => ({
        users: users.map(({ accessType: _, apiKeys, authenticators, ...user }) => ({
          ...user,
          apiKeys: apiKeys.map(upgradeApiKey),
          authenticators: authenticators.map(upgradeAuthenticator),
          oauthProviders: [],
        })),
      }),
    },
    2: {
      intent: IntentV2,
      upgrade: ({ users }: Static<typeof IntentV2>) => ({
        users: users.map(({ apiKeys, ...user }) => ({
          ...user,
          apiKeys: apiKeys.map(upgradeApiKey),
          oauthProviders: [],
        })),
      }),
    },
    3: { intent: IntentV3, upgrade: (intent: Static<typeof IntentV3>) => intent },
  },
  subject: () => ({ governedBy: "policies", resource: "USER", action: "CREATE" }),
  async check({ users }, { organizationId }) {
    for (const [index, { apiKeys }] of users.entries()) {
      await pause(organizationId);
      await checkApiKeys(apiKeys, `parameters.users.${index}.apiKeys`, organizationId);
    }
    checkProvidersOfNewUsers(users, "parameters.users");
  },
  needs: ["oidc"],
  async prepare({ intent: { users }, read, organization, oidc }) {
    const allowedOrigins = await findAllowedOrigins(read, organization);
    return {
      authenticators: await verifyAuthenticatorsOfNewUsers(users, "parameters.users", { organization, allowedOrigins }),
      oauthProviders: await verifyProvidersOfNewUsers(users, "parameters.users", { oidc, read, organization }),
    };
  },
  change: ({ view, id, intent: { users }, now, prepared: { authenticators, oauthProviders } }) =>
    changesOn(view, (draft) => {
      const added = users.map((user, index) => {
        const checked = { authenticators: authenticators[index], oauthProviders: oauthProviders[index] };
        return newUser(user, checked, id, `users.${index}`);
      });
      addUsers(draft, added, now, (index) => `parameters.users.${index}`);
    }),
  answer: ({ id, intent: { users } }) => ({ userIds: users.map((_, index) => id(`users.${index}`)) }),
});
