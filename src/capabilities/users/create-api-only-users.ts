import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Email, Ids, Label, List, SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_USERS } from "../../kernel/limits.ts";
import { ApiKeyParamsV1, checkApiKeys, checkedApiKey, upgradeApiKey } from "../credentials/model.ts";
import { addUser, enforceUserLimit } from "./store.ts";

const ApiOnlyUserParams = Strict({
  userName: Label,
  userEmail: Type.Optional(Email),
  userTags: Ids,
  apiKeys: List(ApiKeyParamsV1),
});

export const createApiOnlyUsers = activity({
  path: "create_api_only_users",
  summary: "Add users that hold P-256 API keys alone. create_users does the same and more.",
  intent: Strict({ apiOnlyUsers: SomeOf(ApiOnlyUserParams, MAX_USERS) }),
  result: Type.Object({ userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "CREATE" }),
  check({ apiOnlyUsers }) {
    for (const [index, { apiKeys }] of apiOnlyUsers.entries()) {
      checkApiKeys(apiKeys.map(upgradeApiKey), `parameters.apiOnlyUsers.${index}.apiKeys`);
    }
  },
  async run({ intent: { apiOnlyUsers }, tx, organization, now }) {
    const userIds: string[] = [];
    for (const [index, user] of apiOnlyUsers.entries()) {
      const newUser = {
        name: user.userName,
        email: user.userEmail,
        apiKeys: user.apiKeys.map(upgradeApiKey).map(checkedApiKey),
        authenticators: [],
        oauthProviders: [],
        tagIds: user.userTags,
      };
      userIds.push(await addUser(tx, organization.id, newUser, now, `parameters.apiOnlyUsers.${index}`));
    }
    await enforceUserLimit(tx, organization.id);
    return { userIds };
  },
});
