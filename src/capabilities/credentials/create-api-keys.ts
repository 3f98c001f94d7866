import { type Static, Type } from "typebox";
import { addApiKeys } from "../../authority/rules/credentials.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { ApiKeyParams, ApiKeyParamsV1, checkApiKeys, newApiKeys, upgradeApiKey } from "./model.ts";

const IntentV1 = Strict({ apiKeys: SomeOf(ApiKeyParamsV1), userId: Id });

export const createApiKeys = activity({
  path: "create_api_keys",
  summary: "Add API keys to a user.",
  version: 2,
  intent: Strict({ apiKeys: SomeOf(ApiKeyParams), userId: Id }),
  result: Type.Object({ apiKeyIds: Type.Array(Type.String()) }),
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ apiKeys, userId }: Static<typeof IntentV1>) => ({ apiKeys: apiKeys.map(upgradeApiKey), userId }),
    },
  },
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "CREATE", ownerId: userId }),
  check: ({ apiKeys }, { organizationId }) => checkApiKeys(apiKeys, "parameters.apiKeys", organizationId),
  change: ({ view, id, intent: { userId, apiKeys }, now }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      addApiKeys(draft, userId, newApiKeys(apiKeys, id, "apiKeys"), now, "parameters.apiKeys");
    }),
  answer: ({ id, intent: { apiKeys } }) => ({ apiKeyIds: apiKeys.map((_, index) => id(`apiKeys.${index}`)) }),
});
