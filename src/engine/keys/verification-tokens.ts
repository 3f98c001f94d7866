import { Type } from "typebox";
import { type Contact, type ContactType, contactOf } from "../../authority/state.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { VERIFICATION_HEADER, type VerificationClaims } from "../../signer/statements.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { rootIdOf } from "../identity/organizations.ts";
import type { Organization } from "../operations.ts";
import { publishedPoints, type ServiceKeyKind, type ServiceSigner } from "./service-keys.ts";
import { claimsOf, openToken, openTokenWith, signToken } from "./signed-tokens.ts";

/** Tokens that say that somebody has shown a one-time code, and the key that vouches for what clients encrypt codes to. */

export type { VerificationClaims };

const Claims = Type.Object({
  id: Type.String(),
  verification_type: Type.String(),
  contact: Type.String(),
  organization_id: Type.String(),
  public_key: Type.Optional(Type.String()),
  exp: Type.String({ pattern: "^[0-9]{1,15}$" }),
});

/** As the published `encryptOtpCodeToBundle` and `verifyOtpVerificationToken` take it. */
export const otpKey: ServiceKeyKind = {
  purpose: "otp",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: 2 * DAY_MS,
  publish: (read, now) => publishedPoints(read, otpKey, now),
};

/** A token (ES256); the signature is over SHA-256 once, other than that of a session. */
export const signVerificationToken = (signer: ServiceSigner, claims: VerificationClaims): Promise<string> =>
  signToken(signer, otpKey, () => ({ says: "verification", claims }));

/** What a token says, whoever signed it and when; undefined for any other text. */
export const readVerificationToken = (token: string): VerificationClaims | undefined =>
  claimsOf(token, VERIFICATION_HEADER, Claims);

/** What a token says that was signed here at any time, by a key that is published or by one that was. */
export const openPastVerificationToken = (read: Reader, token: string): Promise<VerificationClaims | undefined> => {
  const kind = { ...otpKey, publishedAfterRetirementMs: Number.POSITIVE_INFINITY };
  return openToken(read, { kind, header: VERIFICATION_HEADER, claims: Claims }, token, 0);
};

/** The same with keys that are known, compressed in hex. */
export const openVerificationTokenWith = (
  publicKeys: readonly string[],
  token: string,
): Promise<VerificationClaims | undefined> =>
  openTokenWith(publicKeys, { header: VERIFICATION_HEADER, claims: Claims }, token);

/** What a token says that was signed here and has not expired; undefined for any other text. */
export async function openVerificationToken(
  read: Reader,
  token: string,
  now: number,
): Promise<VerificationClaims | undefined> {
  const said = await openToken(read, { kind: otpKey, header: VERIFICATION_HEADER, claims: Claims }, token, now);
  return said && Number(said.exp) > now ? said : undefined;
}

/**
 * The same of a token in a request, which must have been issued in the organization or in its parent.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID; `field` is where the token stands
 */
export async function requireVerificationToken(
  read: Reader,
  verificationToken: string,
  { organization, field, now }: { organization: Pick<Organization, "id" | "parentId">; field: string; now: number },
): Promise<VerificationClaims> {
  const token = await openVerificationToken(read, verificationToken, now);
  if (!token) return fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was not issued here, or has expired" });
  if (![organization.id, organization.parentId].includes(token.organization_id)) {
    fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was issued in another organization" });
  }
  return token;
}

/** What kind of contact codes of a type are sent to. */
export const contactTypeOf = (otpType: string): ContactType =>
  otpType === "OTP_TYPE_EMAIL" ? "EMAIL" : "PHONE_NUMBER";

/** The contact that a token proves. */
export const contactOfToken = ({ verification_type, contact }: VerificationClaims): Contact =>
  contactOf(contactTypeOf(verification_type), contact);

/** What a token serves for once; for whatever else it serves as often as it is brought. */
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
 * Whether a token would still serve, before work is done for it; `useToken` decides.
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
  fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it was used already" });

/**
 * Uses a token up for one purpose, for an organization and all that are below the same parent.
 *
 * @throws KeysteadError VERIFICATION_TOKEN_INVALID for one that has served for this already; `field` is where the token stands
 */
export async function useToken(
  tx: Transactor,
  organization: Pick<Organization, "id" | "parentId">,
  token: VerificationClaims,
  { usage, field }: { usage: TokenUsage; field: string },
): Promise<void> {
  if (!(await noteUse(tx, organization, token, usage))) refuseUsed(field);
}

/** The same; false where it has served for this already. */
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
