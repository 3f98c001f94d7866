import { MINUTE_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_AUTHENTICATORS_PER_USER,
  MAX_EXPIRING_API_KEYS_PER_USER,
  MAX_LASTING_API_KEYS_PER_USER,
  MAX_OAUTH_PROVIDERS_PER_USER,
} from "../../kernel/limits.ts";
import { refuseExcess } from "../quotas.ts";
import { type ApiKey, type Authenticator, type OauthProvider, providerAt } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";

/** The rules for adding credentials to a user. */

export type NewApiKey = Omit<ApiKey, "createdAt">;
export type NewAuthenticator = Omit<Authenticator, "createdAt">;
export type NewOauthProvider = Omit<OauthProvider, "createdAt"> & {
  /** The person's email address, if a token says that it is verified and the organization trusts the issuer on that. Not stored. */
  verifiedEmail?: string | undefined;
  /** Whether the token's audience is an app of the organization or its parent. Not stored. */
  isOwnApp?: boolean;
};

/** The name of a list's field in the request, or a function that names the field of the item at a position. */
type FieldOf = string | ((index: number) => string);
const placeOf = (field: FieldOf, index: number): string =>
  typeof field === "string" ? `${field}.${index}` : field(index);

/**
 * Adds API keys. If there are too many expiring ones, expired ones are removed first and then the oldest; votes made with them keep counting.
 *
 * @throws KeysteadError RESOURCE_EXISTS or USER_QUOTA_EXCEEDED; `field` names the field in the request
 */
export function addApiKeys(
  draft: Draft,
  userId: string,
  apiKeys: readonly NewApiKey[],
  now: number,
  field: FieldOf,
): void {
  if (apiKeys.length === 0) return;
  const holders = draft.parts(
    "apiKeyId",
    apiKeys.map(({ publicKey }) => publicKey),
  );
  const known = holders.findIndex((holder) => holder !== undefined);
  if (known >= 0) {
    const reason = "already belongs to an API key of this organization";
    fail("RESOURCE_EXISTS", { kind: "API key", field: `${placeOf(field, known)}.publicKey`, reason });
  }
  draft.apply({ do: "addApiKeys", userId, apiKeys: apiKeys.map((key) => ({ ...key, createdAt: now })), now });
  const all = draft.part("apiKeys", userId);
  refuseExcess(all.filter(isLasting).length, {
    kind: "long-lived api keys",
    limit: MAX_LASTING_API_KEYS_PER_USER,
    perUser: true,
  });
  const expiring = all.filter((key) => !isLasting(key));
  const byUse = RANKS.flatMap((rank) => expiring.filter((key) => rankOf(key, now) === rank));
  const pushedOut = byUse.slice(0, Math.max(0, expiring.length - MAX_EXPIRING_API_KEYS_PER_USER));
  if (pushedOut.length > 0) draft.apply({ do: "removeApiKeys", userId, apiKeys: pushedOut, revokesVotes: false, now });
}

/** More than the clocks of several servers differ. A key created further in the future is from a clock that was set back since. */
const LONGEST_AHEAD_MS = MINUTE_MS;

const RANKS = ["expired", "made by a clock that was ahead", "other"] as const;

/** Which expiring keys are removed first. By time alone, keys from a clock that was ahead would count as the newest until that time comes. */
function rankOf(key: ApiKey, now: number): (typeof RANKS)[number] {
  if (hasExpired(key, now)) return "expired";
  return key.createdAt > now + LONGEST_AHEAD_MS ? "made by a clock that was ahead" : "other";
}

/** Whether an API key never expires. */
export const isLasting = ({ expirationSeconds }: Pick<ApiKey, "expirationSeconds">): boolean =>
  expirationSeconds === null;

/** When an API key expires, in milliseconds; null if it never does. */
export const expiryOf = ({ createdAt, expirationSeconds }: ApiKey): number | null =>
  expirationSeconds === null ? null : createdAt + expirationSeconds * 1000;

/** Whether a time of expiry, in milliseconds, is over; null never expires. The one rule for all credentials. */
export const isOver = (expiresAt: number | null, now: number): boolean => expiresAt !== null && expiresAt <= now;

export const hasExpired = (key: ApiKey, now: number): boolean => isOver(expiryOf(key), now);

/** The credentials by which a user signs requests themselves. */
interface OwnCredentials {
  apiKeys: readonly Pick<ApiKey, "expirationSeconds">[];
  authenticators: readonly unknown[];
}

/** Whether one of these credentials is lasting: a passkey, or an API key without expiry. */
export const includesLasting = ({ apiKeys, authenticators }: OwnCredentials): boolean =>
  authenticators.length > 0 || apiKeys.some(isLasting);

/** Whether a user has a lasting credential. OAuth providers do not count, because they depend on the issuer and on somebody who submits its token. */
export const hasLastingCredential = (view: AuthorityView, userId: string): boolean =>
  includesLasting({ apiKeys: view.part("apiKeys", userId), authenticators: view.part("authenticators", userId) });

/** Whether a user can sign any request themselves. A key that this server keeps does not count: the server stamps only certain requests with it. */
export const canSignByThemselves = (view: AuthorityView, userId: string): boolean =>
  includesLasting({
    apiKeys: view.part("apiKeys", userId).filter(({ grade }) => grade !== "server"),
    authenticators: view.part("authenticators", userId),
  });

/** @throws KeysteadError RESOURCE_EXISTS or USER_QUOTA_EXCEEDED; `field` names the field in the request */
export function addAuthenticators(
  draft: Draft,
  userId: string,
  authenticators: readonly NewAuthenticator[],
  now: number,
  field: FieldOf,
): void {
  if (authenticators.length === 0) return;
  const ids = authenticators.map(({ credentialId }) => credentialId);
  const holders = draft.parts("authenticatorId", ids);
  const known = ids.findIndex((id, index) => holders[index] !== undefined || ids.indexOf(id) < index);
  if (known >= 0) {
    const reason = "already belongs to an authenticator of this organization";
    fail("RESOURCE_EXISTS", {
      kind: "authenticator",
      field: `${placeOf(field, known)}.attestation.credentialId`,
      reason,
    });
  }
  const added = authenticators.map((authenticator) => ({ ...authenticator, createdAt: now }));
  draft.apply({ do: "addAuthenticators", userId, authenticators: added, now });
  const count = draft.part("authenticators", userId).length;
  refuseExcess(count, { kind: "authenticators", limit: MAX_AUTHENTICATORS_PER_USER, perUser: true });
}

/** An OAuth provider as a request claims it: an issuer and a subject. */
export interface ClaimedProvider {
  issuer: string;
  subject: string;
  /** Whether the request has a verified token of this issuer for this subject. */
  isProven: boolean;
  /** The audiences that count as proof; any if undefined. */
  provenBy?: readonly string[] | undefined;
}

/**
 * Refuses claims without proof, which would let anybody they name sign in as the user. Proof is a token, or one of the user's `stored`
 * providers with the same issuer and subject.
 *
 * @throws KeysteadError FIELD_INVALID; `field` names the claims' field in the request
 */
export function refuseUnproven(
  claims: readonly ClaimedProvider[],
  stored: readonly Pick<OauthProvider, "issuer" | "subject" | "audience">[],
  field: string,
): void {
  const unproven = claims.findIndex(
    ({ isProven, issuer, subject, provenBy }) =>
      !isProven &&
      !stored.some(
        (known) => known.issuer === issuer && known.subject === subject && (provenBy?.includes(known.audience) ?? true),
      ),
  );
  if (unproven < 0) return;
  const where = claims[unproven]?.provenBy ? ", for one of the apps that the organization or its parent has set" : "";
  const reason = `needs proof: an \`oidcToken\` with the same \`iss\` and \`sub\` in the same list, or a provider with these that the user already has${where}`;
  fail("FIELD_INVALID", { field: `${field}.${unproven}.oidcClaims`, reason });
}

/** @throws KeysteadError USER_QUOTA_EXCEEDED */
export const refuseTooManyProviders = (count: number): void =>
  refuseExcess(count, { kind: "OAuth providers", limit: MAX_OAUTH_PROVIDERS_PER_USER, perUser: true });

/** @throws KeysteadError OAUTH_PROVIDER_EXISTS or USER_QUOTA_EXCEEDED; `field` names the providers' field in the request */
export function addOauthProviders(
  draft: Draft,
  userId: string,
  providers: readonly NewOauthProvider[],
  now: number,
  field: string,
): void {
  if (providers.length === 0) return;
  const places = providers.map(providerAt);
  const holders = draft.parts("oauthProviderId", places);
  const known = places.findIndex((at, index) => holders[index] !== undefined || places.indexOf(at) < index);
  const added = providers.map(({ verifiedEmail: _, isOwnApp: __, ...provider }) => ({ ...provider, createdAt: now }));
  refuseTooManyProviders(draft.part("oauthProviders", userId).length + added.length);
  if (known >= 0) {
    const reason = "names an issuer, subject and audience that already belong to a user of this organization";
    fail("OAUTH_PROVIDER_EXISTS", { field: `${field}.${known}`, reason });
  }
  draft.apply({ do: "addOauthProviders", userId, oauthProviders: added, now });
}
