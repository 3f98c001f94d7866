import { parseJsonObject } from "../../crypto/json-object.ts";
import { MAX_OIDC_CLAIM_LENGTH, MAX_OIDC_TOKEN_LENGTH } from "../../kernel/limits.ts";

/** Parses a token before it is verified. */

/** Throws the caller's error with this reason. */
type Refuse = (reason: string) => never;

/** The allowed signature algorithms: those with a public key, never `none` or one with a shared secret. */
export const signatureAlgorithms = [
  ...["RS256", "RS384", "RS512"],
  ...["PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512"],
  "EdDSA",
];

export interface TokenHeader {
  alg: string;
  kid: string | undefined;
}

export interface TokenClaims {
  iss: string;
  sub: string;
  aud: string;
  /** In seconds. */
  exp: number;
  nbf: number | undefined;
  iat: number | undefined;
  /** The values that bind the token to a public key: `nonce`, and `tknonce`, which some issuers use. */
  nonces: readonly string[];
  email: string | undefined;
  emailVerified: boolean;
}

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

/** The parts of a compact JWT (RFC 7519) that is an ID token. Problems are passed to `refuse`. */
export function readToken(token: string, refuse: Refuse): { header: TokenHeader; claims: TokenClaims } {
  if (token.length > MAX_OIDC_TOKEN_LENGTH) refuse(`is longer than ${MAX_OIDC_TOKEN_LENGTH} characters`);
  if (!COMPACT.test(token)) refuse("must be a compact JWT: three parts in base64url with dots between");
  const [header, payload] = token.split(".") as [string, string, string];
  return {
    header: headerOf(objectIn(header, "header", refuse), refuse),
    claims: claimsOf(objectIn(payload, "payload", refuse), refuse),
  };
}

const objectIn = (part: string, name: string, refuse: Refuse): Record<string, unknown> =>
  parseJsonObject(Buffer.from(part, "base64url"), (reason) =>
    refuse(`must have a JSON object as its ${name}: ${reason}`),
  );

function headerOf({ alg, kid, typ }: Record<string, unknown>, refuse: Refuse): TokenHeader {
  if (typeof alg !== "string" || !signatureAlgorithms.includes(alg)) {
    return refuse(`must be signed with one of the algorithms ${signatureAlgorithms.join(", ")}`);
  }
  // Access tokens and logout tokens are JWTs of the same issuer, with a type of their own (RFC 8725 section 3.11).
  if (typ !== undefined && !(typeof typ === "string" && typ.toUpperCase() === "JWT")) {
    return refuse("must be an ID token: the type in its header is not JWT");
  }
  if (kid !== undefined && typeof kid !== "string") return refuse("must name its key by a string");
  return { alg, kid };
}

function claimsOf(claims: Record<string, unknown>, refuse: Refuse): TokenClaims {
  const { nonce, tknonce, email, email_verified: emailVerified } = claims;
  const exp = timeClaim("exp", claims.exp, refuse);
  if (exp === undefined) return refuse("must have the claim `exp`");
  return {
    ...readPerson(claims, refuse),
    exp,
    nbf: timeClaim("nbf", claims.nbf, refuse),
    iat: timeClaim("iat", claims.iat, refuse),
    nonces: [nonce, tknonce].filter((each) => typeof each === "string"),
    email: typeof email === "string" ? email : undefined,
    // Some issuers write a string.
    emailVerified: emailVerified === true || emailVerified === "true",
  };
}

/** The person that claims are about: a subject at an issuer, for one audience. */
export function readPerson(
  { iss, sub, aud }: Record<string, unknown>,
  refuse: Refuse,
): Pick<TokenClaims, "iss" | "sub" | "aud"> {
  if (Array.isArray(aud) && aud.length !== 1) refuse("must be for one audience alone");
  return {
    iss: textClaim("iss", iss, refuse),
    sub: textClaim("sub", sub, refuse),
    aud: textClaim("aud", Array.isArray(aud) ? aud[0] : aud, refuse),
  };
}

function textClaim(name: string, value: unknown, refuse: Refuse): string {
  if (typeof value === "string" && value.length >= 1 && value.length <= MAX_OIDC_CLAIM_LENGTH) return value;
  return refuse(`must have the claim \`${name}\`, a text of 1 to ${MAX_OIDC_CLAIM_LENGTH} characters`);
}

/** The latest time that a Date can represent, in seconds. */
const LAST_SECOND = 8_640_000_000_000;

function timeClaim(name: string, value: unknown, refuse: Refuse): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0 && value <= LAST_SECOND) return value;
  return refuse(`must have seconds since 1970 as its claim \`${name}\``);
}
