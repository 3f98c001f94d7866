import { errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { Clock } from "../../kernel/clock.ts";
import { fail, failForNow } from "../../kernel/errors.ts";
import { ISSUER_FAILURE_PAUSE_MS, OIDC_CLOCK_SKEW_MS } from "../../kernel/limits.ts";
import { type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { createIssuers, type Issuers, type OwnIssuer } from "./issuers.ts";
import { readToken, signatureAlgorithms, type TokenClaims } from "./token.ts";

/** The claims of a verified token about a person. */
export interface OidcClaims {
  iss: string;
  sub: string;
  aud: string;
  email: string | undefined;
  /** Whether the issuer states that the address belongs to the person. */
  emailVerified: boolean;
  /** In milliseconds. */
  expiresAt: number;
}

export interface VerifyOptions {
  /** The token's field in the request, for errors. By default `oidcToken`. */
  field?: string;
  /** The nonce to which the token must be bound, from `nonceOfPublicKey`. If missing, it may be bound to anything. */
  expectedNonce?: string;
  /** The organization on whose behalf it is verified. Slow issuers of one organization do not delay others. */
  organizationId?: string;
}

export interface OidcVerifier {
  /**
   * Verifies an ID token with the current keys of its issuer.
   *
   * @throws KeysteadError OIDC_TOKEN_INVALID; transient if the issuer is unavailable
   */
  verify(token: string, options?: VerifyOptions): Promise<OidcClaims>;
}

export interface OidcVerifierOptions extends IssuerFetching {
  clock: Clock;
  own?: OwnIssuer;
}

export function createOidcVerifier(options: OidcVerifierOptions): OidcVerifier {
  const issuers = createIssuers(options);
  const { clock } = options;
  return {
    async verify(token, { field = "oidcToken", expectedNonce, organizationId = "" } = {}) {
      const refuse = (reason: string): never => fail("OIDC_TOKEN_INVALID", { field, reason });
      const { header, claims } = readToken(token, refuse);
      // Checked before the issuer is called: an expired token needs no keys.
      checkTimes(claims, clock(), refuse);
      const { resolve } = await keysOf(issuers, { ...claims, ...header }, organizationId, field);
      await verifySignature(token, resolve, clock(), refuse);
      if (expectedNonce !== undefined && !claims.nonces.includes(expectedNonce)) {
        refuse("is not bound to this public key: its `nonce` must be the SHA-256 of the key's hex");
      }
      const { iss, sub, aud, exp, email, emailVerified } = claims;
      return { iss, sub, aud, email, emailVerified, expiresAt: exp * 1000 };
    },
  };
}

function checkTimes({ exp, nbf, iat }: TokenClaims, now: number, refuse: (reason: string) => never): void {
  const early = now - OIDC_CLOCK_SKEW_MS;
  const late = now + OIDC_CLOCK_SKEW_MS;
  if (exp * 1000 <= early) refuse("has expired");
  if (nbf !== undefined && nbf * 1000 > late) refuse("is not valid yet");
  if (iat !== undefined && iat * 1000 > late) refuse("was issued in the future");
}

async function keysOf(
  issuers: Issuers,
  { iss, kid }: { iss: string; kid: string | undefined },
  organizationId: string,
  field: string,
) {
  try {
    return await issuers.keysFor(iss, kid, organizationId);
  } catch (error) {
    if (!(error instanceof IssuerProblem)) throw error;
    const facts = { field, reason: error.message };
    if (!error.mayPass) return fail("OIDC_TOKEN_INVALID", facts);
    return failForNow("OIDC_TOKEN_INVALID", facts, ISSUER_FAILURE_PAUSE_MS / 1000);
  }
}

async function verifySignature(
  token: string,
  keys: JWTVerifyGetKey,
  now: number,
  refuse: (reason: string) => never,
): Promise<void> {
  try {
    const currentDate = new Date(now);
    const clockTolerance = OIDC_CLOCK_SKEW_MS / 1000;
    await jwtVerify(token, keys, { algorithms: signatureAlgorithms, currentDate, clockTolerance });
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) refuse("is signed with a key that its issuer does not publish");
    if (error instanceof errors.JWKSMultipleMatchingKeys)
      refuse("must say which of its issuer's keys it is signed with");
    if (error instanceof errors.JWTExpired) refuse("has expired");
    if (error instanceof errors.JOSEError) refuse("does not have a signature by its issuer");
    // A key that an issuer publishes may not be a point on its curve.
    if (error instanceof DOMException || error instanceof TypeError) refuse("is signed with a key that cannot be used");
    throw error;
  }
}
