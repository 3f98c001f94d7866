import { Type } from "typebox";
import { addUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Email, Ids, Label, List, SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_USERS } from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import { ApiKeyParamsV1, checkApiKeys, upgradeApiKey } from "../credentials/model.ts";
import { newUser } from "./model.ts";

const ApiOnlyUserParams = Strict({
  userName: Label,
  userEmail: Type.Optional(Email),
  userTags: Ids,
  apiKeys: List(ApiKeyParamsV1),
});

export const createApiOnlyUsers = activity({
  path: "create_api_only_users",
  summary: "Add users that have only P-256 API keys. create_users does the same and more.",
  intent: Strict({ apiOnlyUsers: SomeOf(ApiOnlyUserParams, MAX_USERS) }),
  result: Type.Object({ userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "CREATE" }),
  async check({ apiOnlyUsers }, { organizationId }) {
    for (const [index, { apiKeys }] of apiOnlyUsers.entries()) {
      await pause(organizationId);
      await checkApiKeys(apiKeys.map(upgradeApiKey), `parameters.apiOnlyUsers.${index}.apiKeys`, organizationId);
    }
  },
  change: ({ view, id, intent: { apiOnlyUsers }, now }) =>
    changesOn(view, (draft) => {
      const added = apiOnlyUsers.map(({ apiKeys, ...user }, index) =>
        newUser({ ...user, apiKeys: apiKeys.map(upgradeApiKey) }, {}, id, `apiOnlyUsers.${index}`),
      );
      addUsers(draft, added, now, (index) => `parameters.apiOnlyUsers.${index}`);
    }),
  answer: ({ id, intent: { apiOnlyUsers } }) => ({
    userIds: apiOnlyUsers.map((_, index) => id(`apiOnlyUsers.${index}`)),
  }),
});
