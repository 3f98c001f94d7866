import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
} from "../support/client.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const site = { origin: "https://wallet.example", rpId: "wallet.example" };
const newPasskey = () => ({ authenticator: createAuthenticator(), ...site });
const rootUser = (more: object = {}): object => ({
  userName: "Root",
  apiKeys: [apiKeyParams(generateApiKey())],
  authenticators: [],
  oauthProviders: [],
  ...more,
});
const subOrganization = (rootUsers: object[], more: object = {}): object => ({
  subOrganizationName: "Sub",
  rootUsers,
  rootQuorumThreshold: 1,
  ...more,
});

onEachEngine("sub-organizations", (server) => {
  const newParent = async () => (await createWorld(server())).root.client;

  it("have users, a quorum and features of their own", async () => {
    const parent = await newParent();
    const [one, two] = [generateApiKey(), generateApiKey()];
    const rootUsers = [
      rootUser({ userName: "One", apiKeys: [apiKeyParams(one)] }),
      rootUser({ userName: "Two", apiKeys: [apiKeyParams(two)] }),
    ];
    const more = { rootQuorumThreshold: 2, disableEmailAuth: true, disableSmsAuth: true };
    const made = await parent.result("create_sub_organization", subOrganization(rootUsers, more));
    assert.deepEqual(Object.keys(made).sort(), ["rootUserIds", "subOrganizationId"]);
    const sub = parent.with({ key: one, organizationId: made.subOrganizationId });
    const { configs } = await sub.read("get_organization_configs");
    assert.deepEqual(configs.quorum, { threshold: 2, userIds: [...made.rootUserIds].sort() });
    assert.deepEqual(
      configs.features.map(({ name }: Json) => name),
      ["FEATURE_NAME_EMAIL_RECOVERY", "FEATURE_NAME_OTP_EMAIL_AUTH"],
    );
    const { body } = await sub.submit("update_organization_name", { organizationName: "Ours" });
    assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const approval = await sub
      .with({ key: two })
      .submit("approve_activity", { fingerprint: body.activity.fingerprint });
    assert.equal(approval.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
    assert.equal((await sub.read("whoami")).organizationName, "Ours");
  });

  it("may have an empty name, which is then theirs", async () => {
    const parent = await newParent();
    const key = generateApiKey();
    const params = subOrganization([rootUser({ apiKeys: [apiKeyParams(key)] })], { subOrganizationName: "" });
    const { subOrganizationId } = await parent.result("create_sub_organization", params);
    const sub = parent.with({ key, organizationId: subOrganizationId });
    assert.equal((await sub.read("whoami")).organizationName, "");
    await sub.result("update_organization_name", { organizationName: "Named" });
    assert.equal((await sub.read("whoami")).organizationName, "Named");
    const blank = await parent.submit("create_sub_organization", { ...params, subOrganizationName: " " });
    assert.equal(blank.status, 400);
    assert.match(blank.body.message, /`parameters\.subOrganizationName` must be a name of up to 255/);
  });

  it("of the third version start with private keys that sign", async () => {
    const parent = await newParent();
    const key = generateApiKey();
    const { curveType: _, ...apiKey } = apiKeyParams(key) as Json;
    const params = {
      subOrganizationName: "Sub",
      rootQuorumThreshold: 1,
      rootUsers: [{ userName: "Root", apiKeys: [apiKey], authenticators: [] }],
      privateKeys: [
        {
          privateKeyName: "first",
          curve: "CURVE_SECP256K1",
          privateKeyTags: [],
          addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
        },
      ],
    };
    const type = "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V3";
    const { body } = await parent.submit("create_sub_organization", params, { type });
    const { subOrganizationId, privateKeys } = body.activity.result.createSubOrganizationResultV3;
    const sub = parent.with({ key, organizationId: subOrganizationId });
    const payload = { payload: "00", encoding: "PAYLOAD_ENCODING_HEXADECIMAL", hashFunction: "HASH_FUNCTION_SHA256" };
    const signed = await sub.result("sign_raw_payload", { signWith: privateKeys[0].addresses[0].address, ...payload });
    assert.match(signed.r, /^[0-9a-f]{64}$/);
    assert.deepEqual((await parent.read("list_private_keys")).privateKeys, []);
  });

  it("of the first version belong to one passkey", async () => {
    const parent = await newParent();
    const passkey = newPasskey();
    const params = { name: "Sub", rootAuthenticator: authenticatorParams(passkey) };
    const type = "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION";
    const { body } = await parent.submit("create_sub_organization", params, { type });
    const { subOrganizationId } = body.activity.result.createSubOrganizationResult;
    const sub = parent.with({ organizationId: subOrganizationId }).withPasskey(passkey);
    assert.equal((await sub.read("whoami")).organizationId, subOrganizationId);
  });

  it("are refused with a quorum that cannot be met, without users, and below a sub-organization", async () => {
    const parent = await newParent();
    const refusals: [object, RegExp][] = [
      [subOrganization([rootUser()], { rootQuorumThreshold: 0 }), /quorum threshold must be non-zero integer/],
      [
        subOrganization([rootUser()], { rootQuorumThreshold: 2 }),
        /quorum users missing: `parameters.rootQuorumThreshold` is 2/,
      ],
      [subOrganization([]), /`parameters.rootUsers`/],
      [subOrganization([rootUser({ apiKeys: [] })]), /user missing valid credential: Root/],
      [subOrganization([rootUser()], { unknown: true }), /`parameters.unknown` is not a known field/],
    ];
    for (const [params, message] of refusals) {
      const { status, body } = await parent.submit("create_sub_organization", params);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, message);
    }
    const sub = await addSubOrganization(parent);
    const below = await sub.client.submit("create_sub_organization", subOrganization([rootUser()]));
    assert.equal(below.status, 400);
    assert.equal(below.body.turnkeyErrorCode, "INVALID_ACTIVITY_CALLER");
    assert.match(below.body.message, /create_sub_organization is for parent organizations alone/);
    assert.deepEqual(await parent.read("list_suborgs"), { organizationIds: [sub.client.organizationId] });
  });

  it("are read by the parent's users, who cannot act in them", async () => {
    const parent = await newParent();
    const sub = await addSubOrganization(parent);
    const { userId } = await addUser(sub.client, "Holder");
    const reading = parent.with({ organizationId: sub.client.organizationId });
    assert.equal((await reading.read("get_user", { userId })).user.userName, "Holder");
    const rename = await reading.submit("update_organization_name", { organizationName: "Taken" });
    assert.equal(rename.status, 400);
    assert.equal(rename.body.turnkeyErrorCode, "ORGANIZATION_MISMATCH");
    assert.equal(
      rename.body.message,
      `organization mismatch: request is targeting organization ("${sub.client.organizationId}"), but voters are in organization ("${parent.organizationId}")`,
    );
    const plain = (await addUser(parent, "Staff")).client.with({ organizationId: sub.client.organizationId });
    assert.equal((await plain.read("list_users")).users.length, 2);
  });

  it("do not know each other, and their users not the parent", async () => {
    const parent = await newParent();
    const [one, two] = [await addSubOrganization(parent), await addSubOrganization(parent)];
    for (const organizationId of [two.client.organizationId, parent.organizationId]) {
      const trespasser = one.client.with({ organizationId });
      assert.equal((await trespasser.query("list_users")).body.turnkeyErrorCode, "PUBLIC_KEY_NOT_FOUND");
      const submit = await trespasser.submit("update_organization_name", { organizationName: "Taken" });
      assert.equal(submit.body.turnkeyErrorCode, "PUBLIC_KEY_NOT_FOUND");
    }
    const other = await one.client.query("get_user", { userId: two.userId });
    assert.equal(other.status, 404);
  });

  it("win over their parent when both know a key", async () => {
    const parent = await newParent();
    const rootUsers = [rootUser({ userName: "Same key", apiKeys: [apiKeyParams(parent.key)] })];
    const made = await parent.result("create_sub_organization", subOrganization(rootUsers));
    const sub = parent.with({ organizationId: made.subOrganizationId });
    assert.equal((await sub.read("whoami")).username, "Same key");
    assert.equal((await sub.result("update_organization_name", { organizationName: "Ours" })).organizationName, "Ours");
    assert.equal((await parent.read("whoami")).organizationId, parent.organizationId);
  });

  it("are found by whoami from the parent's id, by key and by passkey, unless two share the credential", async () => {
    const parent = await newParent();
    const key = generateApiKey();
    const passkey = newPasskey();
    const user = rootUser({ apiKeys: [apiKeyParams(key)], authenticators: [authenticatorParams(passkey)] });
    const { subOrganizationId } = await parent.result("create_sub_organization", subOrganization([user]));
    const clients = { "public key": parent.with({ key }), "credential ID": parent.withPasskey(passkey) };
    for (const client of Object.values(clients)) {
      assert.equal((await client.read("whoami")).organizationId, subOrganizationId);
      assert.equal((await client.query("list_users")).status, 401, "only whoami looks below");
    }
    // The same attestation again: what a client may send twice.
    await parent.result("create_sub_organization", subOrganization([user]));
    for (const [kind, client] of Object.entries(clients)) {
      const { status, body } = await client.query("whoami");
      assert.equal(status, 401);
      assert.equal(body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
      assert.match(body.message, new RegExp(`^more than one suborg associated with a ${kind}`));
    }
  });

  it("are listed newest first, by page and by what is in them", async () => {
    const parent = await newParent();
    const key = generateApiKey();
    const passkey = newPasskey();
    const issuer = await issuerOfTests();
    const claims = { iss: issuer.url, sub: newId(), aud: "client" };
    const user = rootUser({
      userName: "Findable",
      userEmail: "findable@example.com",
      userPhoneNumber: "+14155550177",
      apiKeys: [apiKeyParams(key)],
      authenticators: [authenticatorParams(passkey)],
      oauthProviders: [await oauthProviderParams(claims.sub, { oidcClaims: claims })],
    });
    const others = [await addSubOrganization(parent), await addSubOrganization(parent)];
    const params = subOrganization([user], { subOrganizationName: "The one" });
    const { subOrganizationId } = await parent.result("create_sub_organization", params);
    const otherIds = others.map(({ client }) => client.organizationId).reverse();
    const list = async (fields: object = {}) => (await parent.read("list_suborgs", fields)).organizationIds;
    assert.deepEqual(await list(), [subOrganizationId, ...otherIds]);
    assert.deepEqual(await list({ paginationOptions: { limit: "1" } }), [subOrganizationId]);
    assert.deepEqual(await list({ paginationOptions: { before: subOrganizationId } }), otherIds);
    assert.deepEqual(await list({ paginationOptions: { after: otherIds[1], limit: "1" } }), [otherIds[0]]);
    const named = await parent.read("list_suborgs", { includeNames: true });
    assert.deepEqual(named, {
      organizationIds: [subOrganizationId, ...otherIds],
      organizationNames: ["The one", "Sub-organization", "Sub-organization"],
    });
    const byKey = { filterType: "PUBLIC_KEY", filterValue: key.publicKey, includeNames: true };
    assert.deepEqual((await parent.read("list_suborgs", byKey)).organizationNames, ["The one"]);
    const nothing = { filterType: "NAME", filterValue: "nobody", includeNames: true };
    assert.deepEqual(await parent.read("list_suborgs", nothing), { organizationIds: [], organizationNames: [] });
    assert.equal((await parent.query("list_suborgs", { includeNames: "yes" })).status, 400);
    const token = await issuer.token({ ...claims, aud: ["client"] });
    const manyAudiences = Array.from({ length: 5000 }, (_, index) => (index === 0 ? "client" : `app ${index}`));
    const filters: Record<string, string> = {
      NAME: "The one",
      USERNAME: "Findable",
      EMAIL: "findable@example.com",
      PHONE_NUMBER: "+14155550177",
      PUBLIC_KEY: key.publicKey,
      CREDENTIAL_ID: passkey.authenticator.credentialId,
      OIDC_TOKEN: token,
      OIDC_CLAIMS: JSON.stringify(claims),
    };
    for (const [filterType, filterValue] of Object.entries(filters)) {
      assert.deepEqual(await list({ filterType, filterValue }), [subOrganizationId], filterType);
      if (!filterType.startsWith("OIDC_")) assert.deepEqual(await list({ filterType, filterValue: "nobody" }), []);
      assert.deepEqual(
        (await (await newParent()).read("list_suborgs", { filterType, filterValue })).organizationIds,
        [],
      );
    }
    for (const fields of [
      { filterType: "EMAIL" },
      { filterType: "COLOUR", filterValue: "red" },
      { filterType: "OIDC_TOKEN", filterValue: "a.b" },
      { filterType: "OIDC_TOKEN", filterValue: "e30.e30.c2ln" },
      { filterType: "OIDC_TOKEN", filterValue: await issuer.token({ ...claims, aud: ["x", "client"] }) },
      { filterType: "OIDC_CLAIMS", filterValue: JSON.stringify({ ...claims, aud: manyAudiences }) },
      { filterType: "OIDC_CLAIMS", filterValue: JSON.stringify({ ...claims, sub: "x".repeat(256) }) },
      { filterType: "OIDC_CLAIMS", filterValue: "[]" },
    ]) {
      assert.equal((await parent.query("list_suborgs", fields)).status, 400, JSON.stringify(fields));
    }
    const nobody = { filterType: "EMAIL", filterValue: "findable@example.com" };
    assert.deepEqual(
      await parent.read("list_verified_suborgs", nobody),
      { organizationIds: [] },
      "nothing is verified",
    );
    assert.equal((await others[0]?.client.query("list_suborgs"))?.status, 400);
  });

  it("are found by an address in any letter case, as its codes find the user", async () => {
    const parent = await newParent();
    for (const userEmail of ["Ada@Example.com", "Ärin@Example.com"]) {
      const user = rootUser({ userEmail });
      const { subOrganizationId } = await parent.result("create_sub_organization", subOrganization([user]));
      // Beyond ASCII letters are those that they are.
      const spellings = [userEmail, userEmail.replace(/[A-Z]/g, (letter) => letter.toLowerCase())];
      for (const filterValue of [...spellings, userEmail.replace(/[a-z]/g, (letter) => letter.toUpperCase())]) {
        const found = await parent.read("list_suborgs", { filterType: "EMAIL", filterValue });
        assert.deepEqual(found, { organizationIds: [subOrganizationId] }, filterValue);
      }
    }
  });

  it("are deleted by their own root quorum, once their keys are exported or given up", async () => {
    const parent = await newParent();
    const { client: sub } = await addSubOrganization(parent);
    const key = { privateKeyName: "k", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] };
    await sub.result("create_private_keys", { privateKeys: [key] });
    const refused = await sub.submit("delete_sub_organization", {});
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /has not been exported/);
    const plain = (await addUser(sub)).client;
    assert.equal((await plain.submit("delete_sub_organization", { deleteWithoutExport: true })).status, 403);
    const deleted = await sub.result("delete_sub_organization", { deleteWithoutExport: true });
    assert.deepEqual(deleted, { subOrganizationUuid: sub.organizationId });

    assert.equal((await sub.query("whoami")).body.turnkeyErrorCode, "PUBLIC_KEY_NOT_FOUND");
    assert.deepEqual(await parent.read("list_suborgs"), { organizationIds: [] });
    const reading = parent.with({ organizationId: sub.organizationId });
    const { activities } = await reading.read("list_activities");
    assert.equal(activities[0].type, "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION");
    assert.deepEqual((await reading.read("list_private_keys")).privateKeys, []);
    const rows = await server()
      .opened.database.read.selectFrom("organizations")
      .select("sealed_key")
      .where("id", "=", sub.organizationId)
      .execute();
    assert.equal(rows[0]?.sealed_key.length, 0, "the organization's own key is gone");
    assert.equal((await parent.submit("delete_sub_organization", {})).body.turnkeyErrorCode, "INVALID_ACTIVITY_CALLER");
  });

  it("leave nothing behind that acts when they are deleted", async () => {
    const parent = await newParent();
    const passkey = newPasskey();
    const [one, two] = [generateApiKey(), generateApiKey()];
    const rootUsers = [
      rootUser({ userName: "One", apiKeys: [apiKeyParams(one)], authenticators: [authenticatorParams(passkey)] }),
      rootUser({ userName: "Two", apiKeys: [apiKeyParams(two)] }),
    ];
    const made = await parent.result("create_sub_organization", subOrganization(rootUsers, { rootQuorumThreshold: 2 }));
    const sub = parent.with({ key: one, organizationId: made.subOrganizationId });
    const second = sub.with({ key: two });
    const path = "/public/v1/submit/update_organization_name";
    const body = sub.submitBody("update_organization_name", { organizationName: "Pending" });
    const pending = (await sub.post(path, body)).body.activity;
    const deletion = (await sub.submit("delete_sub_organization", { deleteWithoutExport: true })).body.activity;
    assert.equal(deletion.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const { fingerprint } = deletion;
    const deleted = (await second.submit("approve_activity", { fingerprint })).body.activity;
    assert.equal(deleted.status, "ACTIVITY_STATUS_COMPLETED");

    for (const client of [second, sub.withPasskey(passkey)]) {
      const vote = await client.submit("approve_activity", { fingerprint: pending.fingerprint });
      assert.match(vote.body.turnkeyErrorCode, /PUBLIC_KEY_NOT_FOUND|CREDENTIAL_NOT_FOUND/);
      assert.equal((await client.post(path, body)).status, 401, "nor by the same body");
    }
    const reading = parent.with({ organizationId: sub.organizationId });
    for (const vote of ["approve_activity", "reject_activity"]) {
      const { body } = await reading.submit(vote, { fingerprint: pending.fingerprint });
      assert.equal(body.turnkeyErrorCode, "ORGANIZATION_MISMATCH");
    }
    const { activity } = await reading.read("get_activity", { activityId: pending.id });
    assert.deepEqual([activity.canApprove, activity.canReject], [false, false]);
    for (const [filterType, filterValue] of [
      ["NAME", "Sub"],
      ["USERNAME", "One"],
      ["PUBLIC_KEY", one.publicKey],
    ]) {
      const { organizationIds } = await parent.read("list_suborgs", { filterType, filterValue });
      assert.deepEqual(organizationIds, [], filterType);
    }

    // The same credentials are free for another.
    const again = await parent.result("create_sub_organization", subOrganization([rootUsers[0] as object]));
    const found = parent.with({ key: one });
    assert.equal((await found.read("whoami")).organizationId, again.subOrganizationId);
    assert.equal((await parent.withPasskey(passkey).read("whoami")).organizationId, again.subOrganizationId);
  });

  leavesAccounts(server);
});

onEachEngine("features", (server) => {
  const newParent = async () => (await createWorld(server())).root.client;
  const names = async (client: Client) =>
    (await client.read("get_organization_configs")).configs.features.map(({ name }: Json) => name);

  it("are set and removed by the root quorum", async () => {
    const parent = await newParent();
    const sms = { name: "FEATURE_NAME_SMS_AUTH", value: "" };
    const { features } = await parent.result("set_organization_feature", sms);
    assert.deepEqual(features.at(-1), { name: "FEATURE_NAME_SMS_AUTH" });
    assert.ok((await names(parent)).includes(sms.name));
    const left = await parent.result("remove_organization_feature", { name: sms.name });
    assert.ok(left.features.every(({ name }: Json) => name !== sms.name));
    const again = await parent.submit("remove_organization_feature", { name: sms.name });
    assert.equal(again.status, 404);
    const plain = (await addUser(parent)).client;
    assert.equal((await plain.submit("set_organization_feature", sms)).status, 403);
  });

  it("refuse values that they cannot work with", async () => {
    const parent = await newParent();
    for (const value of [undefined, "", "example.com", "https://example.com/path", "http://example.com", "a,b"]) {
      const feature = { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value };
      const { status, body } = await parent.submit("set_organization_feature", feature);
      assert.equal(status, 400, String(value));
      assert.match(body.message, /parameters.value/);
    }
    const webhook = { name: "FEATURE_NAME_WEBHOOK", value: "https://hooks.example.com" };
    assert.match((await parent.submit("set_organization_feature", webhook)).body.message, /create_webhook_endpoint/);
  });

  it("limit the origins of passkeys, in the parent and below it", async () => {
    const parent = await newParent();
    const passkey = newPasskey();
    const user = rootUser({ authenticators: [authenticatorParams(passkey)] });
    const { subOrganizationId } = await parent.result("create_sub_organization", subOrganization([user]));
    const sub = parent.with({ organizationId: subOrganizationId }).withPasskey(passkey);
    assert.equal((await sub.query("whoami")).status, 200, "any origin at first");
    const feature = { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value: "https://other.example, https://third.example" };
    await parent.result("set_organization_feature", feature);
    const refused = await sub.query("whoami");
    assert.equal(refused.status, 401);
    assert.match(refused.body.message, /origin/);
    const registration = await parent.submit(
      "create_sub_organization",
      subOrganization([rootUser({ authenticators: [authenticatorParams(newPasskey())] })]),
    );
    assert.equal(registration.status, 400);
    assert.match(registration.body.message, /parameters\.rootUsers\.0\.authenticators\.0\.attestation.*origin/);
    await parent.result("set_organization_feature", { ...feature, value: `https://other.example,${site.origin}` });
    assert.equal((await sub.query("whoami")).status, 200);
  });
});
