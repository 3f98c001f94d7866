/**
 * Every error a client may see, in one table: gRPC code, public text, `turnkeyErrorCode`. Texts follow the catalogue that
 * the published SDKs match on; `{name}` is filled from the facts. Anything that is not a `KeysteadError` is rendered as an
 * internal error and tells the client nothing but a request id.
 */

const CANCELLED = 1;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

const HTTP_STATUS: Record<number, number> = {
  [CANCELLED]: 499,
  [INVALID_ARGUMENT]: 400,
  [NOT_FOUND]: 404,
  [ALREADY_EXISTS]: 409,
  [PERMISSION_DENIED]: 403,
  [RESOURCE_EXHAUSTED]: 429,
  [INTERNAL]: 500,
  [UNAVAILABLE]: 503,
  [UNAUTHENTICATED]: 401,
};

const table = {
  // The request itself
  BODY_INVALID: [INVALID_ARGUMENT, "bad request body: {reason}", "REQUEST_INVALID"],
  BODY_TOO_LARGE: [RESOURCE_EXHAUSTED, "request body is larger than {maxBytes} bytes", "REQUEST_INVALID", 413],
  MESSAGES_TOO_LARGE: [
    RESOURCE_EXHAUSTED,
    "the bodies of the votes on this activity would be more than {maxLength} characters; approve it by its fingerprint, with approve_activity",
    "REQUEST_INVALID",
    413,
  ],
  FIELD_MISSING: [INVALID_ARGUMENT, "invalid request body: missing field `{field}`", "REQUEST_INVALID"],
  FIELD_INVALID: [INVALID_ARGUMENT, "invalid request body: `{field}` {reason}", "REQUEST_INVALID"],
  ORGANIZATION_ID_MALFORMED: [INVALID_ARGUMENT, "malformed organization ID provided", "INVALID_ORGANIZATION_ID"],
  TIMESTAMP_STALE: [
    INVALID_ARGUMENT,
    "invalid request body: `timestampMs` is older than {maxAge}; stamp the request again with the current time",
    "REQUEST_INVALID",
  ],
  TIMESTAMP_AHEAD: [
    INVALID_ARGUMENT,
    "invalid request body: `timestampMs` is more than {maxAhead} ahead of the server's clock ({serverTimeMs})",
    "REQUEST_INVALID",
  ],
  ROUTE_NOT_FOUND: [NOT_FOUND, "no such operation: {method} {path}", "REQUEST_INVALID"],

  // Who is asking. The SDKs match "could not find public key in organization or its parent organization" and
  // "Unauthenticated desc = expired api key publicKey" to notice that a session ended.
  STAMP_MISSING: [
    UNAUTHENTICATED,
    "no valid authentication signature found for request: cannot authenticate public API activity request without a stamp (X-Stamp/X-Stamp-Webauthn header)",
    "SIGNATURE_MISSING",
  ],
  STAMP_AMBIGUOUS: [
    UNAUTHENTICATED,
    "no valid authentication signature found for request: more than one stamp header was sent",
    "SIGNATURE_INVALID",
  ],
  STAMP_MALFORMED: [
    UNAUTHENTICATED,
    "malformed activity stamp: could not extract api key stamp: {reason}",
    "SIGNATURE_INVALID",
  ],
  WEBAUTHN_STAMP_MALFORMED: [
    UNAUTHENTICATED,
    "malformed activity stamp: could not extract webauthn stamp: {reason}",
    "SIGNATURE_INVALID",
  ],
  PUBLIC_KEY_NOT_FOUND: [
    UNAUTHENTICATED,
    "could not find public key in organization or its parent organization organizationId={organizationId} publicKey={publicKey}",
    "PUBLIC_KEY_NOT_FOUND",
  ],
  CREDENTIAL_NOT_FOUND: [
    UNAUTHENTICATED,
    "credential ID could not be found in organization or its parent organization organizationId={organizationId} credentialId={credentialId}",
    "CREDENTIAL_NOT_FOUND",
  ],
  CREDENTIAL_AMBIGUOUS: [
    UNAUTHENTICATED,
    "more than one suborg associated with a {kind}; name the sub-organization's own id as `organizationId`",
    "CREDENTIAL_CONFLICT",
  ],
  API_KEY_EXPIRED: [
    UNAUTHENTICATED,
    "rpc error: code = Unauthenticated desc = expired api key publicKey={publicKey} organizationId={organizationId}",
    "API_KEY_EXPIRED",
  ],
  CREDENTIAL_NOT_FOR_THIS: [
    UNAUTHENTICATED,
    "a credential of the header {header} does not serve for {what}",
    "SIGNATURE_INVALID",
  ],
  CREDENTIAL_TYPE_UNFIT: [
    UNAUTHENTICATED,
    "a credential of the type {type} does not stamp {path}",
    "SIGNATURE_INVALID",
  ],
  OTP_INVALID: [INVALID_ARGUMENT, "Invalid OTP code: {reason}", "OTP_VERIFICATION_FAILED"],
  OTP_STARTS_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "Max number of OTPs have been initiated: {most} within {seconds} seconds; wait and try again",
    "MAX_OTP_INITIATED",
  ],
  OTP_TRIES_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "too many wrong codes for this contact: {most} within {seconds} seconds; wait and try again",
    "RATE_LIMITED",
  ],
  VERIFICATION_TOKEN_INVALID: [
    INVALID_ARGUMENT,
    "`{field}` is no valid verification token: {reason}",
    "REQUEST_INVALID",
  ],
  FEATURE_OFF: [
    PERMISSION_DENIED,
    "the feature {name} is off in organization {organizationId}; set_organization_feature switches it on",
    "REQUEST_NOT_AUTHORIZED",
  ],
  SESSION_INVALID: [UNAUTHENTICATED, "read-only session {reason}: create a new one", "SIGNATURE_INVALID"],
  API_KEY_SIGNATURE_INVALID: [UNAUTHENTICATED, "could not verify api key signature: {reason}", "SIGNATURE_INVALID"],
  WEBAUTHN_SIGNATURE_INVALID: [UNAUTHENTICATED, "could not verify WebAuthN signature: {reason}", "SIGNATURE_INVALID"],

  // What they may do
  PERMISSION_DENIED: [
    PERMISSION_DENIED,
    "You don't have sufficient permissions to take this action. {reason}",
    "REQUEST_NOT_AUTHORIZED",
  ],
  IP_NOT_ALLOWED: [
    PERMISSION_DENIED,
    "the address {address} is not on the IP allowlist of organization {organizationId}; send the request from an allowed address, or have the allowlist changed from one",
    "REQUEST_NOT_AUTHORIZED",
  ],
  ORGANIZATION_MISMATCH: [
    INVALID_ARGUMENT,
    'organization mismatch: request is targeting organization ("{organizationId}"), but voters are in organization ("{voterOrganizationId}")',
    "ORGANIZATION_MISMATCH",
  ],
  INVALID_CALLER: [INVALID_ARGUMENT, "{path} is {whom}, and {organizationId} is {what}", "INVALID_ACTIVITY_CALLER"],

  INGEST_REFUSED: [PERMISSION_DENIED, "the message is refused: {reason}", "REQUEST_NOT_AUTHORIZED"],

  // What they named
  ORGANIZATION_NOT_FOUND: [NOT_FOUND, "no organization found with the given ID", "ORGANIZATION_NOT_FOUND"],
  RESOURCE_NOT_FOUND: [NOT_FOUND, "unable to find {kind} {id} in organization {organizationId}", "REQUEST_INVALID"],
  ACTIVITY_NOT_FOUND_BY_FINGERPRINT: [
    NOT_FOUND,
    "No activity found with fingerprint. Consensus activities must target an existing activity by fingerprint",
    "REQUEST_INVALID",
  ],
  SIGNING_RESOURCE_NOT_FOUND: [NOT_FOUND, "Could not find any resource to sign with", "REQUEST_INVALID"],
  RESOURCE_EXISTS: [ALREADY_EXISTS, "{kind} already exists: `{field}` {reason}", "CREDENTIAL_CONFLICT"],
  ACTIVITY_DECIDED: [
    INVALID_ARGUMENT,
    "activity {activityId} can no longer be voted on: its status is {status}",
    "REQUEST_INVALID",
  ],
  ACTIVITY_WITHOUT_BODY: [
    INVALID_ARGUMENT,
    "activity {activityId} was stored without its body by an older release and cannot be carried out: submit it again",
    "REQUEST_INVALID",
  ],
  VALID_CREDENTIAL_MISSING: [INVALID_ARGUMENT, "user missing valid credential: {user}", "REQUEST_INVALID"],
  POLICY_LABEL_TAKEN: [INVALID_ARGUMENT, "policy label must be unique: `{field}` is taken", "REQUEST_INVALID"],
  QUORUM_THRESHOLD_ZERO: [
    INVALID_ARGUMENT,
    "quorum threshold must be non-zero integer: `{field}` is {threshold}",
    "REQUEST_INVALID",
  ],
  QUORUM_USERS_MISSING: [INVALID_ARGUMENT, "quorum users missing: {reason}", "REQUEST_INVALID"],
  ATTESTATION_INVALID: [INVALID_ARGUMENT, "invalid authenticator attestation: `{field}` {reason}", "REQUEST_INVALID"],
  POLICY_CONSENSUS_INVALID: [INVALID_ARGUMENT, "invalid policy consensus: {reason}", "REQUEST_INVALID"],
  POLICY_CONDITION_INVALID: [INVALID_ARGUMENT, "invalid policy condition: {reason}", "REQUEST_INVALID"],
  POLICY_TIME_INVALID: [INVALID_ARGUMENT, "invalid policy time: {reason}", "REQUEST_INVALID"],
  OIDC_TOKEN_INVALID: [INVALID_ARGUMENT, "invalid OIDC token: `{field}` {reason}", "INVALID_OIDC_TOKEN"],
  OAUTH2_FIELD_EMPTY: [
    INVALID_ARGUMENT,
    "invalid request body: `{field}` is empty: {name} must be set",
    "REQUEST_INVALID",
  ],
  OAUTH2_CREDENTIAL_NOT_FOUND: [
    NOT_FOUND,
    "unable to find OAuth 2.0 credential {id} in organization {organizationId}",
    "OAUTH2_CREDENTIAL_NOT_FOUND",
  ],
  OAUTH2_CREDENTIAL_REFUSED: [
    INVALID_ARGUMENT,
    "{provider} refuses the client of OAuth 2.0 credential {id}: {reason}; its client id or secret is wrong",
    "OAUTH2_PROVIDER_NOT_CONFIGURED",
  ],
  OAUTH2_CODE_REFUSED: [INVALID_ARGUMENT, "{provider} refuses the code: {reason}", "REQUEST_INVALID"],
  OAUTH_PROVIDER_EXISTS: [
    ALREADY_EXISTS,
    "OAuth provider already exists: `{field}` {reason}",
    "OAUTH_PROVIDER_ALREADY_EXISTS",
  ],
  NOT_EXPORTED: [
    INVALID_ARGUMENT,
    "{kind} {id} has not been exported; export it first, or set `deleteWithoutExport` to true to lose it for good",
    "REQUEST_INVALID",
  ],

  TRANSACTION_INVALID: [INVALID_ARGUMENT, "invalid transaction: `{field}` {reason}", "INVALID_TRANSACTION"],
  TRANSACTION_UNSUPPORTED: [
    INVALID_ARGUMENT,
    "unsupported transaction type: `{field}` {reason}",
    "UNSUPPORTED_TRANSACTION_TYPE",
  ],
  BROADCAST_REFUSED: [INVALID_ARGUMENT, "the nodes of {chain} refuse the transaction: {reason}", "INVALID_TRANSACTION"],
  CHAIN_NOT_CONFIGURED: [
    INVALID_ARGUMENT,
    "this server reaches no node of {chain}; its operator names one under `chains` in the configuration file",
    "REQUEST_INVALID",
  ],
  MNEMONIC_INVALID: [INVALID_ARGUMENT, "invalid mnemonic: {reason}", "REQUEST_INVALID"],
  WALLET_PATH_INVALID: [INVALID_ARGUMENT, "invalid path: `{field}` {reason}", "REQUEST_INVALID"],
  WALLET_PATH_TAKEN: [ALREADY_EXISTS, "path already exists in wallet account {id}: {path}", "REQUEST_INVALID"],
  WALLET_ACCOUNT_NOT_EXPORTED: [
    INVALID_ARGUMENT,
    "wallet account has not been exported: {id}; export it first, or set `deleteWithoutExport` to true to lose it for good",
    "WALLET_ACCOUNT_NOT_EXPORTED",
  ],

  // Limits
  DECISION_TOO_COSTLY: [
    INVALID_ARGUMENT,
    "the organization's policies take too much work for this request; use fewer or simpler expressions (shorter lists, fewer tests inside one another), or ask about fewer users or activities at a time",
    "REQUEST_INVALID",
  ],
  QUOTA_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "organization over its allotted quota: at most {limit} {kind}",
    "RATE_LIMIT_EXCEEDED",
  ],
  USER_QUOTA_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "user has exceeded maximum {kind}: at most {limit} per user",
    "RATE_LIMIT_EXCEEDED",
  ],
  SIGNER_BUSY: [
    RESOURCE_EXHAUSTED,
    "too much of this organization's work waits for the signer; nothing was changed, send the request again in {retryAfterSeconds} seconds",
    "RATE_LIMIT_EXCEEDED",
  ],

  RATE_LIMITED: [
    RESOURCE_EXHAUSTED,
    "Too many requests. Please wait and try again in a few seconds: {reason}",
    "RATE_LIMIT_EXCEEDED",
  ],

  // The house itself
  SIGNER_UNAVAILABLE: [
    UNAVAILABLE,
    "the signer is not available: {reason}; nothing was changed, send the request again",
    "INTERNAL",
  ],
  SIGNER_SEALED: [
    UNAVAILABLE,
    "the signer is sealed: its root key needs a passphrase that this server was not started with",
    "INTERNAL",
  ],
  OAUTH2_PROVIDER_UNAVAILABLE: [UNAVAILABLE, "{provider} is not available: {reason}", "INTERNAL"],
  INGEST_UNAVAILABLE: [UNAVAILABLE, "the message cannot be checked now: {reason}; send it again", "INTERNAL"],
  CHAIN_UNAVAILABLE: [UNAVAILABLE, "the chain {chain} is not available: {reason}", "INTERNAL"],
  DATABASE_UNAVAILABLE: [UNAVAILABLE, "the database is not available; send the request again", "INTERNAL"],
  DATABASE_FILE_LOST: [
    UNAVAILABLE,
    "the database file of this server was removed or replaced; it answers nothing until the file is back in place and the server is restarted",
    "INTERNAL",
  ],
  DEADLINE_EXCEEDED: [UNAVAILABLE, "the request could not be completed within {limit}; send it again", "INTERNAL"],
  CLIENT_GONE: [CANCELLED, "the client closed its connection before its request was carried out", "REQUEST_INVALID"],
  SHUTTING_DOWN: [UNAVAILABLE, "the server is shutting down; send the request again", "INTERNAL"],
  INTERNAL: [INTERNAL, "internal server error ({requestId})", "INTERNAL"],
} as const satisfies Record<string, readonly [number, string, string, number?]>;

export type ErrorCode = keyof typeof table;
type Blanks<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Blanks<Rest> : never;
export type Facts<Code extends ErrorCode> = Record<Blanks<(typeof table)[Code][1]>, string | number>;

/** One entry of the `details` array of an error body. */
export type ErrorDetail = { "@type": string } & Record<string, unknown>;

/** An error with a public face. `message` is what the client reads; nothing secret may be put into the facts. */
export class KeysteadError extends Error {
  readonly code: ErrorCode;
  readonly httpStatus: number;
  readonly grpcCode: number;
  readonly turnkeyErrorCode: string;
  readonly details: ErrorDetail[];
  /** Where the same request may succeed after this time: for the header Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether it is no fault of the request, so that the same one may succeed later. */
  readonly isTransient: boolean;

  constructor(code: ErrorCode, facts: Record<string, string | number>, details: ErrorDetail[]) {
    const [grpcCode, text, turnkeyErrorCode, httpStatus] = table[code] as readonly [number, string, string, number?];
    super(text.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name])));
    this.name = "KeysteadError";
    this.code = code;
    this.grpcCode = grpcCode;
    this.httpStatus = httpStatus ?? HTTP_STATUS[grpcCode] ?? 500;
    this.turnkeyErrorCode = turnkeyErrorCode;
    this.retryAfterSeconds = facts.retryAfterSeconds === undefined ? undefined : Number(facts.retryAfterSeconds);
    this.isTransient = this.httpStatus >= 500 || grpcCode === CANCELLED || this.retryAfterSeconds !== undefined;
    this.details = [...detailsFromFacts(code, facts, this.message), ...details];
  }
}

function detailsFromFacts(code: ErrorCode, facts: Record<string, string | number>, description: string): ErrorDetail[] {
  const field = facts.field;
  if (field === undefined || ["RESOURCE_EXISTS", "OAUTH_PROVIDER_EXISTS"].includes(code)) return [];
  return [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field, description }] }];
}

/** Throws the error `code` of the table, its blanks filled with `facts`. */
export function fail<Code extends ErrorCode>(code: Code, facts: Facts<Code>, details: ErrorDetail[] = []): never {
  throw new KeysteadError(code, facts, details);
}

/** The same for what passes by itself: the client is told when to come back. */
export function failForNow<Code extends ErrorCode>(code: Code, facts: Facts<Code>, retryAfterSeconds: number): never {
  throw new KeysteadError(code, { ...facts, retryAfterSeconds }, []);
}

/** Every code, for the test that freezes the table. */
export const errorCodes = Object.keys(table) as ErrorCode[];
