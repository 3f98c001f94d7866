import { randomBytes } from "node:crypto";
import type { TSchema } from "typebox";
import { operations } from "../../src/capabilities/index.ts";
import { recordEvent } from "../../src/capabilities/messages/events.ts";
import type { StampingKey } from "../../src/crypto/make-stamp.ts";
import { project } from "../../src/engine/authority/project.ts";
import type { OnlyFor, Operation } from "../../src/engine/operations.ts";
import { pathOf } from "../../src/engine/registry.ts";
import { requestOf } from "../../src/http/openapi.ts";
import { newId, newIdAt } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { createAuthenticator } from "./authenticator.ts";
import { clientBundle, envelopeData, exportTarget } from "./bundles.ts";
import { TEST_CHAIN, testNode } from "./chain.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "./client.ts";
import { issuerOfTests, oauthProviderParams } from "./issuer.ts";
import { credentialParams, oauth2ProviderOfTests } from "./oauth2-provider.ts";
import { loginSignature, mailedCode } from "./one-time-codes.ts";
import { newSender } from "./sender.ts";
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
  create_sub_organization: async () => ({ ...subOrganization, rootUsers: [await newRootUser()], ...disabled }),
  delete_sub_organization: async () => ({ deleteWithoutExport: true }),
  list_suborgs: async () => ({
    filterType: "EMAIL",
    filterValue: "root@example.com",
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
  update_user_name: async ({ user }) => ({ userId: user.userId, userName: "Changed" }),
  delete_users: async ({ root }) => ({ userIds: [(await addUser(root.client, "Leaving")).userId] }),
  get_user: async ({ user }) => ({ userId: user.userId }),
  list_users: async () => ({}),

  // invitations
  create_invitations: async (world) => newInvitations(world),
  delete_invitation: async (world) => ({
    invitationId: (await world.root.client.result("create_invitations", await newInvitations(world))).invitationIds[0],
  }),
  list_invitations: async () => ({}),

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
  list_wallet_accounts: async (world) => ({
    walletId: (await newWallet(world)).walletId,
    includeWalletDetails: true,
    paginationOptions: { limit: "10", before: newId() },
  }),

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

  // sending
  eth_send_raw_transaction: async () => ({ signedTransaction: await newSignedTransaction(), caip2: TEST_CHAIN }),

  // activities
  get_activity: async (world) => ({ activityId: (await completedActivity(world)).id }),
  list_activities: async (world) => ({
    filterByStatus: ["ACTIVITY_STATUS_COMPLETED"],
    paginationOptions: { limit: "10", before: (await completedActivity(world)).id },
    filterByType: ["ACTIVITY_TYPE_CREATE_USERS_V4"],
  }),
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
  get_policy_evaluations: async (world) => ({ activityId: (await completedActivity(world)).id }),
  simulate_policy: async ({ user }) => ({
    activity: {
      type: "ACTIVITY_TYPE_UPDATE_USER_NAME",
      parameters: { userId: user.userId, userName: "Changed" },
    },
    userIds: [user.userId],
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
};

/** Parameters of the older versions of activities, by activity type. */
export const olderExamples: Record<string, Example> = {
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
  ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7: async () => ({
    ...subOrganization,
    rootUsers: [{ ...(await newRootUser()), oauthProviders: [await newOauthProviderV1()] }],
    ...disabled,
  }),
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
  const { noun, path } = operation;
  const of = (example: Example | undefined, type?: string): ExampleRequest => {
    if (!example) throw new Error(`test/support/examples.ts has no example for ${type ?? path}`);
    const base = { operation, url: pathOf(operation), schema: schemaOf(operation, type), example };
    return { name: path, ...base, ...(type === undefined ? {} : { type }) };
  };
  if (noun === "query") return [of(examples[path])];
  if (noun === "vote") return [of(examples[path], operation.type)];
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
  (operation.noun === "vote" ? undefined : operation.only) ?? "parents";

/** The whole body of a request, as `client` would stamp it. */
export function bodyOf({ operation, type }: ExampleRequest, client: Client, fields: object): Record<string, unknown> {
  if (type === undefined) return { organizationId: client.organizationId, ...fields };
  const more = { generateAppProofs: operation.noun !== "activity" || operation.takesAppProofs };
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

async function newWalletAccountId(world: World): Promise<string> {
  const { walletId } = await newWallet(world);
  return (await world.root.client.read("list_wallet_accounts", { walletId })).accounts[0].walletAccountId;
}

/** EIP-1559 on chain 1: 1 wei to 0x3535…35. */
const UNSIGNED_TRANSACTION = "0x02df018001028252089435353535353535353535353535353535353535350180c0";

const newSignedTransaction = async (): Promise<string> =>
  (await (await newSender(testNode())).sign()).signedTransaction;

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

const newCode = () => ({
  otpType: "OTP_TYPE_EMAIL",
  contact: `${newId()}@example.com`,
  otpLength: 9,
  alphanumeric: true,
  expirationSeconds: "300",
  userIdentifier: "someone",
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

const newInvitations = async (world: World): Promise<object> => ({
  invitations: [
    {
      receiverUserName: "Guest",
      receiverUserEmail: `guest-${newId()}@example.com`,
      receiverUserTags: [await newUserTag(world)],
      accessType: "ACCESS_TYPE_WEB",
      senderUserId: world.user.userId,
    },
  ],
});

async function newEndpoint({ root }: World): Promise<string> {
  const endpoint = { url: "https://hooks.example.com/in", name: "Hook" };
  return (await root.client.result("create_webhook_endpoint", endpoint)).endpointId;
}

/** A delivery whose lane belongs to another process for good: what is queued for it stays as it is. */
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
    const lease = { leased_until: Number.MAX_SAFE_INTEGER, owner: "another process" };
    await tx
      .insertInto("job_lanes")
      .values({ lane: `webhook:${endpoint_id}`, gate: "nowhere", ...lease })
      .execute();
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

/** What both operations that mail a key are asked with; the user is there, and the features are on. */
async function newMailed({ root, user: { userId } }: World): Promise<object> {
  const userEmail = "ada@example.com";
  await root.client.result("update_user", { userId, userEmail });
  await root.client.result("set_organization_feature", { name: "FEATURE_NAME_EMAIL_RECOVERY" });
  return {
    ...newTarget(),
    email: userEmail,
    expirationSeconds: "600",
    sendFromEmailAddress: "hello@app.example.com",
    sendFromEmailSenderName: "App",
    replyToEmailAddress: "help@app.example.com",
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
