import { errors, jwtVerify } from "jose";
import type { Clock } from "../../kernel/clock.ts";
import { fail, failForNow } from "../../kernel/errors.ts";
import { ISSUER_FAILURE_PAUSE_MS, OIDC_CLOCK_SKEW_MS } from "../../kernel/limits.ts";
import { type IssuerFetching, IssuerProblem } from "./issuer-document.ts";
import { createIssuers, type Issuers, type OwnIssuer } from "./issuers.ts";
import type { KeySet } from "./key-set.ts";
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
      const keysOtherThan = (tried: KeySet | undefined) =>
        keysOf(issuers, { ...claims, ...header, tried }, organizationId, field);
      const keys = await keysOtherThan(undefined);
      let refusal = await refusalOf(token, keys, clock());
      if (refusal?.isOfItsKey) {
        // The issuer may have reused the name of its previous key for its new one.
        const newer = await keysOtherThan(keys);
        if (newer !== keys) refusal = await refusalOf(token, newer, clock());
      }
      if (refusal) refuse(refusal.reason);
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
  { iss, kid, tried }: { iss: string; kid: string | undefined; tried: KeySet | undefined },
  organizationId: string,
  field: string,
): Promise<KeySet> {
  try {
    return await issuers.keysFor({ issuer: iss, kid, organizationId, tried });
  } catch (error) {
    if (!(error instanceof IssuerProblem)) throw error;
    const facts = { field, reason: error.message };
    if (!error.mayPass) return fail("OIDC_TOKEN_INVALID", facts);
    return failForNow("OIDC_TOKEN_INVALID", facts, ISSUER_FAILURE_PAUSE_MS / 1000);
  }
}

/** Why these keys do not verify a token, and whether others might. */
interface Refusal {
  reason: string;
  isOfItsKey: boolean;
}

async function refusalOf(token: string, { resolve }: KeySet, now: number): Promise<Refusal | undefined> {
  try {
    const currentDate = new Date(now);
    const clockTolerance = OIDC_CLOCK_SKEW_MS / 1000;
    await jwtVerify(token, resolve, { algorithms: signatureAlgorithms, currentDate, clockTolerance });
    return undefined;
  } catch (error) {
    const isOfItsKey =
      error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
    return { reason: reasonOf(error), isOfItsKey };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWKSNoMatchingKey) return "is signed with a key that its issuer does not publish";
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "must say which of its issuer's keys it is signed with";
  if (error instanceof errors.JWTExpired) return "has expired";
  if (error instanceof errors.JOSEError) return "does not have a signature by its issuer";
  // A key that an issuer publishes may not be a point on its curve.
  if (error instanceof DOMException || error instanceof TypeError) return "is signed with a key that cannot be used";
  throw error;
}
