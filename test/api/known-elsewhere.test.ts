import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findSubOrganizationIds } from "../../src/capabilities/sub-organizations/store.ts";
import { subOrganizationsKnowing } from "../../src/engine/identity/seniority.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator, generateKeys } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Passkey,
} from "../support/client.ts";
import { analyze, openPlanReader } from "../support/query-plans.ts";
import { engines, onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const site = { origin: "https://wallet.example", rpId: "wallet.example" };
const newPasskey = (credentialId?: string): Passkey => ({
  authenticator: createAuthenticator(
    "ES256",
    generateKeys("ES256"),
    credentialId === undefined ? undefined : Buffer.from(credentialId, "base64url"),
  ),
  ...site,
});
const rename = (client: Client) => client.result("update_organization_name", { organizationName: `Name ${newId()}` });

/** No proof is asked of whoever registers a credential, so anybody can register what is somebody else's. */
onEachEngine("a credential that others have registered too", (server) => {
  const newParent = async () => (await createWorld(server())).root.client;
  const register = (by: Member, publicKey: string, more: object = {}) =>
    by.client.result("create_api_keys", {
      userId: by.userId,
      apiKeys: [apiKeyParams({ publicKey, privateKey: "" }, more)],
    });
  const registerPasskey = (by: Member, passkey: Passkey) =>
    by.client.result("create_authenticators", { userId: by.userId, authenticators: [authenticatorParams(passkey)] });
  const found = async (client: Client) => (await client.read("whoami")).organizationId;
  const knowing = async (parent: Client, filterValue: string, filterType = "PUBLIC_KEY") =>
    (await parent.read("list_suborgs", { filterType, filterValue })).organizationIds;
  const idOf = ({ client }: Member) => client.organizationId;
  /** Reads with the credential, naming the organization, and waits until that was noted. */
  async function use(client: Client) {
    const { organizationId, key, passkey } = client;
    await client.read("whoami");
    const [table, column, value] = passkey
      ? ["authenticators", "credential_id", passkey.authenticator.credentialId]
      : ["api_keys", "public_key", key.publicKey];
    const used = server()
      .opened.database.read.selectFrom(table as "api_keys")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where(column as "public_key", "=", value as string)
      .where("seniority", "<=", Date.now());
    await until(async () => (await used.execute()).length === 1, "the note of the use");
  }

  it("is that of the sub-organization that was made with it, used or not", async () => {
    const parent = await newParent();
    const thief = await addSubOrganization(parent);
    const owner = await addSubOrganization(parent);
    const anybody = await addSubOrganization(parent);
    for (const by of [thief, anybody]) await register(by, owner.client.key.publicKey);
    const ownerAtParent = parent.with({ key: owner.client.key });
    assert.equal(await found(ownerAtParent), idOf(owner));
    assert.deepEqual(await knowing(parent, owner.client.key.publicKey), [owner, thief, anybody].map(idOf));

    // One that registered it before its owner came.
    const key = generateApiKey();
    await register(thief, key.publicKey);
    assert.equal(await found(parent.with({ key })), idOf(thief), "nobody else knows it yet");
    const late = await addSubOrganization(parent, {
      rootUsers: [{ userName: "Late", apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [] }],
    });
    assert.equal(await found(parent.with({ key })), idOf(late));
    assert.deepEqual(await knowing(parent, key.publicKey), [late, thief].map(idOf));
  });

  it("is that of the sub-organization in which it was used, by a query or an activity", async () => {
    const parent = await newParent();
    for (const by of ["query", "activity"]) {
      const owner = await addSubOrganization(parent);
      const { client } = await addUser(owner.client);
      const thieves = [
        await addSubOrganization(parent),
        await addSubOrganization(parent, {
          rootUsers: [
            { userName: "Thief", apiKeys: [apiKeyParams(client.key)], authenticators: [], oauthProviders: [] },
          ],
        }),
      ];
      await register(thieves[0] as Member, client.key.publicKey);
      const atParent = parent.with({ key: client.key });
      assert.equal(await found(atParent), idOf(thieves[1] as Member), "before it was ever used");
      if (by === "query") await use(client);
      else assert.equal((await client.submit("update_organization_name", { organizationName: "x" })).status, 403);
      assert.equal(await found(atParent), idOf(owner), by);
      assert.equal((await knowing(parent, client.key.publicKey))[0], idOf(owner), by);
    }
  });

  it("is a conflict where nothing tells whose it is, until its holder uses it", async () => {
    const parent = await newParent();
    const members = [await addSubOrganization(parent), await addSubOrganization(parent)];
    const key = generateApiKey();
    for (const member of members) await register(member, key.publicKey);
    const atParent = parent.with({ key });
    for (const _ of [1, 2]) {
      const { status, body } = await atParent.query("whoami");
      assert.equal(status, 401);
      assert.equal(body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
      assert.match(body.message, /name the sub-organization's own id/);
    }
    assert.deepEqual(await knowing(parent, key.publicKey), members.map(idOf), "the older registration first");
    const [, second] = members as [Member, Member];
    await use(second.client.with({ key }));
    assert.equal(await found(atParent), idOf(second));
  });

  it("is that of the sub-organization in which its holder used it first, where they use it in two", async () => {
    const parent = await newParent();
    const [one, two] = [await addSubOrganization(parent), await addSubOrganization(parent)];
    await register(one, two.client.key.publicKey);
    const { key } = two.client;
    await use(one.client.with({ key }));
    assert.equal(await found(parent.with({ key })), idOf(one));
    await rename(two.client);
    assert.equal(await found(parent.with({ key })), idOf(one));
    assert.deepEqual(await knowing(parent, key.publicKey), [one, two].map(idOf));
  });

  it("is no other's for having the same credential ID, however much they use theirs", async () => {
    const parent = await newParent();
    const passkey = newPasskey();
    const { credentialId } = passkey.authenticator;
    const [owner, thief] = [await addSubOrganization(parent), await addSubOrganization(parent)];
    const forged = newPasskey(credentialId);
    await registerPasskey(thief, forged);
    await use(thief.client.withPasskey(forged));
    await registerPasskey(owner, passkey);
    assert.equal(await found(parent.withPasskey(passkey)), idOf(owner));
    assert.equal(await found(parent.withPasskey(forged)), idOf(thief));
    await use(owner.client.withPasskey(passkey));
    assert.equal(await found(parent.withPasskey(passkey)), idOf(owner));
    assert.deepEqual(
      await knowing(parent, credentialId, "CREDENTIAL_ID"),
      [thief, owner].map(idOf),
      "as they were used",
    );
  });

  it("does not keep a parent's user out of a sub-organization", async () => {
    const parent = await newParent();
    const passkey = newPasskey();
    await registerPasskey({ userId: (await parent.read("whoami")).userId, client: parent }, passkey);
    const sub = await addSubOrganization(parent);
    await registerPasskey(sub, newPasskey(passkey.authenticator.credentialId));
    const reading = parent.with({ organizationId: idOf(sub) });
    assert.equal((await reading.withPasskey(passkey).query("list_users")).status, 200);
    const others = newPasskey(passkey.authenticator.credentialId);
    const { status, body } = await reading.withPasskey(others).query("list_users");
    assert.deepEqual([status, body.turnkeyErrorCode], [401, "SIGNATURE_INVALID"], "a third key is nobody's");

    await register(sub, parent.key.publicKey, { expirationSeconds: "1" });
    await until(async () => (await reading.read("whoami")).userId !== sub.userId, "the short-lived key to expire");
    assert.equal((await reading.query("list_users")).status, 200);
    assert.equal(await found(parent), parent.organizationId);
  });

  it("is listed by page in the order of seniority", async () => {
    const parent = await newParent();
    const key = generateApiKey();
    const members: Member[] = [];
    for (let count = 0; count < 4; count++) {
      const member = await addSubOrganization(parent);
      await register(member, key.publicKey);
      members.push(member);
    }
    const [first, second, third, fourth] = members.map(idOf) as [string, string, string, string];
    await use(parent.with({ key, organizationId: third }));
    const filter = { filterType: "PUBLIC_KEY", filterValue: key.publicKey };
    const list = async (paginationOptions: object) =>
      (await parent.read("list_suborgs", { ...filter, paginationOptions })).organizationIds;
    assert.deepEqual(await list({}), [third, first, second, fourth]);
    assert.deepEqual(await list({ limit: "2" }), [third, first]);
    assert.deepEqual(await list({ limit: "2", before: first }), [second, fourth]);
    assert.deepEqual(await list({ limit: "2", after: fourth }), [first, second]);
    assert.deepEqual(await list({ after: third }), []);
    const { status, body } = await parent.query("list_suborgs", { ...filter, paginationOptions: { before: newId() } });
    assert.equal(status, 400);
    assert.match(body.message, /`paginationOptions.before` must be one of the sub-organizations that know/);
  });
});

/** Sub-organizations that know one key. */
const MANY = 3000;
const PAGE = 10;

for (const engine of engines) {
  describe(`a key that ${MANY} sub-organizations know (${engine})`, () => {
    let server: TestServer;
    let parent: Client;
    const key = "02".padEnd(66, "ab");
    before(async () => {
      server = await startTestServer(engine);
      parent = server.root;
      await addManyKnowing(server, key);
    });
    after(() => server.close());

    it("is found and listed by reading about as many rows as there are on a page", async () => {
      // A minute after tables grew PostgreSQL takes the statistics itself.
      if (engine === "postgres") await analyze(server.databaseUrl);
      const plans = await openPlanReader(server.databaseUrl);
      try {
        const knowing = (tx: Parameters<Parameters<typeof plans.plansOf>[0]>[0], page: object) =>
          subOrganizationsKnowing(tx, "api_keys", key, parent.organizationId, { limit: PAGE, ...page });
        const [, cursor] = await subOrganizationsKnowing(
          server.opened.database.read,
          "api_keys",
          key,
          parent.organizationId,
          { limit: MANY / 2 },
        );
        const organizationId = cursor?.organizationId as string;
        for (const page of [{}, { before: organizationId }, { after: organizationId }]) {
          const made = await plans.plansOf((tx) => knowing(tx, page));
          const steps = made.flatMap((plan) => plan.steps).join("\n");
          if (engine === "sqlite") assert.doesNotMatch(steps, /SCAN|TEMP B-TREE/, JSON.stringify(page));
          else for (const plan of made) assert.ok((plan.mostRows as number) <= 2 * PAGE, JSON.stringify(plan));
        }
      } finally {
        await plans.close();
      }
    });

    it("is nothing that another parent goes through who looks for the name of its users", async () => {
      const { client } = (await createWorld(server)).root;
      const sub = await addSubOrganization(client);
      await sub.client.result("update_user_name", { userId: sub.userId, userName: "User" });
      if (engine === "postgres") await analyze(server.databaseUrl);
      const plans = await openPlanReader(server.databaseUrl);
      try {
        const filter = { type: "USERNAME", value: "User" };
        const page = { limit: PAGE };
        const made = await plans.plansOf(async (tx) => {
          const found = await findSubOrganizationIds(tx, client.organizationId, filter, page);
          assert.deepEqual(found, [sub.client.organizationId]);
        });
        const steps = made.flatMap((plan) => plan.steps).join("\n");
        if (engine === "sqlite")
          assert.match(steps, /SEARCH users USING COVERING INDEX \w+ \(root_id=\? AND name=\?\)/);
        else for (const plan of made) assert.ok((plan.mostRows as number) <= 2 * PAGE, JSON.stringify(plan));
      } finally {
        await plans.close();
      }
    });
  });
}

async function addManyKnowing({ opened, root: { organizationId: parent } }: TestServer, key: string): Promise<void> {
  const times = { created_at: 1, updated_at: 1 };
  await opened.database.transact(parent, async (tx) => {
    for (let start = 0; start < MANY; start += 100) {
      const ids = Array.from({ length: 100 }, () => newId());
      const organizations = ids.map((id) => ({
        ...{ id, parent_id: parent, name: "Knows it", sealed_key: Buffer.alloc(1), quorum_threshold: 1 },
        ...times,
      }));
      const people = ids.map((id) => ({ id, organization_id: id, name: "User", email: null, phone_number: null }));
      const keys = ids.map((id) => ({
        ...{ id: newId(), organization_id: id, user_id: id, name: "key", public_key: key },
        ...{ credential_type: "CREDENTIAL_TYPE_API_KEY_P256", session_profile_id: null },
        ...{ expiration_seconds: null, expires_at: null },
        ...times,
      }));
      await tx.insertInto("organizations").values(organizations).execute();
      await tx
        .insertInto("users")
        .values(people.map((user) => ({ ...user, root_id: parent, version: 1, ...times })))
        .execute();
      await tx.insertInto("api_keys").values(keys).execute();
    }
  });
}
