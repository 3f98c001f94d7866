import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { changeUser } from "../users/store.ts";
import { ApiKeyParams, ApiKeyParamsV1, checkApiKeys, checkedApiKey, upgradeApiKey } from "./model.ts";
import { addApiKeys } from "./store.ts";

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
  check: ({ apiKeys }) => checkApiKeys(apiKeys, "parameters.apiKeys"),
  async run({ intent: { apiKeys, userId }, tx, organization, now }) {
    await changeUser(tx, organization.id, userId, now);
    const owner = { tx, organizationId: organization.id, userId, now };
    return { apiKeyIds: await addApiKeys(owner, apiKeys.map(checkedApiKey), "parameters.apiKeys") };
  },
});
