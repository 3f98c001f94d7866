import { hash } from "node:crypto";
import type { ContactType, MethodGroup } from "../../../authority/state.ts";
import { formatCidr, parseCidr } from "../../../kernel/ip-address.ts";

/**
 * Facts: what activities contain and rows claim, in the same form. A fact begins with its kind and identifies its subject, so that values of
 * different things cannot be confused.
 */

export type Fact = readonly (string | number | boolean | null)[];

/** A short name of a fact, however long the expressions in it are. */
export const nameOf = (fact: Fact): string => hash("sha256", JSON.stringify(fact), "base64").slice(0, 22);

/** What a user who accepts an invitation is created from, besides their own request. */
export interface KnownInvitation {
  email: string;
  tagIds: readonly string[];
}

export const organizationFact = (id: string, parentId: string): Fact => ["organization", id, parentId];
export const userFact = (organizationId: string, id: string): Fact => ["user", organizationId, id];
export const contactFact = (userId: string, type: ContactType, text: string): Fact => ["contact", userId, type, text];
export const verifiedFact = (userId: string, type: ContactType, contact: string): Fact => [
  "verified",
  userId,
  type,
  contact,
];
export const rootQuorumFact = (
  organizationId: string,
  { threshold, userIds }: { threshold: number; userIds: readonly string[] },
): Fact => ["root quorum", organizationId, threshold, ...[...userIds].sort()];
export const featureFact = (organizationId: string, name: string, value: string | null): Fact => [
  "feature",
  organizationId,
  name,
  value,
];

/** The id of a credential, if the activity's result has it; those created with a user are not in the result. */
type KnownId = string | null;

/** A key that was in a request; `seconds` is its life, null if it never expires. */
export const apiKeyFact = (
  userId: string,
  id: KnownId,
  { type, publicKey, seconds }: { type: string; publicKey: string; seconds: number | null },
): Fact => ["API key", userId, id, type, publicKey, seconds];
/** The key of a login. It expires at a whole second, as in its token. */
export const loginFact = (userId: string, publicKey: string, endsAt: number, profileId: string | null): Fact => [
  "login",
  userId,
  publicKey,
  endsAt,
  profileId,
];
/** A key that the signer generated; no activity contains its public key. */
export const issuedKeyFact = (userId: string, type: string, id: string, seconds: number | null): Fact => [
  "issued key",
  userId,
  type,
  id,
  seconds,
];
/** A key that the signer generated for a recovery mail; no activity contains its id either. */
export const recoveryKeyFact = (userId: string, at: number, seconds: number | null): Fact => [
  "recovery key",
  userId,
  at,
  seconds,
];
export const proxyKeyFact = (userId: string): Fact => ["auth proxy's key", userId];
/** The policy created with an auth proxy, which names its user; no activity contains the policy's id. */
export const proxyPolicyFact = (organizationId: string, at: number, userId: string | null): Fact => [
  "auth proxy's policy",
  organizationId,
  at,
  userId,
];
export const passkeyFact = (
  userId: string,
  id: KnownId,
  { credentialId, publicKey }: { credentialId: string; publicKey: Uint8Array },
): Fact => ["passkey", userId, id, credentialId, Buffer.from(publicKey).toString("base64")];
export const providerFact = (
  userId: string,
  id: KnownId,
  { iss, sub, aud }: { iss: unknown; sub: unknown; aud: unknown },
): Fact => ["OAuth provider", userId, id, String(iss), String(sub), String(Array.isArray(aud) ? aud[0] : aud)];
export const tagFact = (tagId: string, memberId: string): Fact => ["tag", tagId, memberId];
/** A tag that a sub-organization is created with; no activity contains its id. */
export const firstTagFact = (organizationId: string, userId: string): Fact => ["first tag", organizationId, userId];
export const policyFact = (
  organizationId: string,
  id: string,
  part: "effect" | "condition" | "consensus" | "time",
  value: string,
): Fact => ["policy", organizationId, id, part, value];
export const mfaPolicyFact = (
  { organizationId, id, userId }: { organizationId: string; id: string; userId: string },
  part: "condition" | "methods" | "order",
  value: string | number,
): Fact => ["MFA policy", organizationId, id, userId, part, value];
export const methodsText = (methods: readonly MethodGroup[]): string =>
  JSON.stringify(methods.map(({ any }) => any.map(({ type, id }) => [type, id ?? null])));
export const sessionProfileFact = (id: string, scope: string, seconds: number | null): Fact => [
  "session profile",
  id,
  scope,
  seconds,
];
export const allowlistFact = (
  organizationId: string,
  publicKey: string | undefined,
  { enabled, onEvaluationError, cidrs }: { enabled: boolean; onEvaluationError: string; cidrs: readonly string[] },
): Fact => [
  "allowlist",
  organizationId,
  publicKey?.toLowerCase() ?? null,
  enabled,
  onEvaluationError,
  ...[...new Set(cidrs.map(spelled))].sort(),
];
export const invitationFact = (id: string | undefined, { email, tagIds }: KnownInvitation): Fact => [
  "invitation",
  id ?? "",
  email,
  ...[...new Set(tagIds)].sort(),
];
export const interfaceFact = (
  id: string,
  { type, lookup, json }: { type: string; lookup: string; json: string },
): Fact => ["interface", id, type, lookup, json];

/** Something with an id was removed. */
export const goneFact = (id: string): Fact => ["gone", id];
/** Something without an id was removed: a feature or an allowlist of an organization. */
export const goneOfFact = (organizationId: string, kind: "feature" | "allowlist", name: string | null): Fact => [
  "gone",
  organizationId,
  kind,
  name,
];

const spelled = (text: string): string => {
  const cidr = parseCidr(text);
  return "problem" in cidr ? text : formatCidr(cidr);
};
