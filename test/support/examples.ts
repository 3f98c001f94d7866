import { randomBytes } from "node:crypto";
import type { TSchema } from "typebox";
import type { OnlyFor } from "../../src/authority/callers.ts";
import type { Entry } from "../../src/capabilities/history/entries.ts";
import { addEntries, TOLD } from "../../src/capabilities/history/following.ts";
import { positionOf } from "../../src/capabilities/history/position.ts";
import { operations } from "../../src/capabilities/index.ts";
import { recordEvent } from "../../src/capabilities/messages/events.ts";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import { project } from "../../src/engine/authority/project.ts";
import type { Operation } from "../../src/engine/operations.ts";
import { cursorOf } from "../../src/engine/paging.ts";
import { pathOf } from "../../src/engine/registry.ts";
import { requestOf } from "../../src/http/openapi.ts";
import { MINUTE_MS } from "../../src/kernel/durations.ts";
import { newId, newIdAt } from "../../src/kernel/ids.ts";
import type { Chain } from "../../src/nodes/families.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import type { Transactor } from "../../src/storage/engine.ts";
import { createAuthenticator } from "./authenticator.ts";
import { clientBundle, envelopeData, exportTarget } from "./bundles.ts";
import { EARN_ASSET, EARN_CHAIN, TEST_CHAIN, testNode, testSolana } from "./chain.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "./client.ts";
import {
  appParams,
  approvalParams,
  awaitingDeployment,
  deploymentParams,
  hostedOperator,
  newDeployment,
  newOperator,
  runOf,
  someProgram,
} from "./deployments.ts";
import { earnDeposited, earnEnded, earnTerms, earnWrapped, feesToClaim } from "./earn.ts";
import { giveEther, newAddress } from "./evm-sender.ts";
import { newWalletAddress } from "./history.ts";
import { issuerOfTests, oauthProviderParams } from "./issuer.ts";
import { credentialParams, oauth2ProviderOfTests } from "./oauth2-provider.ts";
import { coinbaseParams, moonPayParams, purchaseParams } from "./on-ramp-provider.ts";
import { loginSignature, mailedCode, signupSignature, verificationTokenFor } from "./one-time-codes.ts";
import { mailedToken } from "./outbox.ts";
import { pushImage } from "./registry.ts";
import { relayOfTests } from "./relay.ts";
import { newSender } from "./sender.ts";
import { newSolanaAddress } from "./solana-history.ts";
import { TEST_CLUSTER } from "./solana-rpc.ts";
import { SOL, sendStatus, unsignedTransfer } from "./solana-sender.ts";
import { claimOf, newAdaptor, newSparkWallet, Operators, transferOf } from "./spark.ts";
import { newSwapper, quoted, quoteParams, swapEnded } from "./swap-world.ts";
import type { World } from "./world.ts";

/**
 * One request for every operation that succeeds for the root user of a fresh organization, with every field that can be
 * given together. What it needs is made first; a world may be asked again and again.
 */
export type Example = (world: World) => Promise<object>;

/** Parameters of activities, fields of queries, by the operation's path. */
export const examples: Record<string, Example> = {
  // organizations
  update_organization_name: async () => ({ organizationName: "Renamed" }),
  update_root_quorum: async ({ root, user }) => ({ threshold: 1, userIds: [root.userId, user.userId] }),
  whoami: async () => ({}),
  get_organization: async () => ({}),
  get_organization_configs: async () => ({}),
  set_organization_feature: async () => ({
    name: "FEATURE_NAME_WEBAUTHN_ORIGINS",
    value: "https://app.example.com,http://localhost:3000",
  }),
  remove_organization_feature: async () => ({ name: "FEATURE_NAME_EMAIL_AUTH" }),

  // sub-organizations
  create_sub_organization: async (world) => newSignup(world, await newRootUser()),
  delete_sub_organization: async () => ({ deleteWithoutExport: true }),
  list_suborgs: async () => ({
    filterType: "EMAIL",
    filterValue: "root@example.com",
    includeNames: true,
    paginationOptions: { limit: "10", before: newId() },
  }),
  list_verified_suborgs: async () => ({
    filterType: "EMAIL",
    filterValue: "root@example.com",
    paginationOptions: { limit: "10", before: newId() },
  }),

  // users
  create_users: async (world) => ({
    users: [
      {
        userName: "Everything",
        userEmail: "everything@example.com",
        userPhoneNumber: "+14155550123",
        apiKeys: [newApiKey({ expirationSeconds: "3600" })],
        authenticators: [newAuthenticator()],
        oauthProviders: [await newOauthProvider()],
        userTags: [await newUserTag(world)],
      },
    ],
  }),
  create_api_only_users: async (world) => ({
    apiOnlyUsers: [
      {
        userName: "Machine",
        userEmail: "machine@example.com",
        userTags: [await newUserTag(world)],
        apiKeys: [newApiKeyV1()],
      },
    ],
  }),
  update_user: async (world) => ({
    userId: world.user.userId,
    userName: "Changed",
    userEmail: "changed@example.com",
    userTagIds: [await newUserTag(world)],
    userPhoneNumber: "+14155550199",
  }),
  update_user_email: async ({ server, root, user }) => {
    const userEmail = `${newId()}@example.com`;
    const verificationToken = await verificationTokenFor(server, root.client, userEmail);
    return { userId: user.userId, userEmail, verificationToken };
  },
  update_user_phone_number: async ({ server, root, user }) => {
    await root.client.result("set_organization_feature", { name: "FEATURE_NAME_SMS_AUTH" });
    const userPhoneNumber = newPhoneNumber();
    const verificationToken = await verificationTokenFor(server, root.client, userPhoneNumber);
    return { userId: user.userId, userPhoneNumber, verificationToken };
  },
  update_user_name: async ({ user }) => ({ userId: user.userId, userName: "Changed" }),
  delete_users: async ({ root }) => ({ userIds: [(await addUser(root.client, "Leaving")).userId] }),
  get_user: async ({ user }) => ({ userId: user.userId }),
  list_users: async () => ({}),

  // invitations
  create_invitations: async (world) => newInvitations(world),
  delete_invitation: async (world) => ({
    invitationId: (await world.root.client.result("create_invitations", await newInvitations(world))).invitationIds[0],
  }),
  accept_invitation: async (world) => {
    const inviter = inviterOf(world);
    const { invitations, ...more } = await newInvitations({ ...world, root: { ...world.root, client: inviter } });
    const { invitationIds } = await inviter.result("create_invitations", { invitations, ...more });
    const key = generateApiKey();
    const token = await mailedToken(world.server, invitations[0]?.receiverUserEmail as string);
    world.root.client = world.root.client.with({ key });
    const apiKeys = [apiKeyParams(key, { expirationSeconds: "3600" })];
    return { invitationId: invitationIds[0], token, userName: "Ada", apiKeys };
  },
  list_invitations: async (world) => {
    await world.root.client.result("create_invitations", await newInvitations(world));
    return { paginationOptions: { limit: "10", before: newIdAt(Date.now() + 60_000) } };
  },

  // credentials
  create_api_keys: async ({ user }) => ({
    apiKeys: [newApiKey({ expirationSeconds: "3600" })],
    userId: user.userId,
  }),
  delete_api_keys: async (world) => ({ userId: world.user.userId, apiKeyIds: [await addApiKey(world)] }),
  create_authenticators: async ({ user }) => ({ authenticators: [newAuthenticator()], userId: user.userId }),
  delete_authenticators: async (world) => ({
    userId: world.user.userId,
    authenticatorIds: [await addAuthenticator(world)],
  }),
  get_api_key: async (world) => ({ apiKeyId: await addApiKey(world) }),
  get_api_keys: async ({ user }) => ({ userId: user.userId }),
  get_authenticator: async (world) => ({ authenticatorId: await addAuthenticator(world) }),
  get_authenticators: async ({ user }) => ({ userId: user.userId }),
  create_oauth_providers: async ({ user }) => ({ userId: user.userId, oauthProviders: [await newOauthProvider()] }),
  delete_oauth_providers: async (world) => ({
    userId: world.user.userId,
    providerIds: [await addOauthProvider(world)],
  }),
  get_oauth_providers: async (world) => after(addOauthProvider(world), { userId: world.user.userId }),

  // Fiat on-ramp
  create_fiat_on_ramp_credential: async ({ server }) => coinbaseParams(server.baseUrl),
  update_fiat_on_ramp_credential: async (world) => {
    const { sandboxMode: _, ...params } = await coinbaseParams(world.server.baseUrl);
    return { fiatOnrampCredentialId: await newOnRampCredential(world), ...params };
  },
  delete_fiat_on_ramp_credential: async (world) => ({ fiatOnrampCredentialId: await newOnRampCredential(world) }),
  list_fiat_on_ramp_credentials: async (world) => after(newOnRampCredential(world), {}),
  init_fiat_on_ramp: newPurchase,
  get_onramp_transaction_status: async (world) => ({
    transactionId: (await world.root.client.result("init_fiat_on_ramp", await newPurchase(world))).onRampTransactionId,
    refresh: true,
  }),

  // Verifiable deployments
  create_tvc_app: newAppParams,
  create_tvc_operator: async () => ({
    walletName: "Operators",
    walletId: "",
    path: "m/5527107'/0'/0'",
    operatorName: "Alice",
  }),
  create_tvc_deployment: async (world) =>
    deploymentParams((await newApp(world)).appId, someProgram, {
      nonce: 7,
      debugMode: true,
      replicas: 2,
      pivotContainerEncryptedPullSecret: "",
    }),
  create_tvc_manifest_approvals: async (world) => {
    const operators = [newOperator("alice"), newOperator("bob")];
    const app = await newDeployment(world.root.client, operators, { app: { threshold: 2 } });
    return approvalParams(world.root.client, app, operators.slice(0, 1));
  },
  set_tvc_app_live_deployment: readyDeployment,
  delete_tvc_deployment: async (world) => ({ deploymentId: (await newApp(world)).deploymentId }),
  restore_tvc_deployment: async (world) => {
    const { deploymentId } = await newApp(world);
    await world.root.client.result("delete_tvc_deployment", { deploymentId });
    return { deploymentId };
  },
  delete_tvc_app_and_deployments: async (world) => ({ appId: (await newApp(world)).appId }),
  list_tvc_apps: async (world) => after(newApp(world), {}),
  get_tvc_app: async (world) => ({ tvcAppId: (await newApp(world)).appId }),
  get_app_status: async (world) => ({ appId: (await newApp(world)).appId }),
  list_tvc_app_deployments: async (world) => ({ appId: (await newApp(world)).appId }),
  get_tvc_deployment: async (world) => ({ deploymentId: (await newApp(world)).deploymentId }),
  get_tvc_deployment_debug_logs: async (world) => {
    const { deploymentId } = await newDeployment(world.root.client, [newOperator()], {
      deployment: { debugMode: true },
    });
    return { deploymentId, tailLines: 10, sinceSeconds: "60" };
  },
  list_tvc_operators: async (world) => after(newApp(world), {}),
  create_tvc_quorum_key: async ({ root: { client } }) => {
    const [alice, bob] = [await hostedOperator(client, "alice"), await hostedOperator(client, "bob")];
    return { threshold: 2, operatorEncryptKeys: [alice.encryptPublicKey, bob.encryptPublicKey] };
  },
  list_tvc_quorum_keys: async ({ server, root: { client } }) => after(awaitingDeployment(server, client), {}),
  get_tvc_deployment_provisioning_details: async ({ server, root: { client } }) => ({
    deploymentId: (await awaitingDeployment(server, client)).share.deploymentId,
  }),
  post_tvc_quorum_key_share: async ({ server, root: { client } }) => (await awaitingDeployment(server, client)).share,
  re_encrypt_tvc_quorum_key_share: async ({ server, root: { client } }) =>
    (await awaitingDeployment(server, client)).reEncryption,
  get_tvc_qos_versions: async () => ({}),
  validate_tvc_image: async () => ({
    pivotContainerImageUrl: (await pushImage([[{ name: "app", content: someProgram }]])).byTag,
    pivotContainerEncryptedPullSecret: "",
  }),

  // OAuth 2.0
  create_oauth2_credential: async ({ server }) => credentialParams(server.baseUrl),
  update_oauth2_credential: async (world) => ({
    oauth2CredentialId: (await newOauth2Credential(world)).oauth2CredentialId,
    ...(await credentialParams(world.server.baseUrl)),
  }),
  delete_oauth2_credential: async (world) => ({
    oauth2CredentialId: (await newOauth2Credential(world)).oauth2CredentialId,
  }),
  get_oauth2_credential: async (world) => ({
    oauth2CredentialId: (await newOauth2Credential(world)).oauth2CredentialId,
  }),
  list_oauth2_credentials: async (world) => after(newOauth2Credential(world), {}),
  oauth2_authenticate: async (world) => {
    const { oauth2CredentialId, clientId } = await newOauth2Credential(world);
    return {
      oauth2CredentialId,
      ...(await oauth2ProviderOfTests()).signIn(clientId),
      nonce: nonceOfPublicKey(generateApiKey().publicKey),
      bearerTokenTargetPublicKey: exportTarget().targetPublicKey,
    };
  },
  oauth: async (world) => {
    const { targetPublicKey } = exportTarget();
    return {
      oidcToken: await newSignInToken(world, targetPublicKey),
      targetPublicKey,
      apiKeyName: "Signed in",
      expirationSeconds: "600",
      invalidateExisting: true,
    };
  },
  oauth_login: async (world) => {
    const { publicKey } = generateApiKey();
    return {
      oidcToken: await newSignInToken(world, publicKey),
      publicKey,
      expirationSeconds: "600",
      invalidateExisting: true,
      sessionProfileId: await newSessionProfileId(world),
    };
  },

  // tags
  create_user_tag: async ({ user }) => ({ userTagName: "staff", userIds: [user.userId] }),
  update_user_tag: async (world) => ({
    userTagId: await newUserTag(world),
    newUserTagName: "crew",
    addUserIds: [world.user.userId],
    removeUserIds: [world.root.userId],
  }),
  delete_user_tags: async (world) => ({ userTagIds: [await newUserTag(world)] }),
  list_user_tags: async (world) => after(newUserTag(world), {}),
  create_private_key_tag: async (world) => ({ privateKeyTagName: "hot", privateKeyIds: [await newPrivateKey(world)] }),
  update_private_key_tag: async (world) => ({
    privateKeyTagId: await newPrivateKeyTag(world),
    newPrivateKeyTagName: "cold",
    addPrivateKeyIds: [await newPrivateKey(world)],
    removePrivateKeyIds: [await newPrivateKey(world)],
  }),
  delete_private_key_tags: async (world) => ({ privateKeyTagIds: [await newPrivateKeyTag(world)] }),
  list_private_key_tags: async (world) => after(newPrivateKeyTag(world), {}),

  // private keys
  create_private_keys: async (world) => ({
    privateKeys: [privateKeyParams([await newPrivateKeyTag(world)])],
    ...noExternalSigner,
  }),
  delete_private_keys: async (world) => ({ privateKeyIds: [await newPrivateKey(world)], deleteWithoutExport: true }),
  get_private_key: async (world) => ({ privateKeyId: await newPrivateKey(world) }),
  list_private_keys: async (world) => after(newPrivateKey(world), {}),
  init_import_private_key: async ({ root }) => ({ userId: root.userId }),
  import_private_key: async (world) => ({
    userId: world.root.userId,
    privateKeyName: "imported",
    encryptedBundle: await newImportBundle(world, Buffer.alloc(32, 1)),
    curve: "CURVE_SECP256K1",
    addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
  }),
  export_private_key: async (world) => ({ privateKeyId: await newPrivateKey(world), ...newTarget() }),

  // secrets
  init_import_secrets: async () => ({ encryptionSuite, numSecrets: 2 }),
  import_secrets: async (world) => ({
    secrets: [
      await newSecret(world),
      { ...(await newSecret(world)), staticProperties: [{ key: "kind", value: "pin" }] },
    ],
  }),
  export_secrets: async (world) => ({
    secrets: [await storedSecret(world), await storedSecret(world)].map((secretId) => ({
      secretId,
      encryptionSuite,
      ...newTarget(),
      requestContext: [{ key: "purpose", value: "audit" }],
    })),
  }),
  delete_secrets: async (world) => ({ secretIds: [await storedSecret(world), await storedSecret(world)] }),
  list_secrets: async (world) => {
    await storedSecret(world);
    return { paginationOptions: { limit: "10", before: newId() } };
  },

  // wallets
  create_wallet: async () => newWalletParams(),
  create_wallet_accounts: async (world) => ({
    walletId: (await newWallet(world)).walletId,
    accounts: [walletAccount(1)],
    persist: true,
    ...noExternalSigner,
  }),
  update_wallet: async (world) => ({ walletId: (await newWallet(world)).walletId, walletName: "Renamed" }),
  delete_wallets: async (world) => ({ walletIds: [(await newWallet(world)).walletId], deleteWithoutExport: true }),
  delete_wallet_accounts: async (world) => ({
    walletAccountIds: [await newWalletAccountId(world)],
    deleteWithoutExport: true,
  }),
  init_import_wallet: async ({ root }) => ({ userId: root.userId }),
  import_wallet: async (world) => ({
    userId: world.root.userId,
    walletName: "Imported",
    encryptedBundle: await newImportBundle(world, `${"abandon ".repeat(11)}about`),
    accounts: [walletAccount(0)],
  }),
  export_wallet: async (world) => ({
    walletId: (await newWallet(world)).walletId,
    language: "MNEMONIC_LANGUAGE_FRENCH",
    ...newTarget(),
  }),
  export_wallet_account: async (world) => ({ address: (await newWallet(world)).addresses[0], ...newTarget() }),
  get_wallet: async (world) => ({ walletId: (await newWallet(world)).walletId }),
  get_wallet_account: async (world) => {
    const { walletId, addresses } = await newWallet(world);
    return { walletId, address: addresses[0], path: walletAccount(0).path };
  },
  list_wallets: async (world) => after(newWallet(world), {}),
  list_wallet_accounts: async (world) => {
    const { walletId, addresses } = await newWallet(world);
    const { account } = await world.root.client.read("get_wallet_account", { walletId, address: addresses[0] });
    return {
      walletId,
      includeWalletDetails: true,
      filterByAddress: addresses[0],
      filterByPath: walletAccount(0).path,
      filterByWalletAccountId: account.walletAccountId,
      paginationOptions: { limit: "10", before: newId() },
    };
  },

  // signing
  sign_transaction: async (world) => ({
    signWith: await newPrivateKey(world),
    unsignedTransaction: UNSIGNED_TRANSACTION,
    type: "TRANSACTION_TYPE_ETHEREUM",
    ...noExternalSigner,
  }),
  sign_raw_payload: async (world) => ({
    signWith: await newPrivateKey(world),
    payload: "00ff",
    ...hashedHex,
    ...noExternalSigner,
  }),
  sign_raw_payloads: async (world) => ({
    signWith: await newPrivateKey(world),
    payloads: ["00", "ff"],
    ...hashedHex,
    ...noExternalSigner,
  }),

  // spark
  spark_sign_frost: async ({ root: { client } }) => {
    const { signWith, identityPublicKey } = await newSparkWallet(client);
    const operators = new Operators(2, 3);
    const signing = operators.signing(operators.newLeaf(identityPublicKey), randomBytes(32), newAdaptor().point);
    return { signWith, signatures: [signing.request({ signingLeaf: { leafId: newId() } })] };
  },
  spark_prepare_transfer: async ({ root: { client } }) => {
    const { signWith, identityPublicKey } = await newSparkWallet(client);
    const refund = randomBytes(64).toString("hex");
    const transfer = transferOf(new Operators(2, 3).recipients, identityPublicKey, [newId()]);
    const [leaf] = transfer.leaves;
    return {
      signWith,
      transfer: {
        ...transfer,
        leaves: [{ ...leaf, directRefundSignature: refund, directFromCpfpRefundSignature: refund }],
      },
    };
  },
  spark_claim_transfer: async ({ root: { client } }) => {
    const [sender, receiver] = [await newSparkWallet(client), await newSparkWallet(client)];
    const operators = new Operators(2, 3);
    const transfer = transferOf(operators.recipients, receiver.identityPublicKey, [newId()]);
    const sent = await client.result("spark_prepare_transfer", { signWith: sender.signWith, transfer });
    const tweaks = operators.openTweaks(sent.operatorPackages);
    const claim = claimOf(transfer, tweaks, operators.recipients, sender.identityPublicKey);
    return { signWith: receiver.signWith, claim };
  },
  spark_prepare_lightning_receive: async ({ root: { client } }) => {
    const { signWith } = await newSparkWallet(client);
    return { signWith, lightningReceive: new Operators(2, 3).recipients };
  },

  // sending
  eth_send_raw_transaction: async () => ({ signedTransaction: await newSignedTransaction(), caip2: TEST_CHAIN }),

  eth_send_transaction: async (world) => ({
    from: await newEthereumKey(world),
    sponsor: false,
    caip2: TEST_CHAIN,
    ...ethereumFees,
    calls: [{ to: newAddress(), value: "1", data: "0x" }],
  }),
  eth_undelegate_7702: async (world) => undelegation(world),
  sol_send_transaction: async (world) => {
    const { wire, signWith } = await newSolanaTransfer(world);
    return { unsignedTransaction: wire.toString("hex"), signWiths: [signWith], ...solanaOptions };
  },
  get_send_transaction_status: async (world) => {
    const { wire, signWith } = await newSolanaTransfer(world);
    const { sendTransactionStatusId } = await world.root.client.result("sol_send_transaction", {
      unsignedTransaction: wire.toString("hex"),
      signWiths: [signWith],
      caip2: TEST_CLUSTER,
    });
    await sendStatus(world.root.client, sendTransactionStatusId);
    return { sendTransactionStatusId };
  },

  // sponsoring
  upsert_gas_usage_config: async () => ({
    orgWindowLimitUsd: "0",
    subOrgWindowLimitUsd: "0",
    windowDurationMinutes: "1440",
    enabled: true,
    solanaConfig: { rentPrefundEnabled: false },
  }),
  get_gas_usage: async () => ({}),

  // earn
  list_earn_vaults: async ({ organizationId }) => {
    const [caip19, provider] = [`${EARN_CHAIN}/erc20:${EARN_ASSET}`, "EARN_PROVIDER_MORPHO"];
    const before = cursorOf(["earn vaults", organizationId, caip19.toLowerCase(), provider], 1);
    return { caip19, provider, paginationOptions: { limit: "10", before } };
  },
  earn_deploy_wrapper: async ({ server, root }) => earnTerms(server.baseUrl, root.client),
  get_earn_deploy_status: async (world) => {
    const { deployRequestId } = await wrappedFor(world);
    return { deployRequestId };
  },
  list_earn_enabled_vaults: async (world) =>
    after(wrappedFor(world), { provider: "EARN_PROVIDER_MORPHO", caip19: `${EARN_CHAIN}/erc20:${EARN_ASSET}` }),
  earn_set_wrapper_state: async (world) => {
    const { wrapperAddress } = await wrappedFor(world);
    return { wrapperAddress, depositsDisabled: false };
  },
  earn_deposit: async (world) => {
    const { wrapperAddress, depositor: signWith } = await earnOf(world);
    return { wrapperAddress, signWith, assets: "1000000", chainCaip2: EARN_CHAIN, sponsor: false };
  },
  get_earn_deposit_status: async (world) => {
    const { depositRequestId } = await earnOf(world);
    return { depositRequestId };
  },
  earn_withdraw: async (world) => {
    const { wrapperAddress, depositor: signWith } = await earnOf(world);
    return { wrapperAddress, signWith, chainCaip2: EARN_CHAIN, sponsor: false, amountValue: "1000" };
  },
  get_earn_withdraw_status: async (world) => {
    const { wrapperAddress, depositor: signWith } = await earnOf(world);
    const parameters = { wrapperAddress, signWith, chainCaip2: EARN_CHAIN, amountValue: "1000" };
    const { withdrawRequestId } = await world.root.client.result("earn_withdraw", parameters);
    await earnEnded(world.root.client, "get_earn_withdraw_status", { withdrawRequestId });
    return { withdrawRequestId };
  },
  list_earn_positions: async (world) => {
    const { depositor: walletAddress } = await earnOf(world);
    return { walletAddress };
  },
  claim_earn_fees: async (world) => {
    const { wrapperAddress } = await claimable(world);
    return { wrapperAddress };
  },
  get_claim_earn_fees_status: async (world) => {
    const { wrapperAddress } = await claimable(world);
    const { claimRequestId } = await world.root.client.result("claim_earn_fees", { wrapperAddress });
    await earnEnded(world.root.client, "get_claim_earn_fees_status", { claimRequestId });
    return { claimRequestId };
  },

  // swaps
  upsert_swap_config: async ({ root }) => ({
    feeReceiverWalletAddress: await newSwapper(root.client, 0n),
    feeBps: "25",
    stableFeeBps: "5",
  }),
  create_swap_quote: async ({ root }) => quoteParams(await newSwapper(root.client), { slippageBps: "50" }),
  execute_swap: async ({ root }) =>
    quoted(root.client, quoteParams(await newSwapper(root.client)), { evmNonce: "0", gasStationNonce: "0" }),
  get_swap_status: async ({ root }) => {
    const request = await quoted(root.client, quoteParams(await newSwapper(root.client)));
    const { swapRequestId } = await root.client.result("execute_swap", request);
    await swapEnded(root.client, swapRequestId);
    return { swapRequestId };
  },
  claim_swap_fees: async ({ root }) => {
    const { feeReceiverWalletAddress } = await root.client.result("upsert_swap_config", { feeBps: "25" });
    (await relayOfTests()).accrue(feeReceiverWalletAddress, "1250000");
    return {};
  },

  // history and balances
  list_eth_transaction_history: async (world) => {
    const address = await newHistory(world);
    const cursor = cursorOf([world.organizationId, TEST_CHAIN, address.toLowerCase()], Number.MAX_SAFE_INTEGER);
    return { address, caip2: TEST_CHAIN, paginationOptions: { limit: "10", after: cursor } };
  },
  list_sol_transaction_history: async (world) => {
    const address = await newSolanaHistory(world);
    const cursor = cursorOf([world.organizationId, TEST_CLUSTER, address], Number.MAX_SAFE_INTEGER);
    return { address, caip2: TEST_CLUSTER, paginationOptions: { limit: "10", after: cursor } };
  },
  get_wallet_address_balances: async (world) => {
    const address = await newWalletAddress(world.root.client);
    await testNode().call("anvil_setBalance", address, "0x14d1120d7b160000");
    return { address, caip2: TEST_CHAIN };
  },
  list_supported_assets: async () => ({ caip2: TEST_CHAIN }),
  get_nonces: async (world) => ({
    address: await newWalletAddress(world.root.client),
    caip2: TEST_CHAIN,
    nonce: true,
    gasStationNonce: false,
  }),

  // activities
  get_activity: async (world) => ({ activityId: (await completedActivity(world)).id }),
  list_activities: async (world) => ({
    filterByStatus: ["ACTIVITY_STATUS_COMPLETED"],
    paginationOptions: { limit: "10", before: (await completedActivity(world)).id },
    filterByType: ["ACTIVITY_TYPE_CREATE_USERS_V4"],
    filterByUserId: world.root.userId,
  }),
  get_activity_counts: async () => ({ days: 7 }),
  approve_activity: async (world) => ({ fingerprint: await fingerprintOfWaiting(world) }),
  reject_activity: async (world) => ({ fingerprint: await fingerprintOfWaiting(world) }),

  // policies
  create_policy: async () => newPolicy(),
  create_policies: async () => ({ policies: [newPolicy(), newPolicy()] }),
  update_policy: async (world) => ({
    ...(await policyChange(world)),
    time: "time.now < Timestamp('2100-01-01T00:00:00Z')",
  }),
  delete_policy: async (world) => ({ policyId: await storedPolicy(world) }),
  delete_policies: async (world) => ({ policyIds: [await storedPolicy(world), await storedPolicy(world)] }),
  get_policy: async (world) => ({ policyId: await storedPolicy(world) }),
  list_policies: async (world) => after(storedPolicy(world), {}),
  get_active_policies: async (world) => after(storedPolicy(world), {}),
  get_policy_evaluations: async (world) => ({ activityId: (await completedActivity(world)).id }),
  simulate_policy: async (world) => ({
    activity: {
      type: "ACTIVITY_TYPE_UPDATE_USER_NAME",
      parameters: { userId: world.user.userId, userName: "Changed" },
    },
    userIds: [world.user.userId],
    draftPolicy: {
      policyId: await storedPolicy(world),
      effect: "EFFECT_ALLOW",
      condition: "activity.resource == 'USER'",
      consensus: "approvers.count() >= 2",
      time: "time.now < Timestamp('2100-01-01T00:00:00Z')",
    },
  }),

  // mfa
  create_mfa_policy: async (world) => ({ userId: world.user.userId, ...(await newMfaPolicy(world)) }),
  update_mfa_policy: async (world) => ({
    userId: world.user.userId,
    mfaPolicyId: await storedMfaPolicy(world),
    ...(await newMfaPolicy(world)),
    mfaPolicyName: "Changed",
  }),
  delete_mfa_policy: async (world) => ({
    userId: world.user.userId,
    mfaPolicyId: await storedMfaPolicy(world),
  }),
  get_mfa_policy: async (world) => ({ userId: world.user.userId, mfaPolicyId: await storedMfaPolicy(world) }),
  get_mfa_policies: async (world) => after(storedMfaPolicy(world), { userId: world.user.userId }),
  get_mfa_status: async (world) => ({
    activityId: (await completedActivity(world)).id,
    userId: world.user.userId,
  }),

  // sessions
  init_otp: async () => ({ ...newCode(), appName: "Example" }),
  verify_otp: async (world) => {
    const { otpId, otpEncryptionTargetBundle, code } = await sentCode(world);
    const guess = JSON.stringify({ otp_code: code, public_key: generateApiKey().publicKey });
    return { otpId, encryptedOtpBundle: clientBundle(otpEncryptionTargetBundle, guess), expirationSeconds: "600" };
  },
  otp_login: async (world) => {
    const { verificationToken, key } = await verifiedContact(world);
    const { publicKey } = generateApiKey();
    return {
      verificationToken,
      publicKey,
      clientSignature: loginSignature(key, verificationToken, publicKey),
      expirationSeconds: "600",
      invalidateExisting: true,
      sessionProfileId: await newSessionProfileId(world),
    };
  },
  // auth proxy
  enable_auth_proxy: async () => ({}),
  update_auth_proxy_config: async () => ({
    allowedOrigins: ["https://app.example.com"],
    allowedAuthMethods: ["email", "passkey", "google"],
    sendFromEmailAddress: "hello@example.com",
    sendFromEmailSenderName: "Example",
    replyToEmailAddress: "help@example.com",
    emailAuthTemplateId: "",
    otpTemplateId: "",
    emailCustomizationParams: {
      appName: "Example",
      logoUrl: "https://app.example.com/logo.png",
      magicLinkTemplate: "https://app.example.com/sign-in?code=%s",
      templateVariables: '{"greeting":"Hello"}',
      templateId: "",
    },
    smsCustomizationParams: { template: "{{ .OtpCode }} is your code." },
    walletKitSettings: {
      enabledSocialProviders: ["google"],
      oauthClientIds: { google: "g", apple: "a", facebook: "f", x: "x", discord: "d" },
      oauthRedirectUrl: "https://app.example.com/back",
    },
    otpExpirationSeconds: 300,
    verificationTokenExpirationSeconds: 600,
    sessionExpirationSeconds: 900,
    otpAlphanumeric: false,
    otpLength: 6,
    verificationTokenRequiredForGetAccountPii: true,
    socialLinkingClientIds: ["g"],
    captchaEnabled: false,
  }),
  disable_auth_proxy: async ({ root }) => after(root.client.result("enable_auth_proxy", {}), {}),
  get_auth_proxy_config: async ({ root }) => after(root.client.result("enable_auth_proxy", {}), {}),

  init_otp_auth: async () => ({ ...newCode(), appName: "Example" }),
  otp_auth: async (world) => {
    const { otpId, code } = await sentUserCode(world);
    return {
      otpId,
      otpCode: code,
      ...newTarget(),
      apiKeyName: "Session",
      expirationSeconds: "600",
      invalidateExisting: true,
    };
  },
  stamp_login: async (world) => ({
    publicKey: generateApiKey().publicKey,
    expirationSeconds: "600",
    invalidateExisting: true,
    sessionProfileId: await newSessionProfileId(world),
  }),
  create_read_write_session: async ({ user }) => ({
    ...newTarget(),
    userId: user.userId,
    apiKeyName: "Session",
    expirationSeconds: "600",
    invalidateExisting: true,
  }),
  create_read_only_session: async () => ({}),
  create_session_profile: async () => newSessionProfile(),
  get_session_profile: async (world) => ({ sessionProfileId: await newSessionProfileId(world) }),
  get_session_profiles: async () => ({}),

  // sign-in and recovery by mail
  email_auth: async (world) => ({
    ...(await newMailed(world)),
    emailCustomization: { appName: "App", ...customization },
    apiKeyName: "Mailed",
    invalidateExisting: true,
  }),
  init_user_email_recovery: async (world) => ({
    ...(await newMailed(world)),
    emailCustomization: { appName: "App", ...customization },
  }),
  recover_user: async (world) => {
    world.root.client = world.root.client.with({ key: await newRecoveryKey(world) });
    return { authenticator: newAuthenticator(), userId: world.root.userId };
  },

  // IP allowlists
  set_ip_allowlist: async (world) => ({
    publicKey: await newPublicKey(world),
    enabled: true,
    rules: [
      { cidr: "127.0.0.0/20", label: "This machine" },
      { cidr: "::1", label: "The same" },
    ],
    onEvaluationError: "DENY",
  }),
  remove_ip_allowlist: async (world) => ({ publicKey: await newPublicKey(world) }),
  get_ip_allowlist: async (world) => ({ publicKey: await newPublicKey(world) }),

  // smart contract interfaces
  create_smart_contract_interface: async () => newInterface(),
  delete_smart_contract_interface: async (world) => ({ smartContractInterfaceId: await storedInterface(world) }),
  get_smart_contract_interface: async (world) => ({ smartContractInterfaceId: await storedInterface(world) }),
  list_smart_contract_interfaces: async (world) => after(storedInterface(world), {}),

  // proofs
  list_app_proofs: async (world) => ({ activityId: (await provenActivity(world)).id }),
  get_boot_proof: async (world) => ({ ephemeralKey: (await provenActivity(world)).appProofs[0].publicKey }),
  get_latest_boot_proof: async () => ({ appName: "signer" }),

  // webhooks
  create_webhook_endpoint: async () => ({
    url: "https://hooks.example.com/in",
    name: "Hook",
    subscriptions: [
      { eventType: "ACTIVITY_UPDATES", filtersJson: '{"status":["ACTIVITY_STATUS_FAILED"]}', isActive: false },
    ],
  }),
  update_webhook_endpoint: async (world) => ({
    endpointId: await newEndpoint(world),
    url: "https://hooks.example.com/other",
    name: "Other",
    isActive: true,
  }),
  delete_webhook_endpoint: async (world) => ({ endpointId: await newEndpoint(world) }),
  list_webhook_endpoints: async (world) => after(newEndpoint(world), {}),
  list_webhook_deliveries: async (world) => ({
    endpointId: await newEndpoint(world),
    paginationOptions: { limit: "10", before: newId() },
  }),
  list_email_events: async (world) => ({
    email: await deliveredMail(world),
    eventType: "Delivery",
    paginationOptions: { limit: "10", before: newIdAt(Date.now() + 60_000) },
  }),
  redeliver_webhook: async (world) => ({ deliveryId: await failedDelivery(world) }),
  test_webhook_endpoint: async (world) => ({ endpointId: await leasedEndpoint(world) }),
};

/** Parameters of the older versions of activities, by activity type. */
export const olderExamples: Record<string, Example> = {
  ACTIVITY_TYPE_ETH_SEND_TRANSACTION: async (world) => ({
    from: await newEthereumKey(world),
    sponsor: false,
    caip2: TEST_CHAIN,
    ...ethereumFees,
    to: newAddress(),
    value: "1",
    data: "0x",
  }),
  ACTIVITY_TYPE_ETH_UNDELEGATE7702: async (world) => undelegation(world),
  ACTIVITY_TYPE_SOL_SEND_TRANSACTION: async (world) => {
    const { wire, signWith } = await newSolanaTransfer(world);
    return { unsignedTransaction: wire.toString("base64"), signWith, ...solanaOptions };
  },
  ACTIVITY_TYPE_EMAIL_AUTH_V2: async (world) => olderEmailAuth(world),
  ACTIVITY_TYPE_EMAIL_AUTH: async (world) => olderEmailAuth(world),
  ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY: async (world) => ({
    ...(await newMailed(world)),
    emailCustomization: { appName: "", ...customization },
  }),
  ACTIVITY_TYPE_INIT_OTP: async () => newCode(),
  ACTIVITY_TYPE_INIT_OTP_V2: async () => ({ ...newCode(), appName: "Example" }),
  ACTIVITY_TYPE_VERIFY_OTP: async (world) => {
    const { otpId, code: otpCode } = await sentCode(world);
    return { otpId, otpCode, publicKey: generateApiKey().publicKey, expirationSeconds: "600" };
  },
  ACTIVITY_TYPE_OTP_LOGIN: async (world) => (examples.otp_login as Example)(world),
  ACTIVITY_TYPE_INIT_OTP_AUTH: async () => {
    const { otpLength: _, alphanumeric: __, expirationSeconds: ___, ...first } = newCode();
    return first;
  },
  ACTIVITY_TYPE_INIT_OTP_AUTH_V2: async () => {
    const { expirationSeconds: _, ...second } = newCode();
    return second;
  },
  ACTIVITY_TYPE_CREATE_READ_WRITE_SESSION: async ({ root }) => {
    const userEmail = "root@example.com";
    await root.client.result("update_user", { userId: root.userId, userEmail });
    return { ...newTarget(), email: userEmail, apiKeyName: "Session", expirationSeconds: "600" };
  },
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION: async () => ({ name: "Sub", rootAuthenticator: newAuthenticator() }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V2: async () => ({ ...subOrganization, rootUsers: [newRootUserV1()] }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V3: async () => ({
    ...subOrganization,
    rootUsers: [newRootUserV1()],
    privateKeys: [privateKeyParams([])],
  }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V4: async () => ({
    ...subOrganization,
    rootUsers: [newRootUserV1()],
    ...emailDisabled,
  }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V5: async () => ({
    ...subOrganization,
    rootUsers: [{ ...newRootUserV1(), oauthProviders: [await newOauthProviderV1()] }],
    ...emailDisabled,
  }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V6: async () => ({
    ...subOrganization,
    rootUsers: [
      {
        ...newRootUserV1(),
        apiKeys: [newApiKey({ expirationSeconds: "3600" })],
        oauthProviders: [await newOauthProviderV1()],
      },
    ],
    ...emailDisabled,
  }),
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7: async (world) =>
    newSignup(world, { ...(await newRootUser()), oauthProviders: [await newOauthProviderV1()] }),
  ACTIVITY_TYPE_UPDATE_POLICY: async (world) => policyChange(world),
  ACTIVITY_TYPE_CREATE_POLICY_V2: async () => ({
    policyName: `Policy ${newId()}`,
    effect: "EFFECT_ALLOW",
    selectors: [{ subject: "activity.action", operator: "OPERATOR_IN", targets: ["SIGN", "EXPORT"] }],
    notes: "by selectors",
  }),
  ACTIVITY_TYPE_CREATE_POLICY: async () => ({
    policyName: `Policy ${newId()}`,
    effect: "EFFECT_ALLOW",
    selectors: [{ subject: "activity.action", operator: "OPERATOR_EQUAL", target: "SIGN" }],
    notes: "by selectors",
  }),
  ACTIVITY_TYPE_CREATE_USERS_V3: async (world) => ({
    users: [
      {
        userName: "Third version",
        userEmail: "third@example.com",
        userPhoneNumber: "+14155550123",
        apiKeys: [newApiKey({ expirationSeconds: "3600" })],
        authenticators: [newAuthenticator()],
        oauthProviders: [await newOauthProviderV1()],
        userTags: [await newUserTag(world)],
      },
    ],
  }),
  ACTIVITY_TYPE_CREATE_USERS_V2: async (world) => ({
    users: [
      {
        userName: "Second version",
        userEmail: "second@example.com",
        apiKeys: [newApiKeyV1()],
        authenticators: [newAuthenticator()],
        userTags: [await newUserTag(world)],
      },
    ],
  }),
  ACTIVITY_TYPE_CREATE_USERS: async (world) => ({
    users: [
      {
        userName: "First version",
        userEmail: "first@example.com",
        accessType: "ACCESS_TYPE_ALL",
        apiKeys: [newApiKeyV1()],
        authenticators: [newAuthenticatorV1()],
        userTags: [await newUserTag(world)],
      },
    ],
  }),
  ACTIVITY_TYPE_CREATE_API_KEYS: async ({ user }) => ({ apiKeys: [newApiKeyV1()], userId: user.userId }),
  ACTIVITY_TYPE_CREATE_AUTHENTICATORS: async ({ user }) => ({
    authenticators: [newAuthenticatorV1()],
    userId: user.userId,
  }),
  ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS: async ({ user }) => ({
    userId: user.userId,
    oauthProviders: [await newOauthProviderV1()],
  }),
  ACTIVITY_TYPE_CREATE_PRIVATE_KEYS: async (world) => ({
    privateKeys: [privateKeyParams([await newPrivateKeyTag(world)])],
    ...noExternalSigner,
  }),
  ACTIVITY_TYPE_SIGN_TRANSACTION: async (world) => ({
    privateKeyId: await newPrivateKey(world),
    unsignedTransaction: UNSIGNED_TRANSACTION,
    type: "TRANSACTION_TYPE_ETHEREUM",
  }),
  ACTIVITY_TYPE_SIGN_RAW_PAYLOAD: async (world) => ({
    privateKeyId: await newPrivateKey(world),
    payload: "hello",
    encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
    hashFunction: "HASH_FUNCTION_KECCAK256",
  }),
};

/** An example together with what the registry says of its operation. */
export interface ExampleRequest {
  /** The path, and the type where it is an older one. */
  name: string;
  operation: Operation;
  url: string;
  /** Absent for queries. */
  type?: string;
  /** Of the whole body. */
  schema: TSchema;
  example: Example;
}

/** Every operation, and after it its older versions. */
export const exampleRequests: readonly ExampleRequest[] = operations.flatMap(requestsOf);

function requestsOf(operation: Operation): ExampleRequest[] {
  const { kind, path } = operation;
  const of = (example: Example | undefined, type?: string): ExampleRequest => {
    if (!example) throw new Error(`test/support/examples.ts has no example for ${type ?? path}`);
    const base = { operation, url: pathOf(operation), schema: schemaOf(operation, type), example };
    return { name: path, ...base, ...(type === undefined ? {} : { type }) };
  };
  if (kind === "query") return [of(examples[path])];
  if (kind === "vote") return [of(examples[path], operation.type)];
  const [newest, ...older] = [...operation.versions.keys()];
  return [
    of(examples[path], newest),
    ...older.map((type) => ({ ...of(olderExamples[type], type), name: `${path} as ${type}` })),
  ];
}

function schemaOf(operation: Operation, type: string | undefined): TSchema {
  const { anyOf } = requestOf(operation) as { anyOf?: { properties: { type: { enum: string[] } } }[] };
  const ofType = anyOf?.find(({ properties }) => properties.type.enum[0] === type);
  return (ofType as TSchema | undefined) ?? requestOf(operation);
}

/** The kind of organization in which the operation's example succeeds. */
export const kindFor = (operation: Operation): OnlyFor =>
  (operation.kind === "vote" ? undefined : operation.only) ?? "parents";

/** The whole body of a request, as `client` would stamp it. */
export function bodyOf({ operation, type }: ExampleRequest, client: Client, fields: object): Record<string, unknown> {
  if (type === undefined) return { organizationId: client.organizationId, ...fields };
  const more = { generateAppProofs: operation.kind !== "activity" || operation.takesAppProofs };
  return JSON.parse(client.submitBody(operation.path, fields, { type, more })) as Record<string, unknown>;
}

/** Once there is something to find. */
async function after(made: Promise<unknown>, fields: object): Promise<object> {
  await made;
  return fields;
}

async function provenActivity({ root }: World): Promise<Json> {
  const renaming = { organizationName: "Proved" };
  const answer = await root.client.submit("update_organization_name", renaming, { more: { generateAppProofs: true } });
  return answer.body.activity;
}

const hashedHex = { encoding: "PAYLOAD_ENCODING_HEXADECIMAL", hashFunction: "HASH_FUNCTION_SHA256" };

const newApiKey = (more: object = {}): object => apiKeyParams(generateApiKey(), more);

const newApiKeyV1 = (): object => ({
  apiKeyName: "key",
  publicKey: generateApiKey().publicKey,
  expirationSeconds: "3600",
});

function newAuthenticator(): object {
  const challenge = randomBytes(32).toString("base64url");
  const origin = "https://app.example.com";
  const attestation = createAuthenticator().attest({
    challenge: Buffer.from(challenge, "base64url"),
    origin,
    rpId: "app.example.com",
  });
  return { authenticatorName: "passkey", challenge, attestation };
}

/** The browser's credential object, whole. */
function newAuthenticatorV1(): object {
  const { authenticatorName, challenge, attestation } = newAuthenticator() as Json;
  const { credentialId, clientDataJson, attestationObject, transports } = attestation;
  const authenticatorAttachment = "platform";
  return {
    authenticatorName,
    userId: "user handle",
    challenge,
    attestation: {
      id: credentialId,
      type: "public-key",
      rawId: credentialId,
      authenticatorAttachment,
      response: { clientDataJson, attestationObject, transports, authenticatorAttachment },
      clientExtensionResults: { appid: false, appidExclude: false, credProps: { rk: true } },
    },
  };
}

const subOrganization = { subOrganizationName: "Sub", rootQuorumThreshold: 1 };
const walletAccount = (index: number) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: `m/44'/60'/0'/0/${index}`,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
  name: `account ${index}`,
});
/** As clients send them that know of external signers, for keys of the service's own. */
const noExternalSigner = { externalSignerPubkey: "", externalSignerWrappingKeyId: "" };

const newWalletParams = () => ({
  walletName: "Wallet",
  accounts: [walletAccount(0)],
  mnemonicLength: 12,
  ...noExternalSigner,
});

const encryptionSuite = "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1";

const newTarget = () => ({ targetPublicKey: exportTarget().targetPublicKey });

/** Encrypted to a fresh import key of the root user. */
async function newImportBundle({ root }: World, plaintext: Uint8Array | string): Promise<string> {
  const { importBundle } = await root.client.result("init_import_wallet", { userId: root.userId });
  return clientBundle(importBundle, plaintext);
}

async function newSecret({ root }: World) {
  const { enclaveTargetMessages } = await root.client.result("init_import_secrets", { encryptionSuite, numSecrets: 1 });
  const [message] = enclaveTargetMessages;
  return {
    name: `Secret ${newId()}`,
    secretPayload: clientBundle(message, "secret"),
    targetPublicKey: envelopeData(message).targetPublic,
    encryptionSuite,
    staticProperties: [{ key: "kind", value: "card" }],
  };
}

async function storedSecret(world: World): Promise<string> {
  return (await world.root.client.result("import_secrets", { secrets: [await newSecret(world)] })).secretIds[0];
}

const newWallet = ({ root }: World): Promise<{ walletId: string; addresses: string[] }> =>
  root.client.result("create_wallet", newWalletParams());

/** The same of Solana. */
async function newSolanaHistory({ server, organizationId, root }: World): Promise<string> {
  const address = await newSolanaAddress(root.client);
  const sender = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";
  const transfer = { direction: "IN" as const, token: null, counterparty: sender, amount: "1500000000" };
  const entry: Entry = {
    organizationId,
    address,
    // Above what the node of the tests ever gets to: it is never final.
    position: positionOf(400_000_000, 0),
    blockHash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
    blockTime: Date.now(),
    transactionHash: "5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv",
    sender,
    recipient: null,
    fee: { amount: "5000", token: null },
    failed: false,
    transfers: [transfer],
    changes: [],
    solana: { signers: [{ address: sender, writable: true }], failed: false },
  };
  const { database } = server.opened;
  await database.transact(organizationId, (tx) => addEntries(tx, TEST_CLUSTER as Chain, [entry], TOLD.all));
  return address;
}

/** Resolves to an address at which something came in, in a block long ago. */
async function newHistory({ server, organizationId, root }: World): Promise<string> {
  const address = await newWalletAddress(root.client);
  const [sender, hash] = [`0x${"35".repeat(20)}`, (byte: string) => `0x${byte.repeat(32)}`];
  const transfer = { direction: "IN" as const, token: null, counterparty: sender, amount: "1500000000000000000" };
  const entry: Entry = {
    organizationId,
    address: address.toLowerCase(),
    // Above what the node of the tests ever gets to: it is never final.
    position: positionOf(20_000_000, 0),
    blockHash: hash("b1"),
    blockTime: Date.now(),
    transactionHash: hash("a1"),
    sender,
    recipient: address.toLowerCase(),
    fee: { amount: "42000000000000", token: null },
    failed: false,
    transfers: [transfer],
    changes: [],
  };
  const { database } = server.opened;
  await database.transact(organizationId, (tx) => addEntries(tx, TEST_CHAIN, [entry], TOLD.all));
  return address;
}

async function newWalletAccountId(world: World): Promise<string> {
  const { walletId } = await newWallet(world);
  return (await world.root.client.read("list_wallet_accounts", { walletId })).accounts[0].walletAccountId;
}

/** EIP-1559 on chain 1: 1 wei to 0x3535…35. */
const UNSIGNED_TRANSACTION = "0x02df018001028252089435353535353535353535353535353535353535350180c0";

const newSignedTransaction = async (): Promise<string> =>
  (await (await newSender(testNode())).sign()).signedTransaction;

const ethereumFees = {
  nonce: "0",
  gasLimit: "21000",
  maxFeePerGas: "20000000000",
  maxPriorityFeePerGas: "1000000000",
};

/** The address of a new key of the organization, with money. */
const wrappedFor = ({ server, root, parent = root }: World) => earnWrapped(server.baseUrl, parent.client);
const earnOf = ({ server, root, parent = root }: World) => earnDeposited(server.baseUrl, parent.client, root.client);

async function claimable(world: World) {
  const example = await earnOf(world);
  await feesToClaim(world.root.client, example);
  return example;
}

async function newEthereumKey({ root }: World): Promise<string> {
  const { privateKeys } = await root.client.result("create_private_keys", {
    privateKeys: [
      {
        privateKeyName: `Ethereum ${newId()}`,
        curve: "CURVE_SECP256K1",
        privateKeyTags: [],
        addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
      },
    ],
  });
  const { address } = privateKeys[0].addresses[0];
  await giveEther(testNode(), address);
  return address;
}

/** Of an account that runs the code of a contract. */
async function undelegation(world: World): Promise<object> {
  const from = await newEthereumKey(world);
  await testNode().call("anvil_setCode", from, `0xef0100${newAddress().slice(2)}`);
  return { from, caip2: TEST_CHAIN, ...ethereumFees };
}

/** A blockhash that no cluster has had. */
const solanaOptions = {
  sponsor: false,
  caip2: "solana:devnet",
  recentBlockhash: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
};

/** Of 1 SOL, by a key of the organization that has it. */
async function newSolanaTransfer({ root }: World): Promise<{ wire: Buffer; signWith: string }> {
  const { privateKeys } = await root.client.result("create_private_keys", {
    privateKeys: [
      {
        privateKeyName: `Solana ${newId()}`,
        curve: "CURVE_ED25519",
        privateKeyTags: [],
        addressFormats: ["ADDRESS_FORMAT_SOLANA"],
      },
    ],
  });
  const [{ privateKeyId, addresses }] = privateKeys;
  const [{ address }] = addresses;
  await testSolana().call("requestAirdrop", address, Number(10n * SOL));
  return { wire: unsignedTransfer([address]).wire, signWith: privateKeyId };
}

const emailDisabled = {
  wallet: newWalletParams(),
  disableEmailRecovery: true,
  disableEmailAuth: true,
};
const disabled = { ...emailDisabled, disableSmsAuth: true, disableOtpEmailAuth: true };

const newRootUser = async () => ({
  userName: "Root",
  userEmail: "root@example.com",
  userPhoneNumber: "+14155550123",
  apiKeys: [newApiKey({ expirationSeconds: "3600" })],
  authenticators: [newAuthenticator()],
  oauthProviders: [await newOauthProvider()],
});

/** A sub-organization for somebody who has shown their address. */
async function newSignup({ server, root, parent = root }: World, person: object): Promise<object> {
  const rootUser = { ...person, userEmail: `${newId()}@example.com` };
  const key = generateApiKey();
  const verificationToken = await verificationTokenFor(server, parent.client, rootUser.userEmail, { key });
  const clientSignature = signupSignature(key, verificationToken, rootUser);
  return {
    ...subOrganization,
    rootUsers: [rootUser],
    ...disabled,
    userTag: "member",
    verificationToken,
    clientSignature,
  };
}

const newRootUserV1 = () => ({
  userName: "Root",
  userEmail: "root@example.com",
  apiKeys: [newApiKeyV1()],
  authenticators: [newAuthenticator()],
});

const newPolicy = (): object => ({
  policyName: `Policy ${newId()}`,
  effect: "EFFECT_ALLOW",
  condition: "activity.action == 'SIGN'",
  consensus: "approvers.count() >= 2",
  notes: "two of us",
  time: "CronSpan('0 9 * * 1-5', '8h', 'Europe/Berlin')",
});

/** Of the world's user, whose one API key it names. */
async function newMfaPolicy({ root, user: { userId } }: World): Promise<object> {
  const { apiKeys } = (await root.client.query("get_api_keys", { userId })).body;
  return {
    mfaPolicyName: "Second factor",
    condition: "activity.action == 'SIGN'",
    requiredAuthenticationMethods: [
      {
        any: [
          { type: "AUTHENTICATION_TYPE_SESSION", id: "00000000-0000-0000-0000-000000000000" },
          { type: "AUTHENTICATION_TYPE_API_KEY", id: apiKeys[0].apiKeyId },
        ],
      },
    ],
    order: 1,
    notes: "for signing",
  };
}

async function storedMfaPolicy(world: World): Promise<string> {
  const policy = { userId: world.user.userId, ...(await newMfaPolicy(world)) };
  return (await world.root.client.result("create_mfa_policy", policy)).mfaPolicyId;
}

const newSessionProfile = (): object => ({
  sessionProfileName: `Profile ${newId()}`,
  scope: "activity.action == 'SIGN'",
  expirationSeconds: "600",
  notes: "signing only",
});

/** Nobody else's: its contact can be verified once in a family of organizations. */
let phoneNumbers = 0;
const newPhoneNumber = (): string => `+1415${String(5_550_000 + ++phoneNumbers)}`;

const newCode = () => ({
  otpType: "OTP_TYPE_EMAIL",
  contact: `${newId()}@example.com`,
  otpLength: 9,
  alphanumeric: true,
  expirationSeconds: "300",
  // As of an IP address; a few starts are the most for each.
  userIdentifier: randomBytes(32).toString("hex"),
  emailCustomization: {
    appName: "Example",
    logoUrl: "https://example.com/logo.png",
    magicLinkTemplate: "https://example.com/login?code=%s",
    templateVariables: JSON.stringify({ username: "Ada" }),
    templateId: "",
  },
  smsCustomization: { template: "Your code is {{.OtpCode}}" },
  sendFromEmailAddress: "codes@example.com",
  sendFromEmailSenderName: "Example",
  replyToEmailAddress: "help@example.com",
});

/** A code that was mailed, read from the mail. */
async function sentCode({ server, root }: World): Promise<Json & { code: string }> {
  const asked = newCode();
  const body = { ...asked, appName: "Example" };
  const made = await root.client.result("init_otp", body, { type: "ACTIVITY_TYPE_INIT_OTP_V3" });
  return { ...made, contact: asked.contact, code: await mailedCode(server, asked.contact) };
}

async function sentUserCode({ server, root }: World): Promise<{ otpId: string; code: string }> {
  const asked = newCode();
  await root.client.result("update_user", { userId: root.userId, userEmail: asked.contact });
  const body = { ...asked, appName: "Example" };
  const { otpId } = await root.client.result("init_otp_auth", body, { type: "ACTIVITY_TYPE_INIT_OTP_AUTH_V3" });
  return { otpId, code: await mailedCode(server, asked.contact) };
}

/** A token of a contact that is the root user's, with the key in it. */
async function verifiedContact(world: World): Promise<{ verificationToken: string; key: StampingKey }> {
  const { root } = world;
  const { otpId, code: otpCode, contact } = await sentCode(world);
  await root.client.result("update_user", { userId: root.userId, userEmail: contact });
  const key = generateApiKey();
  const body = { otpId, otpCode, publicKey: key.publicKey };
  return { ...(await root.client.result("verify_otp", body, { type: "ACTIVITY_TYPE_VERIFY_OTP" })), key };
}

async function newSessionProfileId({ root, parent = root }: World): Promise<string> {
  return (await parent.client.result("create_session_profile", newSessionProfile())).sessionProfileId;
}

async function storedPolicy({ root }: World): Promise<string> {
  return (await root.client.result("create_policy", newPolicy())).policyId;
}

const policyChange = async (world: World): Promise<object> => ({
  policyId: await storedPolicy(world),
  policyName: `Changed ${newId()}`,
  policyEffect: "EFFECT_DENY",
  policyCondition: "activity.resource == 'WALLET'",
  policyConsensus: "true",
  policyNotes: "changed",
});

const newInterface = (): object => ({
  smartContractAddress: `0x${randomBytes(20).toString("hex")}`,
  smartContractInterface: JSON.stringify([{ type: "function", name: "transfer", inputs: [], outputs: [] }]),
  type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
  label: "Token",
  notes: "the one we hold",
});

async function storedInterface({ root }: World): Promise<string> {
  return (await root.client.result("create_smart_contract_interface", newInterface())).smartContractInterfaceId;
}

const inviters = new WeakMap<World, Client>();
/** The root user's client, also after an example that has another one stamp. */
function inviterOf(world: World): Client {
  const inviter = inviters.get(world) ?? world.root.client;
  inviters.set(world, inviter);
  return inviter;
}

const newInvitations = async (world: World) => ({
  invitations: [
    {
      receiverUserName: "Guest",
      receiverUserEmail: `guest-${newId()}@example.com`,
      receiverUserTags: [await newUserTag(world)],
      accessType: "ACCESS_TYPE_WEB",
      senderUserId: world.user.userId,
    },
  ],
  emailCustomization: { appName: "App", ...customization },
  ...sender,
});

async function newEndpoint({ root }: World): Promise<string> {
  const endpoint = { url: "https://hooks.example.com/in", name: "Hook" };
  return (await root.client.result("create_webhook_endpoint", endpoint)).endpointId;
}

/**
 * The endpoint's lane belongs to another process for a few minutes: what is queued in it stays as it is. A longer lease would be taken for
 * one of a clock that has been set back.
 */
async function leaseElsewhere(tx: Transactor, endpointId: string): Promise<void> {
  const lease = { leased_until: Date.now() + 4 * MINUTE_MS, owner: "another process" };
  await tx
    .insertInto("job_lanes")
    .values({ lane: `webhook:${endpointId}`, gate: "nowhere", ...lease })
    .execute();
}

async function leasedEndpoint(world: World): Promise<string> {
  const endpointId = await newEndpoint(world);
  await world.server.opened.database.transact(world.organizationId, (tx) => leaseElsewhere(tx, endpointId));
  return endpointId;
}

/** A delivery of an endpoint whose lane is taken. */
async function failedDelivery({ server, organizationId }: World): Promise<string> {
  const [endpoint_id, event_id, id] = [newId(), newId(), newId()];
  const times = { created_at: 0, updated_at: 0 };
  const organization_id = organizationId;
  await server.opened.database.transact(organizationId, async (tx) => {
    const endpoint = { id: endpoint_id, organization_id, url: "https://127.0.0.1:1/", name: "Nowhere" };
    await tx
      .insertInto("webhook_endpoints")
      .values({ ...endpoint, is_active: 1, failing_since: null, ...times })
      .execute();
    const event = { id: event_id, organization_id, event_type: "ACTIVITY_UPDATES", body: "{}", created_at: 0 };
    await tx.insertInto("webhook_events").values(event).execute();
    await leaseElsewhere(tx, endpoint_id);
    const delivery = { id, organization_id, endpoint_id, event_id, status: "FAILED" as const, attempts: 0 };
    await tx
      .insertInto("webhook_deliveries")
      .values({ ...delivery, next_attempt_at: null, ...times })
      .execute();
  });
  return id;
}

const customization = {
  logoUrl: "https://app.example.com/logo.png",
  magicLinkTemplate: "https://app.example.com/in?bundle=%s",
  templateVariables: '{"name":"Ada"}',
  templateId: "",
};

const sender = {
  sendFromEmailAddress: "hello@app.example.com",
  sendFromEmailSenderName: "App",
  replyToEmailAddress: "help@app.example.com",
};

/** What both operations that mail a key are asked with; the user is there, and the features are on. */
async function newMailed({ root, user: { userId } }: World): Promise<object> {
  const userEmail = "ada@example.com";
  await root.client.result("update_user", { userId, userEmail });
  await root.client.result("set_organization_feature", { name: "FEATURE_NAME_EMAIL_RECOVERY" });
  return {
    ...newTarget(),
    email: userEmail,
    expirationSeconds: "600",
    ...sender,
  };
}

const olderEmailAuth = async (world: World): Promise<object> => ({
  ...(await newMailed(world)),
  emailCustomization: { appName: "", ...customization },
  apiKeyName: "Mailed",
  invalidateExisting: true,
});

/** The root user's, as it comes by mail. */
async function newRecoveryKey({ server, organizationId, root: { userId } }: World): Promise<StampingKey> {
  const key = generateApiKey();
  const now = Date.now();
  const apiKey = {
    id: newId(),
    name: "Recovery",
    type: "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256",
    publicKey: key.publicKey,
    sessionProfileId: null,
    expirationSeconds: 900,
    grade: "recovery" as const,
    createdAt: now,
  };
  await server.opened.database.transact(organizationId, (tx) =>
    project(tx, organizationId, [{ do: "addApiKeys", userId, apiKeys: [apiKey], now }]),
  );
  return key;
}

const newApp = ({ root }: World): Promise<Json> => newDeployment(root.client, [newOperator()]);

/** An app whose sets have new operators and one that is known already. */
async function newAppParams(world: World): Promise<object> {
  const known = await newApp(world);
  const params = appParams([newOperator("alice"), newOperator("bob")], { threshold: 2 });
  return {
    ...params,
    manifestSetId: "",
    manifestSetParams: { ...params.manifestSetParams, existingOperatorIds: known.manifestSetOperatorIds },
    shareSetId: "",
    shareSetParams: { ...params.shareSetParams, existingOperatorIds: known.manifestSetOperatorIds },
  };
}

/** An approved deployment of which some server says that it is ready. */
async function readyDeployment({ root: { client }, server, organizationId }: World): Promise<object> {
  const operator = newOperator();
  const app = await newDeployment(client, [operator]);
  await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [operator]));
  await server.opened.database.transact(organizationId, async (tx) => {
    await tx
      .insertInto("tvc_runs")
      .values(runOf(organizationId, app.deploymentId, Date.now()))
      .execute();
  });
  return { deploymentId: app.deploymentId };
}

async function newOnRampCredential({ root, server }: World): Promise<string> {
  const params = await moonPayParams(server.baseUrl, { sandboxMode: true });
  return (await root.client.result("create_fiat_on_ramp_credential", params)).fiatOnRampCredentialId;
}

/** Everything that a purchase at MoonPay can be asked with. */
async function newPurchase(world: World): Promise<object> {
  await newOnRampCredential(world);
  const params = purchaseParams("MOONPAY");
  return {
    ...params,
    fiatCurrencyCode: "FIAT_ON_RAMP_CURRENCY_USD",
    fiatCurrencyAmount: "100",
    paymentMethod: "FIAT_ON_RAMP_PAYMENT_METHOD_CREDIT_DEBIT_CARD",
    countryCode: "US",
    countrySubdivisionCode: "NY",
    sandboxMode: true,
    urlForSignature: `https://buy-sandbox.moonpay.com/?apiKey=pk_test_key&currencyCode=eth&walletAddress=${params.walletAddress}`,
  };
}

async function newOauth2Credential({ root, server }: World): Promise<{ oauth2CredentialId: string; clientId: string }> {
  const params = await credentialParams(server.baseUrl);
  return { ...params, ...(await root.client.result("create_oauth2_credential", params)) } as never;
}

/** A token of somebody whom the user of the world is at the issuer, bound to the key. */
async function newSignInToken({ root, user: { userId } }: World, publicKey: string): Promise<string> {
  const sub = newId();
  await root.client.result("create_oauth_providers", { userId, oauthProviders: [await oauthProviderParams(sub)] });
  return (await issuerOfTests()).token({ sub, nonce: nonceOfPublicKey(publicKey) });
}

const newOauthProviderV1 = (): Promise<object> => oauthProviderParams();

async function newOauthProvider(): Promise<object> {
  const sub = randomBytes(16).toString("hex");
  const { url: iss } = await issuerOfTests();
  return oauthProviderParams(sub, { oidcClaims: { iss, sub, aud: "another-app" } });
}

const addOauthProvider = async ({ root, user }: World, userId = user.userId): Promise<string> => {
  const oauthProviders = [await oauthProviderParams()];
  return (await root.client.result("create_oauth_providers", { userId, oauthProviders })).providerIds[0];
};

/** A mail of which a server said that it is delivered; resolves to its recipient. */
async function deliveredMail({ server, organizationId }: World): Promise<string> {
  const now = Date.now();
  const to = "ada@example.com";
  const mail = { organizationId, mailId: newId(), messageId: "4Fx9rT2Lz0z1", from: "keys@example.org", to, now };
  const details = { deliverySmtpResponse: "250 2.6.0 ok", deliveryProcessingTimeMillis: "546" };
  await server.opened.database.transact(organizationId, (tx) =>
    recordEvent(tx, { ...mail, eventType: "Delivery", occurredAt: now, details }),
  );
  return to;
}

const privateKeyParams = (privateKeyTags: string[]): object => ({
  privateKeyName: "key",
  curve: "CURVE_SECP256K1",
  privateKeyTags,
  addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
  ...noExternalSigner,
});

async function newUserTag({ root }: World): Promise<string> {
  return (await root.client.result("create_user_tag", { userTagName: "tag", userIds: [root.userId] })).userTagId;
}

async function newPrivateKeyTag({ root }: World): Promise<string> {
  const tag = { privateKeyTagName: "tag", privateKeyIds: [] };
  return (await root.client.result("create_private_key_tag", tag)).privateKeyTagId;
}

async function newPrivateKey({ root }: World): Promise<string> {
  const { privateKeys } = await root.client.result("create_private_keys", { privateKeys: [privateKeyParams([])] });
  return privateKeys[0].privateKeyId;
}

async function addApiKey({ root, user }: World): Promise<string> {
  const { apiKeyIds } = await root.client.result("create_api_keys", { apiKeys: [newApiKey()], userId: user.userId });
  return apiKeyIds[0];
}

/** Of an API key that nobody uses. */
async function newPublicKey({ root, user }: World): Promise<string> {
  const key = generateApiKey();
  await root.client.result("create_api_keys", { apiKeys: [apiKeyParams(key)], userId: user.userId });
  return key.publicKey;
}

async function addAuthenticator({ root, user }: World): Promise<string> {
  const parameters = { authenticators: [newAuthenticator()], userId: user.userId };
  return (await root.client.result("create_authenticators", parameters)).authenticatorIds[0];
}

async function completedActivity({ root }: World): Promise<{ id: string }> {
  const { body } = await root.client.submit("update_organization_name", { organizationName: "Before" });
  return body.activity;
}

/** An activity that waits for the root user: the other member of the quorum asked for it. */
async function fingerprintOfWaiting(world: World): Promise<string> {
  const second = await world.quorumOfTwo();
  const { body } = await second.client.submit("update_organization_name", { organizationName: "By two" });
  return body.activity.fingerprint;
}
