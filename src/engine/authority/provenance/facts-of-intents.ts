import { type DisabledFeatures, disabledFeatures, featuresAtFirst } from "../../../authority/rules/features.ts";
import { sessionSeconds } from "../../../authority/rules/sessions.ts";
import { contactOf, type MethodGroup } from "../../../authority/state.ts";
import { readRegistration } from "../../../crypto/webauthn-attestation.ts";
import { contactTypeOf } from "../../keys/verification-tokens.ts";
import {
  apiKeyFact,
  contactFact,
  type Fact,
  featureFact,
  firstTagFact,
  issuedKeyFact,
  type KnownInvitation,
  loginFact,
  methodsText,
  mfaPolicyFact,
  organizationFact,
  passkeyFact,
  policyFact,
  providerFact,
  rootQuorumFact,
  tagFact,
  userFact,
  verifiedFact,
} from "./facts.ts";

/** The facts in parts of intents that several operations share: users, credentials, policies. */

/** A completed activity, from which facts are derived. */
export interface CompletedActivity<Intent = unknown, Result = unknown> {
  organizationId: string;
  /** Upgraded to the newest version. */
  intent: Intent;
  /** In the form of its own version. */
  result: Result;
  /** When it was completed, in milliseconds. The rows that it created have the same time. */
  at: number;
  invitation: (id: string) => KnownInvitation | undefined;
}

interface ApiKeyIntent {
  publicKey: string;
  curveType?: string;
  expirationSeconds?: string;
}

export interface PasskeyIntent {
  attestation: { attestationObject: string };
}

export interface CredentialsIntent {
  apiKeys?: readonly ApiKeyIntent[];
  authenticators?: readonly PasskeyIntent[];
  oauthProviders?: readonly { oidcToken?: string; oidcClaims?: { iss: string; sub: string; aud: string } }[];
}

export interface UserIntent extends CredentialsIntent {
  userEmail?: string;
  userPhoneNumber?: string;
  userTags?: readonly string[];
}

export interface PolicyIntent {
  effect: string;
  condition?: string;
  consensus?: string;
  time?: string;
}

export interface MfaPolicyIntent {
  userId: string;
  mfaPolicyId?: string;
  condition?: string;
  requiredAuthenticationMethods?: readonly MethodGroup[];
  order?: number;
}

export interface SubOrganizationIntent extends DisabledFeatures {
  rootUsers: readonly UserIntent[];
  rootQuorumThreshold: number;
  userTag?: string;
  verificationToken?: string;
}

export const secondsOf = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
export const secondsOfSession = ({ expirationSeconds }: { expirationSeconds?: string }): number =>
  sessionSeconds(secondsOf(expirationSeconds) ?? undefined);

export function ofUser(organizationId: string, id: string | undefined, user: UserIntent): Fact[] {
  if (id === undefined) return [];
  return [userFact(organizationId, id), ...ofContactsAndTags(id, user), ...ofCredentials(id, user)];
}

export function ofContactsAndTags(
  userId: string,
  {
    userEmail,
    userPhoneNumber,
    userTags = [],
  }: Pick<UserIntent, "userEmail" | "userPhoneNumber"> & {
    userTags?: readonly string[] | undefined;
  },
): Fact[] {
  return [
    ...(userEmail ? [contactFact(userId, "EMAIL", userEmail)] : []),
    ...(userPhoneNumber ? [contactFact(userId, "PHONE_NUMBER", userPhoneNumber)] : []),
    ...userTags.map((tagId) => tagFact(tagId, userId)),
  ];
}

/** `ids` are the ids of the credentials, if the result has them; all credentials are of one kind then. */
export function ofCredentials(
  userId: string,
  { apiKeys = [], authenticators = [], oauthProviders = [] }: CredentialsIntent,
  ids: readonly string[] = [],
): Fact[] {
  const idOf = (index: number): string | null => ids[index] ?? null;
  return [
    ...apiKeys.map(({ publicKey, curveType = "API_KEY_CURVE_P256", expirationSeconds }, index) => {
      const type = curveType.replace("API_KEY_CURVE_", "CREDENTIAL_TYPE_API_KEY_");
      const key = { type, publicKey: publicKey.toLowerCase(), seconds: secondsOf(expirationSeconds) };
      return apiKeyFact(userId, idOf(index), key);
    }),
    ...authenticators.flatMap(({ attestation }, index) => {
      const passkey = readRegistration(attestation);
      return passkey ? [passkeyFact(userId, idOf(index), passkey)] : [];
    }),
    ...oauthProviders.flatMap(({ oidcToken, oidcClaims }, index) => {
      const token = claimsIn(oidcToken);
      const { iss, sub, aud } = oidcClaims ?? token;
      return [providerFact(userId, idOf(index), { iss, sub, aud }), ...ofIssuersWord(userId, token)];
    }),
  ];
}

/** An issuer's claim of an address verifies it, if the user has that address. */
const ofIssuersWord = (userId: string, { email }: Claims): Fact[] =>
  typeof email === "string" ? [verifiedFact(userId, "EMAIL", email.toLowerCase())] : [];

export function ofSubOrganization({
  organizationId,
  intent,
  result: { subOrganizationId: id, rootUserIds: userIds },
}: CompletedActivity<SubOrganizationIntent, { subOrganizationId: string; rootUserIds: string[] }>): Fact[] {
  const { rootUsers, rootQuorumThreshold: threshold, userTag, verificationToken } = intent;
  const without = disabledFeatures(intent);
  return [
    organizationFact(id, organizationId),
    rootQuorumFact(id, { threshold, userIds }),
    ...rootUsers.flatMap((user, index) => ofUser(id, userIds[index], user)),
    ...featuresAtFirst(organizationId)
      .filter((name) => !without.includes(name))
      .map((name) => featureFact(id, name, null)),
    ...(userTag === undefined ? [] : userIds.map((userId) => firstTagFact(id, userId))),
    ...ofVerification(verificationToken, userIds),
  ];
}

export function ofVerification(token: string | undefined, userIds: readonly string[]): Fact[] {
  const { verification_type: type, contact: text } = claimsIn(token);
  if (typeof type !== "string" || typeof text !== "string") return [];
  const contact = contactOf(contactTypeOf(type), text);
  return userIds.map((userId) => verifiedFact(userId, contact.type, contact.value));
}

export function ofLogin({ result }: CompletedActivity<unknown, { session: string }>): Fact[] {
  const { user_id: userId, public_key: publicKey, exp, session_profile_id: profileId } = claimsIn(result.session);
  if (typeof userId !== "string" || typeof publicKey !== "string" || typeof exp !== "number") return [];
  return [loginFact(userId, publicKey.toLowerCase(), exp, typeof profileId === "string" ? profileId : null)];
}

export function ofIssuedKey(type: string) {
  return ({
    intent,
    result: { userId, apiKeyId },
  }: CompletedActivity<{ expirationSeconds?: string }, { userId: string; apiKeyId?: string }>): Fact[] =>
    apiKeyId === undefined ? [] : [issuedKeyFact(userId, type, apiKeyId, secondsOfSession(intent))];
}

export function ofNewPolicy(
  organizationId: string,
  id: string | undefined,
  { effect, condition = "", consensus = "", time = "" }: PolicyIntent,
): Fact[] {
  if (id === undefined) return [];
  return [
    policyFact(organizationId, id, "effect", effect),
    policyFact(organizationId, id, "condition", condition),
    policyFact(organizationId, id, "consensus", consensus),
    policyFact(organizationId, id, "time", time),
  ];
}

export function ofMfaPolicy(
  organizationId: string,
  { userId, mfaPolicyId: id = "", condition, requiredAuthenticationMethods: methods, order }: MfaPolicyIntent,
): Fact[] {
  const policy = { organizationId, id, userId };
  return [
    ...(condition === undefined ? [] : [mfaPolicyFact(policy, "condition", condition)]),
    ...(methods === undefined ? [] : [mfaPolicyFact(policy, "methods", methodsText(methods))]),
    ...(order === undefined ? [] : [mfaPolicyFact(policy, "order", order)]),
  ];
}

type Claims = Record<string, unknown>;

/** The claims of a token. Its signature was verified before the activity was carried out. */
function claimsIn(token: string | undefined): Claims {
  const payload = token?.split(".")[1];
  if (payload === undefined) return {};
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
  } catch {
    return {};
  }
}
