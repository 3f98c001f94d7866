import { normalizeAddress } from "../../../crypto/addresses.ts";
import type { RecoveryIntent, RecoveryResult, RemovedAllowlists } from "../../activities/operator-activities.ts";
import {
  allowlistFact,
  type Fact,
  featureFact,
  goneFact,
  goneOfFact,
  interfaceFact,
  invitationFact,
  policyFact,
  proxyKeyFact,
  proxyPolicyFact,
  recoveryKeyFact,
  rootQuorumFact,
  sessionProfileFact,
  tagFact,
  userFact,
} from "./facts.ts";
import {
  type CompletedActivity,
  type CredentialsIntent,
  type MfaPolicyIntent,
  ofContactsAndTags,
  ofCredentials,
  ofIssuedKey,
  ofLogin,
  ofMfaPolicy,
  ofNewPolicy,
  ofSubOrganization,
  ofUser,
  ofVerification,
  type PasskeyIntent,
  type PolicyIntent,
  type SubOrganizationIntent,
  secondsOf,
  secondsOfSession,
  type UserIntent,
} from "./facts-of-intents.ts";

/** The facts about rows of authority in completed activities. */

type FactsOf = (activity: CompletedActivity) => Fact[];
const factsFrom =
  <Intent, Result = unknown>(factsOf: (activity: CompletedActivity<Intent, Result>) => Fact[]): FactsOf =>
  (activity) =>
    factsOf(activity as CompletedActivity<Intent, Result>);

/** The facts in a completed activity, by path, or by type for operators' activities. Operations not listed here do not affect authority. */
export const factsOfOperations: Readonly<Record<string, FactsOf>> = {
  create_users: factsFrom<{ users: UserIntent[] }, { userIds: string[] }>(({ organizationId, intent, result }) =>
    intent.users.flatMap((user, index) => ofUser(organizationId, result.userIds[index], user)),
  ),
  create_api_only_users: factsFrom<{ apiOnlyUsers: UserIntent[] }, { userIds: string[] }>(
    ({ organizationId, intent, result }) =>
      intent.apiOnlyUsers.flatMap((user, index) => ofUser(organizationId, result.userIds[index], user)),
  ),
  create_sub_organization: factsFrom<SubOrganizationIntent, { subOrganizationId: string; rootUserIds: string[] }>(
    ofSubOrganization,
  ),
  accept_invitation: factsFrom<UserIntent & { invitationId: string }, { userId: string }>(
    ({ organizationId, intent, result: { userId }, invitation }) => {
      const { email = "", tagIds = [] } = invitation(intent.invitationId) ?? {};
      return ofUser(organizationId, userId, { ...intent, userEmail: email, userTags: tagIds });
    },
  ),
  create_invitations: factsFrom<
    { invitations: { receiverUserEmail: string; receiverUserTags: string[] }[] },
    { invitationIds: string[] }
  >(({ intent, result }) =>
    intent.invitations.map(({ receiverUserEmail: email, receiverUserTags: tagIds }, index) =>
      invitationFact(result.invitationIds[index], { email, tagIds }),
    ),
  ),
  update_user: factsFrom<{ userId: string; userEmail?: string; userPhoneNumber?: string; userTagIds?: string[] }>(
    ({ intent: { userId, userTagIds: userTags, ...contacts } }) => ofContactsAndTags(userId, { ...contacts, userTags }),
  ),
  update_user_email: factsFrom<{ userId: string; userEmail: string; verificationToken?: string }>(({ intent }) => [
    ...ofContactsAndTags(intent.userId, intent),
    ...ofVerification(intent.verificationToken, [intent.userId]),
  ]),
  update_user_phone_number: factsFrom<{ userId: string; userPhoneNumber: string; verificationToken?: string }>(
    ({ intent }) => [
      ...ofContactsAndTags(intent.userId, intent),
      ...ofVerification(intent.verificationToken, [intent.userId]),
    ],
  ),
  delete_users: factsFrom<{ userIds: string[] }>(({ intent }) => intent.userIds.map((id) => goneFact(id))),
  delete_sub_organization: factsFrom(({ organizationId }) => [goneFact(organizationId)]),

  create_api_keys: factsFrom<CredentialsIntent & { userId: string }, { apiKeyIds: string[] }>(
    ({ intent, result: { apiKeyIds } }) => ofCredentials(intent.userId, intent, apiKeyIds),
  ),
  create_authenticators: factsFrom<CredentialsIntent & { userId: string }, { authenticatorIds: string[] }>(
    ({ intent, result: { authenticatorIds } }) => ofCredentials(intent.userId, intent, authenticatorIds),
  ),
  create_oauth_providers: factsFrom<CredentialsIntent & { userId: string }, { providerIds: string[] }>(
    ({ intent, result: { providerIds } }) => ofCredentials(intent.userId, intent, providerIds),
  ),
  recover_user: factsFrom<{ userId: string; authenticator: PasskeyIntent }, { authenticatorId: string[] }>(
    ({ intent: { userId, authenticator }, result }) =>
      ofCredentials(userId, { authenticators: [authenticator] }, result.authenticatorId),
  ),
  delete_api_keys: factsFrom<{ apiKeyIds: string[] }>(({ intent }) => intent.apiKeyIds.map((id) => goneFact(id))),
  delete_authenticators: factsFrom<{ authenticatorIds: string[] }>(({ intent }) =>
    intent.authenticatorIds.map((id) => goneFact(id)),
  ),
  delete_oauth_providers: factsFrom<{ providerIds: string[] }>(({ intent }) =>
    intent.providerIds.map((id) => goneFact(id)),
  ),

  stamp_login: factsFrom<unknown, { session: string }>(ofLogin),
  otp_login: factsFrom<unknown, { session: string }>(ofLogin),
  oauth_login: factsFrom<unknown, { session: string }>(ofLogin),
  oauth: factsFrom(ofIssuedKey("CREDENTIAL_TYPE_OAUTH_KEY_P256")),
  otp_auth: factsFrom(ofIssuedKey("CREDENTIAL_TYPE_OTP_AUTH_KEY_P256")),
  email_auth: factsFrom(ofIssuedKey("CREDENTIAL_TYPE_EMAIL_AUTH_KEY_P256")),
  create_read_write_session: factsFrom(ofIssuedKey("CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256")),
  init_user_email_recovery: factsFrom<{ expirationSeconds?: string }, { userId: string }>(
    ({ intent, result: { userId }, at }) => [recoveryKeyFact(userId, at, secondsOfSession(intent))],
  ),

  create_user_tag: factsFrom<{ userIds: string[] }, { userTagId: string }>(({ intent, result: { userTagId } }) =>
    intent.userIds.map((userId) => tagFact(userTagId, userId)),
  ),
  update_user_tag: factsFrom<{ userTagId: string; addUserIds: string[] }>(({ intent: { userTagId, addUserIds } }) =>
    addUserIds.map((userId) => tagFact(userTagId, userId)),
  ),
  create_private_key_tag: factsFrom<{ privateKeyIds: string[] }, { privateKeyTagId: string }>(
    ({ intent, result: { privateKeyTagId } }) => intent.privateKeyIds.map((keyId) => tagFact(privateKeyTagId, keyId)),
  ),
  update_private_key_tag: factsFrom<{ privateKeyTagId: string; addPrivateKeyIds: string[] }>(
    ({ intent: { privateKeyTagId, addPrivateKeyIds } }) =>
      addPrivateKeyIds.map((keyId) => tagFact(privateKeyTagId, keyId)),
  ),
  create_private_keys: factsFrom<
    { privateKeys: { privateKeyTags: string[] }[] },
    { privateKeys?: { privateKeyId: string }[]; privateKeyIds?: string[] }
  >(({ intent, result: { privateKeys, privateKeyIds = privateKeys?.map(({ privateKeyId }) => privateKeyId) ?? [] } }) =>
    intent.privateKeys.flatMap(({ privateKeyTags }, index) =>
      privateKeyTags.map((tagId) => tagFact(tagId, privateKeyIds[index] ?? "")),
    ),
  ),

  create_policy: factsFrom<PolicyIntent, { policyId: string }>(({ organizationId, intent, result }) =>
    ofNewPolicy(organizationId, result.policyId, intent),
  ),
  create_policies: factsFrom<{ policies: PolicyIntent[] }, { policyIds: string[] }>(
    ({ organizationId, intent, result }) =>
      intent.policies.flatMap((policy, index) => ofNewPolicy(organizationId, result.policyIds[index], policy)),
  ),
  update_policy: factsFrom<{
    policyId: string;
    policyEffect?: string;
    policyCondition?: string;
    policyConsensus?: string;
    time?: string;
  }>(({ organizationId, intent: { policyId, policyEffect, policyCondition, policyConsensus, time } }) => [
    ...(policyEffect === undefined ? [] : [policyFact(organizationId, policyId, "effect", policyEffect)]),
    ...(policyCondition === undefined ? [] : [policyFact(organizationId, policyId, "condition", policyCondition)]),
    ...(policyConsensus === undefined ? [] : [policyFact(organizationId, policyId, "consensus", policyConsensus)]),
    ...(time === undefined ? [] : [policyFact(organizationId, policyId, "time", time)]),
  ]),
  delete_policy: factsFrom<{ policyId: string }>(({ intent }) => [goneFact(intent.policyId)]),
  delete_policies: factsFrom<{ policyIds: string[] }>(({ intent }) => intent.policyIds.map((id) => goneFact(id))),
  enable_auth_proxy: factsFrom<unknown, { userId: string }>(({ organizationId, result: { userId }, at }) => [
    userFact(organizationId, userId),
    proxyKeyFact(userId),
    ...[userId, null].map((named) => proxyPolicyFact(organizationId, at, named)),
  ]),

  create_mfa_policy: factsFrom<MfaPolicyIntent, { mfaPolicyId: string }>(
    ({ organizationId, intent, result: { mfaPolicyId } }) => ofMfaPolicy(organizationId, { ...intent, mfaPolicyId }),
  ),
  update_mfa_policy: factsFrom<MfaPolicyIntent>(({ organizationId, intent }) => ofMfaPolicy(organizationId, intent)),
  delete_mfa_policy: factsFrom<{ mfaPolicyId: string }>(({ intent }) => [goneFact(intent.mfaPolicyId)]),

  create_session_profile: factsFrom<{ scope: string; expirationSeconds?: string }, { sessionProfileId: string }>(
    ({ intent: { scope, expirationSeconds }, result }) => [
      sessionProfileFact(result.sessionProfileId, scope, secondsOf(expirationSeconds)),
    ],
  ),
  set_organization_feature: factsFrom<{ name: string; value?: string }>(
    ({ organizationId, intent: { name, value } }) => [
      featureFact(organizationId, name, value || null),
      ["feature was set", organizationId, name],
    ],
  ),
  remove_organization_feature: factsFrom<{ name: string }>(({ organizationId, intent }) => [
    goneOfFact(organizationId, "feature", intent.name),
  ]),
  update_root_quorum: factsFrom<{ threshold: number; userIds: string[] }>(({ organizationId, intent }) => [
    rootQuorumFact(organizationId, intent),
  ]),
  set_ip_allowlist: factsFrom<{
    publicKey?: string;
    enabled?: boolean;
    rules?: { cidr: string }[];
    onEvaluationError?: string;
  }>(({ organizationId, intent: { publicKey, enabled = publicKey !== undefined, rules = [], onEvaluationError } }) => [
    allowlistFact(organizationId, publicKey, {
      enabled,
      onEvaluationError: onEvaluationError ?? "DENY",
      cidrs: rules.map(({ cidr }) => cidr),
    }),
  ]),
  remove_ip_allowlist: factsFrom<{ publicKey?: string }>(({ organizationId, intent }) => [
    goneOfFact(organizationId, "allowlist", intent.publicKey?.toLowerCase() ?? null),
  ]),
  create_smart_contract_interface: factsFrom<
    { type: string; smartContractAddress: string; smartContractInterface: string },
    { smartContractInterfaceId: string }
  >(({ intent: { type, smartContractAddress: address, smartContractInterface: json }, result }) => [
    interfaceFact(result.smartContractInterfaceId, { type, lookup: normalizeAddress(address), json }),
  ]),

  ACTIVITY_TYPE_RECOVER_ROOT_QUORUM: factsFrom<RecoveryIntent, RecoveryResult>(
    ({ organizationId, intent: { apiPublicKey: publicKey }, result: { userId, rootQuorum } }) => [
      ...ofUser(organizationId, userId, { apiKeys: [{ publicKey }] }),
      rootQuorumFact(organizationId, rootQuorum),
    ],
  ),
  ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS: factsFrom<unknown, RemovedAllowlists>(({ organizationId, result }) =>
    result.removed.map(({ publicKey }) => goneOfFact(organizationId, "allowlist", publicKey ?? null)),
  ),
};
