import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { keccak_256 } from "@noble/hashes/sha3.js";
import {
  decryptCredentialBundle,
  decryptExportBundle,
  decryptSecretBundle,
  encryptOtpCodeToBundle,
  encryptPrivateKeyToBundle,
  encryptSecretToBundle,
  encryptWalletToBundle,
  generateP256KeyPair,
  verify,
  verifyAppProofSignature,
  verifySessionJwtSignature,
} from "@turnkey/crypto";
import secp256k1 from "secp256k1";
import { operations } from "../../src/capabilities/index.ts";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { exportTarget } from "../support/bundles.ts";
import {
  balanceOf,
  EARN_ASSET,
  EARN_CHAIN,
  EARN_VAULT,
  ended,
  TEST_CHAIN,
  testEarnNode,
  testNode,
  testSolana,
} from "../support/chain.ts";
import { apiKeyParams, authenticatorParams, generateApiKey, type Json } from "../support/client.ts";
import {
  appParams,
  awaitingDeployment,
  deploymentParams,
  newOperator,
  runOf,
  someProgram,
} from "../support/deployments.ts";
import { earnTerms, feesToClaim, giveAsset } from "../support/earn.ts";
import { includedHash, newAddress, newEvmWallet } from "../support/evm-sender.ts";
import { newWalletAddress } from "../support/history.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { askForMail } from "../support/messages.ts";
import { credentialParams, oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { coinbaseParams, onRampProviderOfTests, purchaseParams } from "../support/on-ramp-provider.ts";
import { loginSignature, mailedCode, verificationTokenFor } from "../support/one-time-codes.ts";
import { keyIn, mailTo } from "../support/outbox.ts";
import { relayOfTests } from "../support/relay.ts";
import { httpSdk, methodsNotServed, type Sdk, type SdkOptions, serverSdk } from "../support/sdk.ts";
import { newSender } from "../support/sender.ts";
import { onOneEngine, type TestServer } from "../support/server.ts";
import { newSolanaAddress } from "../support/solana-history.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import { lamportsOf, newSolanaWallet, SOL, unsignedTransfer } from "../support/solana-sender.ts";
import { claimOf, leafPublicKey, newSparkWallet, Operators, transferOf } from "../support/spark.ts";
import { newSwapper, quoteParams } from "../support/swap-world.ts";
import { until } from "../support/until.ts";

const extensions = operations.flatMap((each) => (each.kind !== "vote" && each.isExtension ? [each.path] : []));
/** Of the public API, though no published SDK has a method for it. */
const withoutMethod = [
  "upsert_gas_usage_config",
  "enable_auth_proxy",
  "update_auth_proxy_config",
  "disable_auth_proxy",
  "get_auth_proxy_config",
];
const sdks = [
  {
    name: "@turnkey/http",
    connect: httpSdk,
    unknown: [...extensions, ...withoutMethod],
  },
  // Older than the others, and left out of this SDK.
  {
    name: "@turnkey/sdk-server",
    connect: serverSdk,
    unknown: [
      "get_organization",
      "create_api_only_users",
      "init_import_secrets",
      "delete_secrets",
      "eth_send_raw_transaction",
      "create_tvc_operator",
      "create_tvc_quorum_key",
      "post_tvc_quorum_key_share",
      "re_encrypt_tvc_quorum_key_share",
      "get_tvc_deployment_provisioning_details",
      "list_tvc_operators",
      "list_tvc_quorum_keys",
      "get_active_policies",
      ...extensions,
      ...withoutMethod,
    ],
  },
];

it("the guide on migrating names what the SDK has methods for and this server no operation", () => {
  const guide = readFileSync(new URL("../../docs/guide/migrating.md", import.meta.url), "utf8");
  const [, names = ""] = /^- Operations that `@turnkey\/http` has methods for.*?: (.*?)\. /ms.exec(guide) ?? [];
  assert.deepEqual([...names.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(), methodsNotServed().sort());
});

for (const { name, connect, unknown } of sdks) {
  onOneEngine("postgres", name, (server) => tellStory(server, connect, unknown));
}

/** One way through everything the SDK knows of our operations, each answer held against what was sent. */
function tellStory(server: () => TestServer, connect: (options: SdkOptions) => Sdk, unknown: string[]): void {
  const called = new Set<string>();
  const sdkOf = (key: SdkOptions["key"], organizationId = server().credentials.organizationId): Sdk => {
    const sdk = connect({ baseUrl: server().baseUrl, organizationId, key });
    return {
      knows: sdk.knows,
      submit: (path, parameters) => sdk.submit(path, parameters).finally(() => called.add(path)),
      read: (path, fields) => sdk.read(path, fields).finally(() => called.add(path)),
    };
  };
  const rootSdk = () => sdkOf(server().root.key);
  /** The result of an activity that is carried out at once. */
  const done = async (path: string, parameters: object): Promise<Json> => {
    const { activity, result } = await rootSdk().submit(path, parameters);
    assertCompleted(activity, server().credentials.organizationId);
    return result;
  };
  const read = (path: string, fields?: object): Promise<Json> => rootSdk().read(path, fields);
  /** Only where the SDK has the operation; the last test holds the list of what it has not. */
  const itIfKnown = (path: string, test: () => Promise<void>) => {
    if (!unknown.includes(path)) it(path, test);
  };

  describe("organizations", () => {
    it("get_whoami", async () => {
      const { organizationId, organizationName, userId, userName } = server().credentials;
      assert.deepEqual(await read("whoami"), { organizationId, organizationName, userId, username: userName });
    });

    it("update_organization_name, get_organization_configs", async () => {
      const { organizationName } = await done("update_organization_name", { organizationName: "Renamed" });
      assert.equal(organizationName, "Renamed");
      assert.equal((await read("whoami")).organizationName, "Renamed");
      const { userId } = server().credentials;
      const { configs } = await read("get_organization_configs");
      assert.deepEqual(configs.quorum, { threshold: 1, userIds: [userId] });
    });

    it("set_organization_feature, remove_organization_feature", async () => {
      const feature = { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value: "https://wallet.example" };
      const { features } = await done("set_organization_feature", feature);
      assert.deepEqual(features.at(-1), feature);
      const { features: left } = await done("remove_organization_feature", { name: feature.name });
      assert.equal(left.length, features.length - 1);
    });

    it("create_sub_organization, list_suborgs, list_verified_suborgs, delete_sub_organization", async () => {
      const key = generateApiKey();
      const rootUser = { userName: "End user", apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [] };
      const { subOrganizationId, rootUserIds } = await done("create_sub_organization", {
        subOrganizationName: "Wallet of an end user",
        rootUsers: [rootUser],
        rootQuorumThreshold: 1,
      });
      assert.equal(rootUserIds.length, 1);
      const filter = { filterType: "PUBLIC_KEY", filterValue: key.publicKey };
      assert.deepEqual(await read("list_suborgs", filter), { organizationIds: [subOrganizationId] });
      assert.deepEqual(await read("list_verified_suborgs"), { organizationIds: [] });
      const sub = sdkOf(key, subOrganizationId);
      assert.equal((await sub.read("whoami")).organizationId, subOrganizationId);
      const { result } = await sub.submit("delete_sub_organization", { deleteWithoutExport: true });
      assert.deepEqual(result, { subOrganizationUuid: subOrganizationId });
      assert.deepEqual(await read("list_suborgs"), { organizationIds: [] });
    });

    it("list_app_proofs, get_boot_proof, get_latest_boot_proof", async () => {
      const params = { organizationName: "Proved", generateAppProofs: true };
      const { activity } = await rootSdk().submit("update_organization_name", params);
      const [proof] = activity.appProofs;
      verifyAppProofSignature(proof);
      assert.deepEqual((await read("list_app_proofs", { activityId: activity.id })).appProofs, [proof]);
      const { bootProof } = await read("get_boot_proof", { ephemeralKey: proof.publicKey });
      assert.equal(bootProof.ephemeralPublicKeyHex, proof.publicKey);
      assert.deepEqual((await read("get_latest_boot_proof", { appName: "signer" })).bootProof, bootProof);
      // There is no maker of hardware behind it, and the SDK says so.
      await assert.rejects(verify(proof, bootProof));
    });

    itIfKnown("get_organization", async () => {
      const { organizationData } = await read("get_organization");
      assert.equal(organizationData.organizationId, server().credentials.organizationId);
      assert.deepEqual(
        organizationData.users.map((user: Json) => user.userName),
        ["Root user"],
      );
    });
  });

  describe("users and credentials", () => {
    let userId: string;
    const key = generateApiKey();

    it("create_users, get_user, list_users", async () => {
      const empty = { authenticators: [], oauthProviders: [], userTags: [] };
      const user = { userName: "Ada", userEmail: "ada@example.com", apiKeys: [apiKeyParams(key)], ...empty };
      const { userIds } = await done("create_users", { users: [user] });
      userId = userIds[0];
      const shown = (await read("get_user", { userId })).user;
      assert.equal(shown.userEmail, "ada@example.com");
      assert.deepEqual(shown.apiKeys[0].credential, {
        publicKey: key.publicKey,
        type: "CREDENTIAL_TYPE_API_KEY_P256",
      });
      const { users } = await read("list_users");
      assert.deepEqual(users[1], shown);
    });

    itIfKnown("create_api_only_users", async () => {
      const apiKeys = [{ apiKeyName: "key", publicKey: generateApiKey().publicKey }];
      const user = { userName: "Bot", userTags: [], apiKeys };
      const { userIds } = await done("create_api_only_users", { apiOnlyUsers: [user] });
      assert.equal((await read("get_user", { userId: userIds[0] })).user.userName, "Bot");
      await done("delete_users", { userIds });
    });

    it("update_user, update_user_name", async () => {
      await done("update_user", { userId, userEmail: "countess@example.com", userPhoneNumber: "+442079460000" });
      assert.deepEqual((await done("update_user_name", { userId, userName: "Countess" })).userId, userId);
      const { user } = await read("get_user", { userId });
      assert.deepEqual(
        [user.userName, user.userEmail, user.userPhoneNumber],
        ["Countess", "countess@example.com", "+442079460000"],
      );
    });

    it("update_user_email, update_user_phone_number", async () => {
      const root = server().root;
      const userEmail = "verified@example.com";
      const verificationToken = await verificationTokenFor(server(), root, userEmail);
      assert.equal((await done("update_user_email", { userId, userEmail, verificationToken })).userId, userId);
      await done("update_user_phone_number", { userId, userPhoneNumber: "" });
      const { user } = await read("get_user", { userId });
      assert.deepEqual([user.userEmail, user.userPhoneNumber], [userEmail, undefined]);
    });

    it("create_api_keys, get_api_key, get_api_keys, delete_api_keys", async () => {
      const second = generateApiKey();
      const apiKeys = [apiKeyParams(second, { expirationSeconds: "600" })];
      const { apiKeyIds } = await done("create_api_keys", { userId, apiKeys });
      const { apiKey } = await read("get_api_key", { apiKeyId: apiKeyIds[0] });
      assert.equal(apiKey.credential.publicKey, second.publicKey);
      assert.equal(apiKey.expirationSeconds, "600");
      assert.equal((await sdkOf(second).read("whoami")).userId, userId);
      assert.equal((await read("get_api_keys", { userId })).apiKeys.length, 2);
      assert.deepEqual((await done("delete_api_keys", { userId, apiKeyIds })).apiKeyIds, apiKeyIds);
      await assert.rejects(sdkOf(second).read("whoami"), /Turnkey error 16: could not find public key in organization/);
    });

    it("create_authenticators, get_authenticator, get_authenticators, delete_authenticators", async () => {
      const challenge = "c2RrIHRlc3Q";
      const attestation = createAuthenticator().attest({
        challenge: Buffer.from(challenge, "base64url"),
        origin: "https://wallet.example",
        rpId: "wallet.example",
      });
      const authenticators = [{ authenticatorName: "passkey", challenge, attestation }];
      const { authenticatorIds } = await done("create_authenticators", { userId, authenticators });
      const { authenticator } = await read("get_authenticator", { authenticatorId: authenticatorIds[0] });
      assert.equal(authenticator.credentialId, attestation.credentialId);
      assert.deepEqual((await read("get_authenticators", { userId })).authenticators, [authenticator]);
      const deleted = await done("delete_authenticators", { userId, authenticatorIds });
      assert.deepEqual(deleted.authenticatorIds, authenticatorIds);
      assert.deepEqual((await read("get_authenticators", { userId })).authenticators, []);
    });

    it("create_oauth_providers, get_oauth_providers, delete_oauth_providers", async () => {
      const oauthProviders = [await oauthProviderParams()];
      const { providerIds } = await done("create_oauth_providers", { userId, oauthProviders });
      const [provider] = (await read("get_oauth_providers", { userId })).oauthProviders;
      assert.deepEqual([provider.providerId, provider.audience], [providerIds[0], "app"]);
      assert.deepEqual((await done("delete_oauth_providers", { userId, providerIds })).providerIds, providerIds);
      assert.deepEqual((await read("get_oauth_providers", { userId })).oauthProviders, []);
    });

    it("create_oauth2_credential, get_, list_, update_ and delete_oauth2_credential(s), oauth2_authenticate", async () => {
      const params = await credentialParams(server().baseUrl);
      const { oauth2CredentialId } = await done("create_oauth2_credential", params);
      const { oauth2Credential } = await read("get_oauth2_credential", { oauth2CredentialId });
      assert.equal(oauth2Credential.encryptedClientSecret, params.encryptedClientSecret);
      assert.deepEqual((await read("list_oauth2_credentials")).oauth2Credentials, [oauth2Credential]);
      const next = await credentialParams(server().baseUrl);
      await done("update_oauth2_credential", { oauth2CredentialId, ...next });
      const code = (await oauth2ProviderOfTests()).signIn(next.clientId);
      const { oidcToken } = await done("oauth2_authenticate", { oauth2CredentialId, ...code, nonce: "a nonce" });
      assert.equal(oidcToken.split(".").length, 3);
      await done("delete_oauth2_credential", { oauth2CredentialId });
      assert.deepEqual((await read("list_oauth2_credentials")).oauth2Credentials, []);
    });

    it("create_, list_, update_ and delete_fiat_on_ramp_credential(s), init_fiat_on_ramp, get_onramp_transaction_status", async () => {
      const { sandboxMode, ...params } = await coinbaseParams(server().baseUrl);
      const created = await done("create_fiat_on_ramp_credential", { ...params, sandboxMode });
      const { fiatOnRampCredentialId: fiatOnrampCredentialId } = created;
      const [credential] = (await read("list_fiat_on_ramp_credentials")).fiatOnRampCredentials;
      assert.equal(credential.fiatOnrampCredentialId, fiatOnrampCredentialId);
      assert.equal(credential.encryptedPrivateApiKey, params.encryptedPrivateApiKey);
      const { sandboxMode: _, ...next } = await coinbaseParams(server().baseUrl, { kind: "EdDSA" });
      await done("update_fiat_on_ramp_credential", { fiatOnrampCredentialId, ...next });
      const begun = await done("init_fiat_on_ramp", purchaseParams("COINBASE"));
      const { onRampTransactionId: transactionId, onRampUrl } = begun;
      const provider = await onRampProviderOfTests();
      assert.equal(new URL(onRampUrl).searchParams.get("sessionToken"), provider.sessions.at(-1)?.token);
      assert.equal((await read("get_onramp_transaction_status", { transactionId })).transactionStatus, "PENDING");
      provider.tell(transactionId, [{ status: "ONRAMP_TRANSACTION_STATUS_SUCCESS" }]);
      const refreshed = await read("get_onramp_transaction_status", { transactionId, refresh: true });
      assert.equal(refreshed.transactionStatus, "COMPLETED");
      await done("delete_fiat_on_ramp_credential", { fiatOnrampCredentialId });
      assert.deepEqual((await read("list_fiat_on_ramp_credentials")).fiatOnRampCredentials, []);
    });

    it("create_tvc_app to restore_tvc_deployment, and what lists and shows them", async () => {
      const [alice, bob] = [newOperator("alice"), newOperator("bob")];
      const app = await done("create_tvc_app", appParams([alice, bob]));
      const { appId, manifestSetOperatorIds } = app;
      const { latestVersion } = await read("get_tvc_qos_versions");
      const deploy = async (nonce: number) => {
        const params = await deploymentParams(appId, someProgram, {
          nonce,
          qosVersion: latestVersion,
          debugMode: true,
        });
        const { resolvedImageDigest } = await read("validate_tvc_image", {
          pivotContainerImageUrl: params.pivotContainerImageUrl,
        });
        assert.ok(params.pivotContainerImageUrl.endsWith(resolvedImageDigest));
        const { deploymentId, manifestId } = await done("create_tvc_deployment", params);
        const { tvcDeployment } = await read("get_tvc_deployment", { deploymentId });
        const manifest = Buffer.from(tvcDeployment.manifest.manifest, "base64");
        const signature = alice.approve(createHash("sha256").update(manifest).digest());
        const approvals = [{ operatorId: manifestSetOperatorIds[0], signature }];
        await done("create_tvc_manifest_approvals", { manifestId, approvals });
        return deploymentId;
      };
      const [first, second] = [await deploy(1), await deploy(2)];
      assert.equal((await read("get_tvc_app", { tvcAppId: appId })).tvcApp.liveDeploymentId, first);
      await server().opened.database.transact(server().credentials.organizationId, async (tx) => {
        const organizationId = server().credentials.organizationId;
        await tx
          .insertInto("tvc_runs")
          .values(runOf(organizationId, second, Date.now()))
          .execute();
      });
      await done("set_tvc_app_live_deployment", { deploymentId: second });
      await done("delete_tvc_deployment", { deploymentId: first });
      await done("restore_tvc_deployment", { deploymentId: first });
      const { tvcDeployments } = await read("list_tvc_app_deployments", { appId });
      assert.deepEqual(
        tvcDeployments.map((each: Json) => [each.id, each.delete]),
        [
          [second, false],
          [first, false],
        ],
      );
      assert.deepEqual((await read("get_tvc_deployment_debug_logs", { deploymentId: first })).entries, []);
      if (rootSdk().knows("get_app_status")) {
        assert.equal((await read("get_app_status", { appId })).appStatus.targetedDeploymentId, second);
      }
      if (rootSdk().knows("create_tvc_operator")) {
        const hosted = { walletName: newId(), path: "m/5527107'/0'/0'", operatorName: "hosted" };
        const { operatorId } = await done("create_tvc_operator", hosted);
        assert.equal((await read("list_tvc_operators")).tvcOperators[0].id, operatorId);
      }
      if (rootSdk().knows("create_tvc_quorum_key")) {
        const waiting = await awaitingDeployment(server(), server().root);
        const { tvcQuorumKeys } = await read("list_tvc_quorum_keys");
        assert.equal(tvcQuorumKeys[0].publicKey, waiting.reEncryption.appQuorumKey);
        const { deploymentId } = waiting.share;
        const details = await read("get_tvc_deployment_provisioning_details", { deploymentId });
        assert.equal(details.attestationDocument, waiting.reEncryption.attestationDocB64);
        const given = [
          await done("post_tvc_quorum_key_share", waiting.share),
          await done("re_encrypt_tvc_quorum_key_share", waiting.reEncryption),
        ];
        assert.equal(new Set(given.map(({ provisioningShareId }) => provisioningShareId)).size, 2);
        // The call itself; the helper has made the key of the app as well.
        const operatorEncryptKeys = [waiting.reEncryption.operatorEncryptKey, waiting.otherEncryptKey];
        await done("create_tvc_quorum_key", { threshold: 2, operatorEncryptKeys });
        await done("delete_tvc_app_and_deployments", { appId: waiting.appId });
      }
      await done("delete_tvc_app_and_deployments", { appId });
      assert.deepEqual((await read("list_tvc_apps")).tvcApps, []);
    });

    it("oauth, oauth_login", async () => {
      const sub = newId();
      await done("create_oauth_providers", { userId, oauthProviders: [await oauthProviderParams(sub)] });
      const tokenFor = async (key: string) => (await issuerOfTests()).token({ sub, nonce: nonceOfPublicKey(key) });
      const { targetPublicKey, privateKey } = exportTarget();
      const oidcToken = await tokenFor(targetPublicKey);
      const { userId: signedIn, credentialBundle } = await done("oauth", { oidcToken, targetPublicKey });
      assert.equal(signedIn, userId);
      assert.match(decryptCredentialBundle(credentialBundle, privateKey), /^[0-9a-f]{64}$/);
      const { publicKey } = generateApiKey();
      const { session } = await done("oauth_login", { oidcToken: await tokenFor(publicKey), publicKey });
      const keys = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
      assert.ok(await verifySessionJwtSignature(session, keys.serviceKeys.session[0].publicKey));
    });

    it("create_user_tag, update_user_tag, list_user_tags, delete_user_tags", async () => {
      const { userTagId, userIds } = await done("create_user_tag", { userTagName: "ops", userIds: [userId] });
      assert.deepEqual(userIds, [userId]);
      const change = { userTagId, newUserTagName: "operations", addUserIds: [], removeUserIds: [userId] };
      assert.equal((await done("update_user_tag", change)).userTagId, userTagId);
      const { userTags } = await read("list_user_tags");
      assert.deepEqual(
        userTags.map(({ tagId, tagName }: Json) => [tagId, tagName]),
        [[userTagId, "operations"]],
      );
      assert.deepEqual((await done("delete_user_tags", { userTagIds: [userTagId] })).userTagIds, [userTagId]);
      assert.deepEqual((await read("list_user_tags")).userTags, []);
    });

    it("delete_users", async () => {
      assert.deepEqual((await done("delete_users", { userIds: [userId] })).userIds, [userId]);
      await assert.rejects(read("get_user", { userId }), /Turnkey error 5: unable to find user/);
    });
  });

  describe("private keys and signing", () => {
    let privateKeyId: string;
    let address: string;
    let publicKey: Buffer;

    it("create_private_keys, get_private_key, list_private_keys", async () => {
      const addressFormats = ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_COMPRESSED"];
      const params = { privateKeyName: "key", curve: "CURVE_SECP256K1", addressFormats, privateKeyTags: [] };
      const { privateKeys } = await done("create_private_keys", { privateKeys: [params] });
      privateKeyId = privateKeys[0].privateKeyId;
      [address, publicKey] = [
        privateKeys[0].addresses[0].address,
        Buffer.from(privateKeys[0].addresses[1].address, "hex"),
      ];
      const { privateKey } = await read("get_private_key", { privateKeyId });
      assert.deepEqual(privateKey.addresses, privateKeys[0].addresses);
      assert.deepEqual((await read("list_private_keys")).privateKeys, [privateKey]);
    });

    it("sign_raw_payload by address, sign_raw_payloads by id", async () => {
      const how = { encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction: "HASH_FUNCTION_KECCAK256" };
      const one = await done("sign_raw_payload", { signWith: address, payload: "one", ...how });
      assert.ok(isSigned("one", one, publicKey));
      assert.ok(!isSigned("two", one, publicKey));
      const payloads = ["two", "three"];
      const { signatures } = await done("sign_raw_payloads", { signWith: privateKeyId, payloads, ...how });
      assert.deepEqual(
        payloads.map((payload, index) => isSigned(payload, signatures[index], publicKey)),
        [true, true],
      );
    });

    it("create_private_key_tag, update_private_key_tag, list_private_key_tags, delete_private_key_tags", async () => {
      const tag = { privateKeyTagName: "hot", privateKeyIds: [privateKeyId] };
      const { privateKeyTagId, privateKeyIds } = await done("create_private_key_tag", tag);
      assert.deepEqual(privateKeyIds, [privateKeyId]);
      const change = { newPrivateKeyTagName: "cold", addPrivateKeyIds: [], removePrivateKeyIds: [privateKeyId] };
      const updated = await done("update_private_key_tag", { privateKeyTagId, ...change });
      assert.equal(updated.privateKeyTagId, privateKeyTagId);
      const { privateKeyTags } = await read("list_private_key_tags");
      assert.deepEqual(
        privateKeyTags.map(({ tagId, tagName }: Json) => [tagId, tagName]),
        [[privateKeyTagId, "cold"]],
      );
      const deleted = await done("delete_private_key_tags", { privateKeyTagIds: [privateKeyTagId] });
      assert.deepEqual(deleted.privateKeyTagIds, [privateKeyTagId]);
    });

    it("delete_private_keys", async () => {
      const privateKeyIds = [privateKeyId];
      await assert.rejects(done("delete_private_keys", { privateKeyIds }), /Turnkey error 3: .*has not been exported/);
      const deleted = await done("delete_private_keys", { privateKeyIds, deleteWithoutExport: true });
      assert.deepEqual(deleted.privateKeyIds, privateKeyIds);
      assert.deepEqual((await read("list_private_keys")).privateKeys, []);
    });
  });

  describe("wallets", () => {
    const account = (index: number) => ({
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: `m/44'/60'/0'/0/${index}`,
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    });

    it("create, update and read them with their accounts, sign_transaction, delete", async () => {
      const { walletId, addresses } = await done("create_wallet", { walletName: "Wallet", accounts: [account(0)] });
      const more = await done("create_wallet_accounts", { walletId, accounts: [account(1)] });
      await done("update_wallet", { walletId, walletName: "Renamed" });
      const { wallet } = await read("get_wallet", { walletId });
      assert.equal(wallet.walletName, "Renamed");
      const { wallets } = await read("list_wallets");
      assert.deepEqual(
        wallets.filter((each: Json) => each.walletId === walletId),
        [wallet],
      );
      const { accounts } = await read("list_wallet_accounts", { walletId });
      assert.deepEqual(
        accounts.map(({ address }: Json) => address),
        [...addresses, ...more.addresses],
      );
      const one = await read("get_wallet_account", { walletId, address: addresses[0] });
      assert.deepEqual(one.account, accounts[0]);
      const { signedTransaction } = await done("sign_transaction", {
        signWith: addresses[0],
        unsignedTransaction: "02df018001028252089435353535353535353535353535353535353535350180c0",
        type: "TRANSACTION_TYPE_ETHEREUM",
      });
      assert.match(signedTransaction, /^02f8[0-9a-f]+$/);
      const walletAccountIds = [accounts[1].walletAccountId];
      await done("delete_wallet_accounts", { walletAccountIds, deleteWithoutExport: true });
      assert.deepEqual(await done("delete_wallets", { walletIds: [walletId], deleteWithoutExport: true }), {
        walletIds: [walletId],
      });
    });
  });

  describe("imports and exports", () => {
    const encryptionSuite = "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1";
    const { privateKey: embeddedKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();

    /** What the client library is told of the organization and of the key to trust. */
    const trusted = async () => {
      const { serviceKeys } = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
      const { organizationId, userId } = server().credentials;
      return { organizationId, userId, dangerouslyOverrideSignerPublicKey: serviceKeys.bundle[0].publicKey };
    };
    const opened = async (exportBundle: string, returnMnemonic: boolean) =>
      decryptExportBundle({ exportBundle, embeddedKey, returnMnemonic, ...(await trusted()) });

    it("init_import_private_key, import_private_key, export_private_key", async () => {
      const { userId } = server().credentials;
      const { importBundle } = await done("init_import_private_key", { userId });
      const secret = "5a".repeat(32);
      const encryptedBundle = await encryptPrivateKeyToBundle({
        privateKey: secret,
        keyFormat: "HEXADECIMAL",
        importBundle,
        ...(await trusted()),
      });
      const key = { userId, privateKeyName: "imported", encryptedBundle, curve: "CURVE_ED25519", addressFormats: [] };
      const { privateKeyId } = await done("import_private_key", key);
      const { exportBundle } = await done("export_private_key", { privateKeyId, targetPublicKey });
      assert.equal(await opened(exportBundle, false), secret);
      await done("delete_private_keys", { privateKeyIds: [privateKeyId] });
    });

    it("init_import_wallet, import_wallet, export_wallet, export_wallet_account", async () => {
      const { userId } = server().credentials;
      const { importBundle } = await done("init_import_wallet", { userId });
      const mnemonic = `${"abandon ".repeat(11)}about`;
      const encryptedBundle = await encryptWalletToBundle({ mnemonic, importBundle, ...(await trusted()) });
      const account = {
        curve: "CURVE_SECP256K1",
        pathFormat: "PATH_FORMAT_BIP32",
        path: "m/44'/60'/0'/0/0",
        addressFormat: "ADDRESS_FORMAT_ETHEREUM",
      };
      const wallet = { userId, walletName: "imported", encryptedBundle, accounts: [account] };
      const { walletId, addresses } = await done("import_wallet", wallet);
      const [address] = addresses;
      assert.equal(address, "0x9858EfFD232B4033E47d90003D41EC34EcaEda94");
      const ofWallet = await done("export_wallet", { walletId, targetPublicKey });
      assert.equal(await opened(ofWallet.exportBundle, true), mnemonic);
      const ofAccount = await done("export_wallet_account", { address, targetPublicKey });
      assert.equal(ofAccount.address, address);
      assert.match(await opened(ofAccount.exportBundle, false), /^[0-9a-f]{64}$/);
      await done("delete_wallets", { walletIds: [walletId] });
    });

    it("init_import_secrets, import_secrets, list_secrets, export_secrets", async () => {
      const path = "init_import_secrets";
      const offer = { encryptionSuite, numSecrets: 1 };
      const begun = await (unknown.includes(path) ? server().root.result(path, offer) : done(path, offer));
      const [ingressTargetBundle] = begun.enclaveTargetMessages;
      const made = await encryptSecretToBundle({ plaintext: "4242", ingressTargetBundle, ...(await trusted()) });
      const staticProperties = [{ key: "kind", value: "pin" }];
      const { secretIds } = await done("import_secrets", {
        secrets: [{ name: "pin", ...made, encryptionSuite, staticProperties }],
      });
      const [secretId] = secretIds;
      const { secrets } = await read("list_secrets");
      const [{ createdAtUnixMs: _, ...shown }] = secrets;
      assert.deepEqual(shown, { secretId, name: "pin", staticProperties });
      const { secretPayloads } = await done("export_secrets", {
        secrets: [{ secretId, targetPublicKey, encryptionSuite }],
      });
      const [secretPayload] = secretPayloads;
      const embeddedPrivateKey = embeddedKey;
      assert.equal(await decryptSecretBundle({ secretPayload, embeddedPrivateKey, ...(await trusted()) }), "4242");
    });
  });

  itIfKnown("delete_secrets", async () => {
    const secretIds = (await read("list_secrets")).secrets.map(({ secretId }: Json) => secretId);
    assert.equal(secretIds.length, 1);
    assert.deepEqual(await done("delete_secrets", { secretIds }), { secretIds });
    assert.deepEqual((await read("list_secrets")).secrets, []);
  });

  describe("sending", () => {
    itIfKnown("eth_send_raw_transaction", async () => {
      const { signedTransaction, hash } = await (await newSender(testNode())).sign();
      const { activity } = await rootSdk().submit("eth_send_raw_transaction", { signedTransaction, caip2: TEST_CHAIN });
      assert.equal(activity.status, "ACTIVITY_STATUS_PENDING");
      const { result } = await ended(server().root, activity.id);
      assert.deepEqual(result, { ethSendRawTransactionResult: { transactionHash: hash } });
    });

    itIfKnown("eth_send_transaction", async () => {
      const { addresses } = await newEvmWallet(server().root, testNode());
      const to = newAddress();
      const parameters = { from: addresses[0], caip2: TEST_CHAIN, calls: [{ to, value: "1" }] };
      const { sendTransactionStatusId } = await done("eth_send_transaction", parameters);
      let status: Json;
      await until(async () => {
        status = await rootSdk().read("get_send_transaction_status", { sendTransactionStatusId });
        return status.txStatus === "INCLUDED";
      }, "the transaction to be included");
      assert.match(status.eth.txHash, /^0x[0-9a-f]{64}$/);
      assert.equal(await balanceOf(testNode(), to), 1n);
    });

    itIfKnown("get_gas_usage", async () => {
      const { windowLimitUsd, usageUsd } = await read("get_gas_usage");
      assert.deepEqual([windowLimitUsd, usageUsd], ["0", "0.00"]);
    });

    itIfKnown("eth_undelegate_7702", async () => {
      const { addresses } = await newEvmWallet(server().root, testNode());
      const [from] = addresses as [string];
      await testNode().call("anvil_setCode", from, `0xef0100${newAddress().slice(2)}`);
      const { sendTransactionStatusId } = await done("eth_undelegate_7702", { from, caip2: TEST_CHAIN });
      await includedHash(server().root, sendTransactionStatusId);
      assert.equal(await testNode().call("eth_getCode", from, "latest"), "0x");
    });

    itIfKnown("sol_send_transaction", async () => {
      const { addresses } = await newSolanaWallet(server().root, testSolana());
      const { wire, to } = unsignedTransfer(addresses);
      const unsignedTransaction = wire.toString("hex");
      const parameters = { unsignedTransaction, signWiths: addresses, caip2: TEST_CLUSTER };
      const { sendTransactionStatusId } = await done("sol_send_transaction", parameters);
      let status: Json;
      await until(async () => {
        status = await rootSdk().read("get_send_transaction_status", { sendTransactionStatusId });
        return status.txStatus === "INCLUDED";
      }, "the transaction to be included");
      assert.match(status.solana.signature, /^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
      assert.equal(await lamportsOf(testSolana(), to), SOL);
    });
  });

  describe("earn", () => {
    it("deploys, deposits, earns, withdraws and claims", async () => {
      const { vaults } = await read("list_earn_vaults", { caip19: `${EARN_CHAIN}/erc20:${EARN_ASSET}` });
      assert.ok(vaults.some(({ vaultAddress }: Json) => vaultAddress === EARN_VAULT));
      const terms = await earnTerms(server().baseUrl, server().root);
      const { wrapperAddress, deployRequestId } = await done("earn_deploy_wrapper", terms);
      await ofEarn("get_earn_deploy_status", { deployRequestId }, "deployTxHash");
      const [signWith] = (await newEvmWallet(server().root, testEarnNode())).addresses as [string];
      await giveAsset(testEarnNode(), signWith, 10n ** 9n);
      const common = { wrapperAddress, signWith, chainCaip2: EARN_CHAIN };
      const { depositRequestId } = await done("earn_deposit", { ...common, assets: String(10n ** 9n) });
      await ofEarn("get_earn_deposit_status", { depositRequestId }, "depositTxHash");
      const paused = { wrapperAddress, depositsDisabled: true };
      assert.deepEqual(await done("earn_set_wrapper_state", paused), paused);
      await feesToClaim(server().root, { wrapperAddress, deployRequestId });
      const { positions } = await read("list_earn_positions", { walletAddress: signWith });
      assert.deepEqual(
        [positions[0].wrapperAddress, positions[0].totalDeposited, positions[0].depositsDisabled],
        [wrapperAddress, String(10n ** 9n), true],
      );
      const { withdrawRequestId } = await done("earn_withdraw", { ...common, amountValue: "MAX" });
      await ofEarn("get_earn_withdraw_status", { withdrawRequestId }, "withdrawTxHash");
      const { claimRequestId } = await done("claim_earn_fees", { wrapperAddress });
      await ofEarn("get_claim_earn_fees_status", { claimRequestId }, "claimTxHash");
      const { enabledVaults } = await read("list_earn_enabled_vaults", {});
      const enabled = enabledVaults.find((one: Json) => one.wrapperAddress === wrapperAddress);
      assert.equal(enabled.vaultAddress, EARN_VAULT);
    });

    async function ofEarn(path: string, ids: object, hash: string): Promise<void> {
      let status: Json = {};
      await until(async () => {
        status = await read(path, ids);
        return status.status !== "PENDING";
      }, `${path} to end`);
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      assert.match(status[hash], /^0x[0-9a-f]{64}$/);
    }
  });

  describe("swaps", () => {
    it("upsert_swap_config, create_swap_quote, execute_swap, get_swap_status, claim_swap_fees", async () => {
      const signWith = await newSwapper(server().root);
      const feeReceiverWalletAddress = signWith;
      const config = { feeReceiverWalletAddress, feeBps: "100", stableFeeBps: "10" };
      assert.deepEqual(await done("upsert_swap_config", config), config);
      const { inputToken, outputToken, inputAmount, ...more } = quoteParams(signWith);
      const wanted = { inputToken, outputToken, inputAmount };
      const { quotes } = await done("create_swap_quote", { ...wanted, ...more, slippageBps: "50" });
      const [{ quoteId, outputAmount: quotedOutputAmount, minOutputAmount, clientFeeBps }] = quotes;
      assert.deepEqual([quotedOutputAmount, minOutputAmount, clientFeeBps], ["990000", "985050", "100"]);
      const agreed = { quoteId, ...wanted, quotedOutputAmount, minOutputAmount, sponsor: false };
      const { swapRequestId } = await done("execute_swap", agreed);
      let status: Json = {};
      await until(async () => {
        status = await read("get_swap_status", { swapRequestId });
        return status.outputAmount !== undefined;
      }, "the swap to end");
      assert.deepEqual([status.status, status.outputAmount], ["COMPLETED", "990000"]);
      (await relayOfTests()).accrue(signWith, "10000");
      assert.match((await done("claim_swap_fees", {})).requestId, /^0x[0-9a-f]{64}$/);
    });
  });

  describe("Spark", () => {
    it("spark_sign_frost, spark_prepare_transfer, spark_claim_transfer, spark_prepare_lightning_receive", async () => {
      const { root } = server();
      const [sender, receiver] = [await newSparkWallet(root), await newSparkWallet(root)];
      const operators = new Operators(2, 3);
      const leafId = newId();
      const leaf = operators.newLeaf(await leafPublicKey(root, sender, leafId));
      const signing = operators.signing(leaf, randomBytes(32));
      const signatures = [signing.request({ signingLeaf: { leafId } })];
      const shares = (await done("spark_sign_frost", { signWith: sender.signWith, signatures })).signatures;
      assert.ok(signing.isSigned(shares[0]));

      const transfer = transferOf(operators.recipients, receiver.identityPublicKey, [leafId]);
      const sent = await done("spark_prepare_transfer", { signWith: sender.signWith, transfer });
      assert.match(sent.transferUserSignature, /^30/);
      const tweaks = operators.openTweaks(sent.operatorPackages);
      const claim = claimOf(transfer, tweaks, operators.recipients, sender.identityPublicKey);
      const claimed = await done("spark_claim_transfer", { signWith: receiver.signWith, claim });
      assert.equal(claimed.newLeafPublicKeys[0].leafId, leafId);
      const [taken] = operators.openTweaks(claimed.operatorPackages);
      const [given] = tweaks;
      assert.ok(given && taken);
      const arrived = operators.signing(operators.tweak(operators.tweak(leaf, given), taken), randomBytes(32));
      const again = [arrived.request({ signingLeaf: { leafId } })];
      const own = await done("spark_sign_frost", { signWith: receiver.signWith, signatures: again });
      assert.ok(arrived.isSigned(own.signatures[0]));

      const lightningReceive = operators.recipients;
      const received = { signWith: receiver.signWith, lightningReceive };
      const { operatorPackages, paymentHash } = await done("spark_prepare_lightning_receive", received);
      const preimage = operators.preimage(operatorPackages, [0, 2]);
      assert.equal(createHash("sha256").update(preimage).digest("hex"), paymentHash);
    });
  });

  describe("history and balances", () => {
    it("list_eth_transaction_history, get_wallet_address_balances, list_supported_assets and get_nonces", async () => {
      const address = await newWalletAddress(server().root);
      await testNode().call("anvil_setBalance", address, "0xde0b6b3a7640000");
      const asked = { address, caip2: TEST_CHAIN };
      const history = await read("list_eth_transaction_history", { ...asked, paginationOptions: { limit: "5" } });
      assert.deepEqual(history, { transactions: [], pageInfo: { hasNextPage: false, hasPreviousPage: false } });
      const { balances } = await read("get_wallet_address_balances", asked);
      const ether = { caip19: `${TEST_CHAIN}/slip44:60`, symbol: "ETH", name: "Ether", decimals: 18 };
      assert.deepEqual(balances, [{ ...ether, balance: "1000000000000000000", display: { crypto: "1" } }]);
      const { assets } = await read("list_supported_assets", { caip2: TEST_CHAIN });
      assert.deepEqual(assets[0], { ...ether, stable: false });
      assert.deepEqual(await read("get_nonces", { ...asked, nonce: true }), { nonce: "0" });
    });

    it("list_sol_transaction_history", async () => {
      const address = await newSolanaAddress(server().root);
      const asked = { address, caip2: "solana:devnet", paginationOptions: { limit: "5" } };
      const nothing = { transactions: [], pageInfo: { hasNextPage: false, hasPreviousPage: false } };
      assert.deepEqual(await read("list_sol_transaction_history", asked), nothing);
    });
  });

  describe("what is wrong", () => {
    it("reaches the caller with its code, text and field", async () => {
      const signWith = newId();
      const how = { encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction: "HASH_FUNCTION_SHA256" };
      const signing = rootSdk().submit("sign_raw_payload", { signWith, payload: "x", ...how });
      await assert.rejects(signing, /Turnkey error 5: Could not find any resource to sign with/);
      await assert.rejects(rootSdk().submit("create_user_tag", { userTagName: "", userIds: [] }), (error: Json) => {
        assert.equal(error.name, "TurnkeyRequestError");
        assert.equal(error.code, 3);
        assert.equal(error.details[0].fieldViolations[0].field, "parameters.userTagName");
        return true;
      });
    });
  });

  describe("invitations", () => {
    it("create_invitations, delete_invitation", async () => {
      const guest = { receiverUserName: "Guest", receiverUserEmail: "guest@example.com", receiverUserTags: [] };
      const invitation = { ...guest, accessType: "ACCESS_TYPE_ALL", senderUserId: server().credentials.userId };
      const { invitationIds } = await done("create_invitations", { invitations: [invitation] });
      const [invitationId] = invitationIds;
      assert.deepEqual(await done("delete_invitation", { invitationId }), { invitationId });
    });
  });

  describe("smart contract interfaces", () => {
    it("create, read, list and delete one", async () => {
      const smartContractInterface = JSON.stringify([{ type: "function", name: "deposit", inputs: [], outputs: [] }]);
      const stored = {
        smartContractAddress: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        smartContractInterface,
        type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        label: "WETH",
        notes: "wrapped",
      };
      const { smartContractInterfaceId } = await done("create_smart_contract_interface", stored);
      const shown = (await read("get_smart_contract_interface", { smartContractInterfaceId })).smartContractInterface;
      const { createdAt: _c, updatedAt: _u, organizationId: _o, ...rest } = shown;
      assert.deepEqual(rest, { smartContractInterfaceId, ...stored });
      assert.deepEqual((await read("list_smart_contract_interfaces")).smartContractInterfaces, [shown]);
      const deleted = await done("delete_smart_contract_interface", { smartContractInterfaceId });
      assert.deepEqual(deleted, { smartContractInterfaceId });
    });
  });

  describe("policies", () => {
    itIfKnown("get_active_policies", async () => {
      const timeExpr = "time.now < Timestamp('2020-01-01T00:00:00Z')";
      const policy = { policyName: "over", effect: "EFFECT_ALLOW", notes: "", time: timeExpr };
      const { policyId } = await done("create_policy", { ...policy, condition: "activity.action == 'SIGN'" });
      const { organizationId } = server().credentials;
      const { statuses } = await read("get_active_policies");
      assert.deepEqual(statuses, [{ organizationId, policyId, active: false, timeExpr }]);
      await done("delete_policy", { policyId });
    });

    it("create, update, read, list and delete them, one by one and several", async () => {
      const policy = { policyName: "one", effect: "EFFECT_ALLOW", notes: "", condition: "activity.action == 'SIGN'" };
      const { policyId } = await done("create_policy", policy);
      assert.equal((await done("update_policy", { policyId, policyNotes: "changed" })).policyId, policyId);
      assert.equal((await read("get_policy", { policyId })).policy.notes, "changed");
      const policies = ["two", "three"].map((policyName) => ({ ...policy, policyName }));
      const { policyIds } = await done("create_policies", { policies });
      const listed = (await read("list_policies")).policies.map(({ policyId }: Json) => policyId);
      assert.deepEqual(listed, [policyId, ...policyIds]);
      const { activities } = await read("list_activities", { paginationOptions: { limit: "1" } });
      const { policyEvaluations } = await read("get_policy_evaluations", { activityId: activities[0].id });
      assert.deepEqual(policyEvaluations, []);
      assert.equal((await done("delete_policy", { policyId })).policyId, policyId);
      assert.deepEqual((await done("delete_policies", { policyIds })).policyIds, policyIds);
    });
  });

  describe("MFA and session profiles", () => {
    it("create, update, read and delete MFA policies, get_mfa_status", async () => {
      const { userId } = server().credentials;
      const policy = {
        mfaPolicyName: "Second factor",
        condition: "activity.action == 'EXPORT'",
        requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }],
        order: 1,
      };
      const { mfaPolicyId } = await done("create_mfa_policy", { userId, ...policy });
      assert.deepEqual(await done("update_mfa_policy", { userId, mfaPolicyId, order: 2 }), { mfaPolicyId });
      const { mfaPolicy } = await read("get_mfa_policy", { userId, mfaPolicyId });
      assert.equal(mfaPolicy.order, 2);
      assert.deepEqual((await read("get_mfa_policies", { userId })).mfaPolicies, [mfaPolicy]);
      const { activities } = await read("list_activities");
      assert.deepEqual(await read("get_mfa_status", { activityId: activities[0].id }), { mfaStatuses: [] });
      assert.deepEqual(await done("delete_mfa_policy", { userId, mfaPolicyId }), { mfaPolicyId });
    });

    it("init_otp, verify_otp, otp_login, init_otp_auth, otp_auth", async () => {
      const keys = ((await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json).serviceKeys;
      const contact = `${newId()}@example.com`;
      const { userId } = await read("whoami");
      await done("update_user", { userId, userEmail: contact });
      const asked = { otpType: "OTP_TYPE_EMAIL", contact, appName: "Shop" };
      const { otpId, otpEncryptionTargetBundle } = await done("init_otp", asked);
      const key = generateApiKey();
      const code = await mailedCode(server(), contact);
      const bundleKey = keys.otp[0].publicKey;
      const encryptedOtpBundle = await encryptOtpCodeToBundle(
        code,
        otpEncryptionTargetBundle,
        key.publicKey,
        bundleKey,
      );
      const { verificationToken } = await done("verify_otp", { otpId, encryptedOtpBundle });
      const { publicKey } = generateApiKey();
      const signature = loginSignature(key, verificationToken, publicKey);
      assert.ok((await done("otp_login", { verificationToken, publicKey, clientSignature: signature })).session);
      const other = `${newId()}@example.com`;
      await done("update_user", { userId, userEmail: other });
      const started = await done("init_otp_auth", { ...asked, contact: other });
      const target = exportTarget();
      const otpCode = await mailedCode(server(), other);
      const more = { otpId: started.otpId, otpCode, targetPublicKey: target.targetPublicKey };
      const { credentialBundle } = await done("otp_auth", more);
      assert.match(decryptCredentialBundle(credentialBundle, target.privateKey), /^[0-9a-f]{64}$/);
    });

    it("stamp_login, create_read_write_session, create_read_only_session", async () => {
      const { session } = await done("stamp_login", { publicKey: generateApiKey().publicKey });
      const keys = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
      assert.ok(await verifySessionJwtSignature(session, keys.serviceKeys.session[0].publicKey));
      const target = exportTarget();
      const { credentialBundle } = await done("create_read_write_session", { targetPublicKey: target.targetPublicKey });
      assert.match(decryptCredentialBundle(credentialBundle, target.privateKey), /^[0-9a-f]{64}$/);
      assert.ok((await done("create_read_only_session", {})).session);
    });

    it("create_session_profile, get_session_profile, get_session_profiles", async () => {
      const profile = { sessionProfileName: "Signing", scope: "activity.action == 'SIGN'", expirationSeconds: "60" };
      const { sessionProfileId } = await done("create_session_profile", profile);
      const { sessionProfile } = await read("get_session_profile", { sessionProfileId });
      assert.equal(sessionProfile.scope, profile.scope);
      assert.deepEqual(await read("get_session_profiles"), { sessionProfiles: [sessionProfile] });
    });
  });

  describe("IP allowlists", () => {
    it("set_ip_allowlist, get_ip_allowlist, remove_ip_allowlist", async () => {
      const rules = [{ cidr: "127.0.0.0/24", label: "This machine" }];
      assert.deepEqual(await done("set_ip_allowlist", { enabled: true, rules, onEvaluationError: "DENY" }), {});
      const { allowlist } = await read("get_ip_allowlist");
      const { organizationId } = server().credentials;
      const [{ createdAt }] = allowlist.rules;
      assert.match(createdAt, /^[0-9]{13}$/);
      const dated = rules.map((rule) => ({ ...rule, createdAt }));
      assert.deepEqual(allowlist, { organizationId, rules: dated, enabled: true, onEvaluationError: "DENY" });
      assert.deepEqual(await done("remove_ip_allowlist", {}), {});
      assert.deepEqual((await read("get_ip_allowlist")).allowlist.rules, []);
    });
  });

  describe("webhooks", () => {
    it("create_webhook_endpoint, update_webhook_endpoint, list_webhook_endpoints, delete_webhook_endpoint", async () => {
      const url = "https://hooks.example.com/in";
      const subscriptions = [{ eventType: "ACTIVITY_UPDATES", isActive: false }];
      const { endpointId, webhookEndpoint } = await done("create_webhook_endpoint", {
        url,
        name: "hook",
        subscriptions,
      });
      assert.equal(webhookEndpoint.url, url);
      const updated = await done("update_webhook_endpoint", { endpointId, isActive: false });
      assert.deepEqual(updated.webhookEndpoint, { ...webhookEndpoint, isActive: false });
      assert.deepEqual(await read("list_webhook_endpoints"), { webhookEndpoints: [updated.webhookEndpoint] });
      assert.equal((await done("delete_webhook_endpoint", { endpointId })).endpointId, endpointId);
    });
  });

  describe("sign-in and recovery by mail", () => {
    it("email_auth, init_user_email_recovery, recover_user", async () => {
      const { userId, organizationId } = server().credentials;
      const target = exportTarget();
      await done("update_user", { userId, userEmail: "mailed@example.com" });
      await done("set_organization_feature", { name: "FEATURE_NAME_EMAIL_RECOVERY" });
      const { targetPublicKey } = target;
      const asked = { email: "mailed@example.com", targetPublicKey, emailCustomization: { appName: "Story" } };
      const session = await done("email_auth", asked);
      assert.equal(session.userId, userId);
      assert.match(session.apiKeyId, /^[0-9a-f-]{36}$/);
      assert.equal((await done("init_user_email_recovery", asked)).userId, userId);
      const mails = await mailTo(server(), "mailed@example.com", 2);
      const keyOf = (subject: string) =>
        keyIn(mails.find((mail) => mail.subject === subject) as (typeof mails)[0], target.privateKey);
      assert.equal((await sdkOf(keyOf("Sign in to Story")).read("whoami")).userId, userId);
      const passkey = {
        authenticator: createAuthenticator(),
        origin: "https://app.example.com",
        rpId: "app.example.com",
      };
      const recovering = sdkOf(keyOf("Recover your account at Story"));
      const authenticator = authenticatorParams(passkey);
      const { activity, result } = await recovering.submit("recover_user", { authenticator, userId });
      assertCompleted(activity, organizationId);
      assert.match(result.authenticatorId[0], /^[0-9a-f-]{36}$/);
      await done("delete_authenticators", { userId, authenticatorIds: result.authenticatorId });
    });
  });

  describe("messages", () => {
    it("list_email_events", async () => {
      await askForMail(server(), { to: "story@example.com" });
      const asking = { email: "Story@example.com", paginationOptions: { limit: "1" } };
      await until(async () => (await read("list_email_events", asking)).emailEvents.length === 1);
      const { emailEvents } = await read("list_email_events", { ...asking, eventType: "Delivery" });
      assert.equal(emailEvents[0].toAddress, "story@example.com");
      assert.equal(emailEvents[0].eventType, "Delivery");
    });
  });

  // Last: from here on every change takes two votes.
  describe("activities", () => {
    it("update_root_quorum, approve_activity, reject_activity, get_activity, list_activities", async () => {
      const { userId: rootId } = server().credentials;
      const key = generateApiKey();
      const user = { userName: "Second", apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [] };
      const { userIds } = await done("create_users", { users: [{ ...user, userTags: [] }] });
      await done("update_root_quorum", { threshold: 2, userIds: [rootId, ...userIds] });
      const second = sdkOf(key);

      const propose = async (userTagName: string): Promise<Json> => {
        const { activity } = await rootSdk().submit("create_user_tag", { userTagName, userIds: [] });
        assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        return activity;
      };
      const { id, fingerprint } = await propose("approved");
      const approved = (await second.submit("approve_activity", { fingerprint })).activity;
      assertCompleted(approved, server().credentials.organizationId);
      assert.equal(approved.id, id);

      const refused = await propose("rejected");
      const { activity } = await second.submit("reject_activity", { fingerprint: refused.fingerprint });
      assert.equal(activity.status, "ACTIVITY_STATUS_REJECTED");

      assert.deepEqual((await read("get_activity", { activityId: id })).activity, approved);
      const filterByStatus = ["ACTIVITY_STATUS_REJECTED"];
      const { activities } = await read("list_activities", { filterByStatus, paginationOptions: { limit: "1" } });
      assert.equal(activities.length, 1);
      assert.equal(activities[0].id, refused.id);
      assertSdkTime(activities[0].createdAt);

      const { userTags } = await read("list_user_tags");
      const names = userTags.map(({ tagName }: Json) => tagName);
      assert.ok(names.includes("approved") && !names.includes("rejected"));
    });
  });

  it("leaves out no operation that the SDK knows", () => {
    const sdk = rootSdk();
    const paths = operations.map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => !sdk.knows(path)).sort(),
      unknown.toSorted(),
      "an extension of this server is declared as one",
    );
    assert.deepEqual(
      paths.filter((path) => sdk.knows(path) && !called.has(path)),
      [],
    );
  });
}

function assertCompleted(activity: Json, organizationId: string): void {
  assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
  assert.equal(activity.organizationId, organizationId);
  assertSdkTime(activity.createdAt);
  assertSdkTime(activity.updatedAt);
}

const begun = Date.now();

/** The SDKs' types promise an object where others read RFC 3339. */
function assertSdkTime(time: Json): void {
  assert.deepEqual(Object.keys(time), ["seconds", "nanos"]);
  const milliseconds = Number(time.seconds) * 1000 + Number(time.nanos) / 1_000_000;
  assert.ok(milliseconds >= begun && milliseconds <= Date.now(), `${milliseconds} is not now`);
}

function isSigned(text: string, { r, s }: Json, publicKey: Buffer): boolean {
  const digest = keccak_256(Buffer.from(text));
  return secp256k1.ecdsaVerify(Buffer.from(`${r}${s}`, "hex"), digest, publicKey);
}
