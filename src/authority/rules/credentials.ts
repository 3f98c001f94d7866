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

/** The credentials of one user, added under the rules that hold for all of them. */

export type NewApiKey = Omit<ApiKey, "createdAt">;
export type NewAuthenticator = Omit<Authenticator, "createdAt">;
export type NewOauthProvider = Omit<OauthProvider, "createdAt"> & {
  /** The person's address, where a token says that it is verified and its word counts in the organization. It is not kept. */
  verifiedEmail?: string | undefined;
  /** Whether its audience is an app of the organization's own, or of its parent. It is not kept. */
  isOwnApp?: boolean;
};

/** Where a list stands in the request, or what says so of the one at a position. */
type FieldOf = string | ((index: number) => string);
const placeOf = (field: FieldOf, index: number): string =>
  typeof field === "string" ? `${field}.${index}` : field(index);

/**
 * Adds API keys; expiring ones beyond the limit push out the expired and then the oldest, whose votes stand.
 *
 * @throws KeysteadError RESOURCE_EXISTS or USER_QUOTA_EXCEEDED; `field` is where the keys stand in the request, or says so of the one
 * at a position
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
    const reason = "belongs to an API key of this organization already";
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
  if (pushedOut.length > 0)
    draft.apply({ do: "removeApiKeys", userId, apiKeys: pushedOut, takesVotesBack: false, now });
}

/** Beyond what clocks of several servers are apart: what was made so much later than now was made by a clock that has been set back since. */
const LONGEST_AHEAD_MS = MINUTE_MS;

const RANKS = ["expired", "made by a clock that was ahead", "other"] as const;

/** Which expiring keys go first. By their times, those of a clock that was ahead would be the newest until it is that late again. */
function rankOf(key: ApiKey, now: number): (typeof RANKS)[number] {
  if (hasExpired(key, now)) return "expired";
  return key.createdAt > now + LONGEST_AHEAD_MS ? "made by a clock that was ahead" : "other";
}

/** Whether an API key is good until it is deleted. */
export const isLasting = ({ expirationSeconds }: Pick<ApiKey, "expirationSeconds">): boolean =>
  expirationSeconds === null;

/** When an API key expires, in milliseconds; null for one that lasts. */
export const expiryOf = ({ createdAt, expirationSeconds }: ApiKey): number | null =>
  expirationSeconds === null ? null : createdAt + expirationSeconds * 1000;

/** Whether what is good until a time, in milliseconds, is good no longer; null is what lasts. The one rule for all credentials. */
export const isOver = (expiresAt: number | null, now: number): boolean => expiresAt !== null && expiresAt <= now;

export const hasExpired = (key: ApiKey, now: number): boolean => isOver(expiryOf(key), now);

/** What a user signs with by themselves for as long as they have it. */
interface OwnCredentials {
  apiKeys: readonly Pick<ApiKey, "expirationSeconds">[];
  authenticators: readonly unknown[];
}

/** Whether a credential among these lasts that its user signs with by themselves: a passkey, or an API key without expiry. */
export const includesLasting = ({ apiKeys, authenticators }: OwnCredentials): boolean =>
  authenticators.length > 0 || apiKeys.some(isLasting);

/** The same of those that a user holds. An OAuth provider is none: it takes the issuer, and somebody who brings its token. */
export const hasLastingCredential = (view: AuthorityView, userId: string): boolean =>
  includesLasting({ apiKeys: view.part("apiKeys", userId), authenticators: view.part("authenticators", userId) });

/** Whether a user can sign whatever they are asked for: a key that this server keeps stamps what it was made for, and nothing else. */
export const canSignByThemselves = (view: AuthorityView, userId: string): boolean =>
  includesLasting({
    apiKeys: view.part("apiKeys", userId).filter(({ grade }) => grade !== "server"),
    authenticators: view.part("authenticators", userId),
  });

/**
 * @throws KeysteadError RESOURCE_EXISTS or USER_QUOTA_EXCEEDED; `field` is where the passkeys stand in the request, or says so of
 * the one at a position
 */
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
    const reason = "belongs to an authenticator of this organization already";
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

/** Somebody at an issuer, as a request claims. */
export interface ClaimedProvider {
  issuer: string;
  subject: string;
  /** Whether a verified token of this issuer for this subject came along. */
  isProven: boolean;
  /** The audiences that alone count as proof; undefined for any. */
  provenBy?: readonly string[] | undefined;
}

/**
 * Claims alone would give a user to whomever they name. A provider of the same issuer and subject that the user has, of
 * `stored`, proves them as well as a token does.
 *
 * @throws KeysteadError FIELD_INVALID; `field` is where the claims stand in the request
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
  const reason = `needs proof: an \`oidcToken\` with the same \`iss\` and \`sub\` in the same list, or a provider with these that the user has${where}`;
  fail("FIELD_INVALID", { field: `${field}.${unproven}.oidcClaims`, reason });
}

/** @throws KeysteadError OAUTH_PROVIDER_EXISTS or USER_QUOTA_EXCEEDED; `field` is where the providers stand in the request */
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
  const count = draft.part("oauthProviders", userId).length + added.length;
  refuseExcess(count, { kind: "OAuth providers", limit: MAX_OAUTH_PROVIDERS_PER_USER, perUser: true });
  if (known >= 0) {
    const reason = "names an issuer, subject and audience that belong to a user of this organization already";
    fail("OAUTH_PROVIDER_EXISTS", { field: `${field}.${known}`, reason });
  }
  draft.apply({ do: "addOauthProviders", userId, oauthProviders: added, now });
}
