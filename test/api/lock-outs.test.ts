import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { type Attested, BY_OIDC, submitAttested } from "../support/attested-stamps.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
  type TestAnswer,
} from "../support/client.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { verificationTokenFor } from "../support/one-time-codes.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const site = { origin: "https://wallet.example", rpId: "wallet.example" };
const nothing = { apiKeys: [], authenticators: [], oauthProviders: [], userTags: [] };
const byMail = { ...nothing, userName: "By mail", userEmail: "mail@example.com" };
const group = (...types: string[]) => ({ any: types.map((type) => ({ type: `AUTHENTICATION_TYPE_${type}` })) });
const passkeyAlways = {
  mfaPolicyName: "Passkey",
  condition: "true",
  requiredAuthenticationMethods: [group("PASSKEY")],
  order: 5,
};

const addPerson = async (root: Client, user: object): Promise<string> =>
  (await root.result("create_users", { users: [user] })).userIds[0];

async function addPasskey(root: Client, userId: string) {
  const passkey = { authenticator: createAuthenticator(), ...site };
  const authenticators = [authenticatorParams(passkey)];
  const { authenticatorIds } = await root.result("create_authenticators", { userId, authenticators });
  return { passkey, authenticatorId: authenticatorIds[0] as string };
}

function refused({ status, body }: TestAnswer, message: RegExp): void {
  assert.equal(status, 400, JSON.stringify(body));
  assert.match(body.message, message);
}

onEachEngine("nobody is locked out", (server) => {
  const newWorld = () => createWorld(server());
  const quorumOf = async ({ client }: Member) => (await client.read("get_organization_configs")).configs.quorum;
  const policiesOf = async ({ client, userId }: Member) =>
    (await client.read("get_mfa_policies", { userId })).mfaPolicies.map(({ mfaPolicyId }: Json) => mfaPolicyId);

  it("by a root quorum that has its threshold only in members who cannot sign", async () => {
    const { root } = await newWorld();
    const expiring = [apiKeyParams(generateApiKey(), { expirationSeconds: "900" })];
    const people = [
      byMail,
      { ...nothing, userName: "By OAuth", oauthProviders: [await oauthProviderParams()] },
      { ...byMail, userName: "For a while", apiKeys: expiring },
    ];
    const before = await quorumOf(root);
    for (const person of people) {
      const userId = await addPerson(root.client, person);
      for (const quorum of [
        { threshold: 1, userIds: [userId] },
        { threshold: 2, userIds: [root.userId, userId] },
      ]) {
        const answer = await root.client.submit("update_root_quorum", quorum);
        refused(answer, new RegExp(`quorum users missing: .* users who can sign; give ${userId} their own passkey`));
        assert.deepEqual(await quorumOf(root), before);
      }
      await root.client.result("update_root_quorum", { threshold: 1, userIds: [root.userId, userId] });
      await root.client.result("create_api_keys", { userId, apiKeys: [apiKeyParams(generateApiKey())] });
      await root.client.result("update_root_quorum", { threshold: 1, userIds: [userId, root.userId] });
      await root.client.result("update_root_quorum", before);
    }
  });

  it("by the loss of the last credential that lasts", async () => {
    const { root } = await newWorld();
    const person = {
      ...byMail,
      apiKeys: [apiKeyParams(generateApiKey())],
      oauthProviders: [await oauthProviderParams()],
    };
    const userId = await addPerson(root.client, person);
    const { apiKeys } = await root.client.read("get_api_keys", { userId });
    const deletion = { userId, apiKeyIds: [apiKeys[0].apiKeyId] };
    const answer = await root.client.submit("delete_api_keys", deletion);
    refused(answer, new RegExp(`^user missing valid credential: ${userId}; `));
    assert.deepEqual((await root.client.read("get_api_keys", { userId })).apiKeys, apiKeys);
    await addPasskey(root.client, userId);
    await root.client.result("delete_api_keys", deletion);
  });

  it("for having root users who sign in by e-mail or OAuth: their sub-organizations are made", async () => {
    const { root } = await newWorld();
    const rootUsers = [
      { userName: "By mail", userEmail: "mail@example.com", apiKeys: [], authenticators: [], oauthProviders: [] },
      { userName: "By OAuth", apiKeys: [], authenticators: [], oauthProviders: [await oauthProviderParams()] },
    ];
    const parameters = { subOrganizationName: "Sub", rootUsers, rootQuorumThreshold: 2 };
    const made = await root.client.result("create_sub_organization", parameters);
    assert.equal(made.rootUserIds.length, 2);
  });

  it("by MFA that the root quorum could not show whenever it is asked", async () => {
    const { root, user } = await newWorld();
    const policyFor = async ({ client, userId }: Member, ...types: string[]) => {
      const policy = { userId, ...passkeyAlways, requiredAuthenticationMethods: types.map((type) => group(type)) };
      return client.submit("create_mfa_policy", policy);
    };
    const removeMfa = async ({ client, userId }: Member, attested: Attested) => {
      for (const mfaPolicyId of await policiesOf({ client, userId })) {
        const asked = (await client.submit("delete_mfa_policy", { userId, mfaPolicyId })).body.activity;
        const { body } = await submitAttested(client, "approve_activity", { fingerprint: asked.fingerprint }, attested);
        assert.equal(body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      }
    };
    const byCode = async (client: Client, contact: string): Promise<Attested> => {
      const key = generateApiKey();
      return { key, token: await verificationTokenFor(server(), client, contact, { key }) };
    };
    const missing = /cannot show at any time/;
    for (const type of ["EMAIL_OTP", "SMS_OTP", "OAUTH", "SESSION"]) {
      assert.equal(
        (await policyFor({ ...root, userId: user.userId }, type)).status,
        200,
        "the quorum can take it away",
      );
      refused(await policyFor(root, type), missing);
    }
    const userEmail = `${newId()}@example.com`;
    await root.client.result("update_user", { userId: root.userId, userEmail });
    refused(await policyFor(root, "EMAIL_OTP"), missing);
    const subject = newId();
    const oauthProviders = [await oauthProviderParams(subject)];
    await root.client.result("create_oauth_providers", { userId: root.userId, oauthProviders });
    assert.equal((await policyFor(root, "OAUTH")).status, 200, "the user brings the token");
    const key = generateApiKey();
    const nonce = nonceOfPublicKey(key.publicKey);
    const token = await (await issuerOfTests()).token({ sub: subject, nonce });
    await removeMfa(root, { key, token, scheme: BY_OIDC });

    const sub = await addSubOrganization(root.client);
    refused(await policyFor(sub, "EMAIL_OTP"), missing);
    await sub.client.result("update_user", { userId: sub.userId, userEmail });
    assert.equal((await policyFor(sub, "EMAIL_OTP")).status, 200, "the parent has codes sent");
    const code = await byCode(root.client, userEmail);
    const name = "FEATURE_NAME_OTP_EMAIL_AUTH";
    const off = (await sub.client.submit("remove_organization_feature", { name })).body.activity;
    const { body } = await submitAttested(sub.client, "approve_activity", { fingerprint: off.fingerprint }, code);
    assert.equal(body.activity.status, "ACTIVITY_STATUS_FAILED");
    assert.match(
      body.activity.failure.message,
      /FEATURE_NAME_OTP_EMAIL_AUTH sends the codes.*Change those policies first/,
    );
    await removeMfa(sub, code);
    await sub.client.result("remove_organization_feature", { name });
    refused(await policyFor(sub, "EMAIL_OTP"), missing);
  });

  it("by the deletion of the credential that an MFA policy names", async () => {
    const { root, user } = await newWorld();
    const { userId } = user;
    const [one, two] = [await addPasskey(root.client, userId), await addPasskey(root.client, userId)];
    const naming = (...ids: string[]) => [{ any: ids.map((id) => ({ type: "AUTHENTICATION_TYPE_PASSKEY", id })) }];
    const policy = { userId, ...passkeyAlways, requiredAuthenticationMethods: naming(one.authenticatorId) };
    const { mfaPolicyId } = await root.client.result("create_mfa_policy", policy);
    const deletion = (...authenticatorIds: string[]) =>
      root.client.submit("delete_authenticators", { userId, authenticatorIds });
    const before = await root.client.read("get_authenticators", { userId });
    refused(
      await deletion(one.authenticatorId),
      new RegExp(`authenticatorIds. contains .*${mfaPolicyId}.*change that`),
    );
    assert.deepEqual(await root.client.read("get_authenticators", { userId }), before);

    const requiredAuthenticationMethods = naming(one.authenticatorId, two.authenticatorId);
    await root.client.result("update_mfa_policy", { userId, mfaPolicyId, requiredAuthenticationMethods });
    refused(await deletion(one.authenticatorId, two.authenticatorId), /change that policy first/);
    assert.equal((await deletion(one.authenticatorId)).status, 200, "the other one does as well");
    await root.client.result("delete_mfa_policy", { userId, mfaPolicyId });
    assert.equal((await deletion(two.authenticatorId)).status, 200);
  });

  it("by MFA that a root quorum cannot meet and therefore not remove", async () => {
    const { root } = await newWorld();
    const { userId, client } = root;
    const policy = { userId, ...passkeyAlways };
    const missing = /quorum users missing: user .* is in the root quorum, and an MFA policy of theirs/;
    for (const condition of ["true", "activity.action == 'DELETE'", "eth.tx.value > 1"]) {
      refused(await client.submit("create_mfa_policy", { ...policy, condition }), missing);
    }
    assert.deepEqual(await policiesOf(root), []);
    // What leaves a way out is nobody's lock-out.
    const guarding = { ...policy, condition: "activity.action == 'EXPORT'" };
    const { mfaPolicyId } = await client.result("create_mfa_policy", guarding);
    refused(await client.submit("update_mfa_policy", { userId, mfaPolicyId, condition: "true" }), missing);
    await client.result("delete_mfa_policy", { userId, mfaPolicyId });

    const exempting = { condition: "activity.resource == 'MFA_POLICY'", requiredAuthenticationMethods: [], order: 1 };
    const exempt = await client.result("create_mfa_policy", { ...policy, ...exempting });
    const always = await client.result("create_mfa_policy", policy);
    refused(await client.submit("delete_mfa_policy", { userId, mfaPolicyId: exempt.mfaPolicyId }), missing);
    await client.result("delete_mfa_policy", { userId, mfaPolicyId: always.mfaPolicyId });
    await client.result("delete_mfa_policy", { userId, mfaPolicyId: exempt.mfaPolicyId });

    const { passkey, authenticatorId } = await addPasskey(client, userId);
    await client.result("create_mfa_policy", policy);
    const deletion = { userId, authenticatorIds: [authenticatorId] };
    refused(await client.withPasskey(passkey).submit("delete_authenticators", deletion), missing);
  });

  it("by MFA of one member, as long as the others are enough", async () => {
    const { root } = await newWorld();
    const { client } = root;
    const second = await addUser(client, "Second");
    await client.result("update_root_quorum", { threshold: 1, userIds: [root.userId, second.userId] });
    await client.result("create_mfa_policy", { userId: second.userId, ...passkeyAlways });
    refused(
      await client.submit("update_root_quorum", { threshold: 1, userIds: [second.userId] }),
      new RegExp(`give ${second.userId} their own passkey`),
    );
    refused(
      await client.submit("update_root_quorum", { threshold: 2, userIds: [root.userId, second.userId] }),
      /users who can sign/,
    );
    refused(await client.submit("create_mfa_policy", { userId: root.userId, ...passkeyAlways }), /root quorum/);
  });
});
