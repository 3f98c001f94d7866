import { addUser } from "../../src/authority/rules/users.ts";
import { addOrganization } from "../../src/capabilities/organizations/store.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Client, generateApiKey, type Json } from "./client.ts";
import type { TestServer } from "./server.ts";
import { until } from "./until.ts";

/** What tests of webhooks do again and again. */

/** Heard is the renaming of organizations and nothing else, so that a test makes exactly the events it wants. */
export const RENAMES = [
  { eventType: "ACTIVITY_UPDATES", filtersJson: '{"type":"ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME"}' },
];

/** A clock that stands still until it is moved. Requests carry its time. */
export interface Clock {
  now: () => number;
  pass(milliseconds: number): void;
}

export function standingClock(): Clock {
  let now = Date.now();
  return {
    now: () => now,
    pass: (milliseconds) => {
      now += milliseconds;
    },
  };
}

/** The webhooks of one organization. */
export function webhooksOf(client: Client, clock: () => number = Date.now) {
  let count = 0;
  const submit = (path: string, parameters: object) =>
    client.submit(path, parameters, { timestampMs: String(clock() + count++) });
  const result = async (path: string, parameters: object): Promise<Json> =>
    client.result(path, parameters, { timestampMs: String(clock() + count++) });
  const list = async (endpointId: string, limit = 100): Promise<Json[]> =>
    (await client.read("list_webhook_deliveries", { endpointId, paginationOptions: { limit: String(limit) } }))
      .deliveries;
  return {
    submit,
    result,
    create: async (url: string, subscriptions: object[] = RENAMES, name = "hook"): Promise<string> =>
      (await result("create_webhook_endpoint", { url, name, subscriptions })).endpointId,
    rename: (organizationName = `Name ${count}`) => result("update_organization_name", { organizationName }),
    list,
    /** The newest delivery, once it is as wanted. */
    newest: async (endpointId: string, isWanted: (delivery: Json) => boolean): Promise<Json> => {
      let newest: Json;
      await until(async () => {
        [newest] = await list(endpointId, 1);
        return newest !== undefined && isWanted(newest);
      }, "the newest delivery to be as wanted");
      return newest;
    },
    endpoint: async (endpointId: string): Promise<Json> => {
      const { webhookEndpoints } = await client.read("list_webhook_endpoints");
      return webhookEndpoints.find((one: Json) => one.endpointId === endpointId);
    },
  };
}

/** A sub-organization with one root user, made through the stores. */
export async function addSubOrganization({ opened, root }: TestServer): Promise<Client> {
  const { database, signer } = opened;
  const id = newId();
  const key = generateApiKey();
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId: id });
  const now = Date.now();
  await database.transact(id, async (tx) => {
    const sealedKey = Buffer.from(organizationKey, "base64");
    const organization = { id, name: "Sub-organization", parentId: root.organizationId, sealedKey, now };
    const userId = newId();
    const { publicKey } = key;
    const more = { type: "CREDENTIAL_TYPE_API_KEY_P256", sessionProfileId: null, grade: null, expirationSeconds: null };
    const apiKey = { id: newId(), name: "key", publicKey, ...more };
    const user = { id: userId, name: "Root", email: undefined, authenticators: [], oauthProviders: [], tagIds: [] };
    await addOrganization(tx, organization, (draft) => {
      addUser(draft, { ...user, apiKeys: [apiKey] }, now, "user");
      draft.apply({ do: "setRootQuorum", quorum: { threshold: 1, userIds: [userId] }, now });
    });
  });
  return root.with({ key, organizationId: id });
}
