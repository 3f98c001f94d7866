import { Type } from "typebox";
import { type Contact, type ContactType, contactOf } from "../../authority/state.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { lowestIdAt } from "../../kernel/ids.ts";
import { VERIFICATION_HEADER, type VerificationClaims } from "../../signer/statements.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { rootIdOf } from "../identity/organizations.ts";
import type { Organization } from "../operations.ts";
import { findRestoredSince } from "../restored.ts";
import { publishedPoints, type ServiceKeyKind, type ServiceSigner } from "./service-keys.ts";
import { claimsOf, openToken, openTokenWith, signToken } from "./signed-tokens.ts";

/** Verification tokens, which attest that a one-time code was entered, and the key that signs the targets to which clients encrypt codes. */

export type { VerificationClaims };

const Claims = Type.Object({
  id: Type.String(),
  verification_type: Type.String(),
  contact: Type.String(),
  organization_id: Type.String(),
  public_key: Type.Optional(Type.String()),
  exp: Type.String({ pattern: "^[0-9]{1,15}$" }),
});

/** In the form that the published `encryptOtpCodeToBundle` and `verifyOtpVerificationToken` take. */
export const otpKey: ServiceKeyKind = {
  purpose: "otp",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: 2 * DAY_MS,
  publish: (read, now) => publishedPoints(read, otpKey, now),
};

/** A token (ES256). The signature is over a single SHA-256, unlike that of a session token. */
export const signVerificationToken = (signer: ServiceSigner, claims: VerificationClaims): Promise<string> =>
  signToken(signer, otpKey, () => ({ says: "verification", claims }));

/** The claims of a token, without verifying its signature or expiry; undefined for other text. */
export const readVerificationToken = (token: string): VerificationClaims | undefined =>
  claimsOf(token, VERIFICATION_HEADER, Claims);

/** The claims of a token that this installation signed at any time, by a key that is or was published. */
export const openPastVerificationToken = (read: Reader, token: string): Promise<VerificationClaims | undefined> => {
  const kind = { ...otpKey, publishedAfterRetirementMs: Number.POSITIVE_INFINITY };
  return openToken(read, { kind, header: VERIFICATION_HEADER, claims: Claims }, token, 0);
};

/** Like `openPastVerificationToken`, with the given keys, compressed in hex. */
export const openVerificationTokenWith = (
  publicKeys: readonly string[],
  token: string,
): Promise<VerificationClaims | undefined> =>
  openTokenWith(publicKeys, { header: VERIFICATION_HEADER, claims: Claims }, token);

/**
 * The claims of a token that this installation signed and that has not expired; undefined for other text. A token from before a restore does not
 * count: whether it was used is lost.
 */
export async function openVerificationToken(
  read: Reader,
  token: string,
  now: number,
): Promise<VerificationClaims | undefined> {
  const said = await openToken(read, { kind: otpKey, header: VERIFICATION_HEADER, claims: Claims }, token, now);
  if (!said || Number(said.exp) <= now) return undefined;
  const restoredSince = await findRestoredSince(read);
  return restoredSince !== undefined && said.id < lowestIdAt(restoredSince) ? undefined : said;
}

/**
 * The claims of a token in a request, which must have been issued in the organization or in its parent.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID; `field` names the token's field
 */
export async function requireVerificationToken(
  read: Reader,
  verificationToken: string,
  { organization, field, now }: { organization: Pick<Organization, "id" | "parentId">; field: string; now: number },
): Promise<VerificationClaims> {
  const token = await openVerificationToken(read, verificationToken, now);
  if (!token)
    return fail("VERIFICATION_TOKEN_INVALID", {
      field,
      reason: "it was not issued here, has expired, or is from before this service was restored from a backup",
    });
  if (![organization.id, organization.parentId].includes(token.organization_id)) {
    fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was issued in another organization" });
  }
  return token;
}

/** The kind of contact to which codes of a type are sent. */
export const contactTypeOf = (otpType: string): ContactType =>
  otpType === "OTP_TYPE_EMAIL" ? "EMAIL" : "PHONE_NUMBER";

/** The contact that a token proves. */
export const contactOfToken = ({ verification_type, contact }: VerificationClaims): Contact =>
  contactOf(contactTypeOf(verification_type), contact);

/** The uses for which a token is valid once. For other uses it can be presented any number of times. */
type TokenUsage = "SIGNUP" | "LOGIN";

const selectUse = prepared<{ organizationId: string; id: string; usage: string }>()(
  (db, { organizationId, id, usage }) =>
    db
      .selectFrom("used_tokens")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .where("usage", "=", usage),
);

/**
 * Refuses a used token early, before work is done for it. `useToken` is what decides.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID
 */
export async function refuseUsedToken(
  read: Reader,
  organization: Pick<Organization, "id" | "parentId">,
  token: VerificationClaims,
  { usage, field }: { usage: TokenUsage; field: string },
): Promise<void> {
  const uses = await selectUse(read, { organizationId: rootIdOf(organization), id: token.id, usage });
  if (uses.length > 0) refuseUsed(field);
}

const refuseUsed = (field: string): never =>
  fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it has already been used" });

/**
 * Uses a token up for one purpose, for an organization and all that share its parent.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID if it was used for this already; `field` names the token's field
 */
export async function useToken(
  tx: Transactor,
  organization: Pick<Organization, "id" | "parentId">,
  token: VerificationClaims,
  { usage, field }: { usage: TokenUsage; field: string },
): Promise<void> {
  if (!(await noteUse(tx, organization, token, usage))) refuseUsed(field);
}

/** Like `useToken`, but resolves to false if the token was used for this already. */
export async function noteUse(
  tx: Transactor,
  organization: Pick<Organization, "id" | "parentId">,
  token: VerificationClaims,
  usage: TokenUsage,
): Promise<boolean> {
  const row = { organizationId: rootIdOf(organization), id: token.id, usage, expiresAt: Number(token.exp) };
  return (await insertUse(tx, row)).length > 0;
}

const insertUse = preparedWrite<{ organizationId: string; id: string; usage: string; expiresAt: number }>()(
  (db, { organizationId, id, usage, expiresAt }) =>
    db
      .insertInto("used_tokens")
      .values({ organization_id: organizationId, id, usage, expires_at: expiresAt })
      .onConflict((conflict) => conflict.columns(["organization_id", "id", "usage"]).doNothing())
      .returning("id"),
);
