import assert from "node:assert/strict";
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
import { ended, TEST_CHAIN, testNode } from "../support/chain.ts";
import { apiKeyParams, authenticatorParams, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { askForMail } from "../support/messages.ts";
import { credentialParams, oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { loginSignature, mailedCode } from "../support/one-time-codes.ts";
import { keyIn, mailTo } from "../support/outbox.ts";
import { httpSdk, type Sdk, type SdkOptions, serverSdk } from "../support/sdk.ts";
import { newSender } from "../support/sender.ts";
import { onEachEngine, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const [listInvitations, ...otherExtensions] = [
  "list_invitations",
  "simulate_policy",
  "list_webhook_deliveries",
  "redeliver_webhook",
] as const;
const sdks = [
  { name: "@turnkey/http", connect: httpSdk, unknown: [listInvitations, ...otherExtensions] },
  // Older than the others, and left out of this SDK.
  {
    name: "@turnkey/sdk-server",
    connect: serverSdk,
    unknown: [
      "get_organization",
      "create_api_only_users",
      listInvitations,
      "init_import_secrets",
      "eth_send_raw_transaction",
      ...otherExtensions,
    ],
  },
];

for (const { name, connect, unknown } of sdks) {
  onEachEngine(name, (server) => tellStory(server, connect, unknown));
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
      assert.deepEqual((await read("list_wallets")).wallets, [wallet]);
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

  describe("sending", () => {
    itIfKnown("eth_send_raw_transaction", async () => {
      const { signedTransaction, hash } = await (await newSender(testNode())).sign();
      const { activity } = await rootSdk().submit("eth_send_raw_transaction", { signedTransaction, caip2: TEST_CHAIN });
      assert.equal(activity.status, "ACTIVITY_STATUS_PENDING");
      const { result } = await ended(server().root, activity.id);
      assert.deepEqual(result, { ethSendRawTransactionResult: { transactionHash: hash } });
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
      paths.filter((path) => !sdk.knows(path)),
      unknown,
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
