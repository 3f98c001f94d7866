/**
 * Every error that a client may see, in one table: gRPC code, public text, `turnkeyErrorCode`. Texts follow the catalogue that the published
 * SDKs match on; `{name}` is replaced by a fact. Anything that is not a `KeysteadError` is rendered as an internal error with nothing but a
 * request id.
 */

const CANCELLED = 1;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
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
  [FAILED_PRECONDITION]: 400,
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
    "invalid request body: `timestampMs` is older than {maxAge}; stamp the request again with the current time, in milliseconds",
    "REQUEST_INVALID",
  ],
  TIMESTAMP_BEFORE_RESTORE: [
    INVALID_ARGUMENT,
    "invalid request body: `timestampMs` is from before {restoredSince}, when this service was restored from a backup; find out whether the request was carried out before that, and if not, stamp it again with the current time",
    "REQUEST_INVALID",
  ],
  TIMESTAMP_AHEAD: [
    INVALID_ARGUMENT,
    "invalid request body: `timestampMs` is more than {maxAhead} ahead of the server's clock ({serverTimeMs}); set the client's clock, and stamp the request again",
    "REQUEST_INVALID",
  ],
  ROUTE_NOT_FOUND: [NOT_FOUND, "no such operation: {method} {path}", "REQUEST_INVALID"],
  ROUTE_MISTAKEN: [NOT_FOUND, "no such operation: {method} {path}; use POST {expected}", "REQUEST_INVALID"],

  // Who is asking. The SDKs match "could not find public key in organization or its parent organization" and
  // "Unauthenticated desc = expired api key publicKey" to notice that a session ended.
  STAMP_MISSING: [
    UNAUTHENTICATED,
    "no valid authentication signature found for request: cannot authenticate public API activity request without a stamp (X-Stamp/X-Stamp-Webauthn header)",
    "SIGNATURE_MISSING",
  ],
  STAMP_AMBIGUOUS: [
    UNAUTHENTICATED,
    "no valid authentication signature found for request: more than one stamp header was sent; send one",
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
  ATTESTED_STAMP_MALFORMED: [
    UNAUTHENTICATED,
    "malformed activity stamp: could not extract attested stamp: {reason}",
    "SIGNATURE_INVALID",
  ],
  ATTESTED_STAMP_INVALID: [UNAUTHENTICATED, "could not verify attested stamp: {reason}", "SIGNATURE_INVALID"],
  ATTESTED_USER_NOT_FOUND: [
    UNAUTHENTICATED,
    "no user has the identity that the stamp attests in organization organizationId={organizationId}; in sub-organizations, contacts are found only once they are verified",
    "CREDENTIAL_NOT_FOUND",
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
    "a credential in the header {header} cannot be used for {what}; stamp the request with an API key or a passkey",
    "SIGNATURE_INVALID",
  ],
  CREDENTIAL_TYPE_UNFIT: [UNAUTHENTICATED, "a credential of the type {type} cannot stamp {path}", "SIGNATURE_INVALID"],
  CREDENTIAL_NOT_REGISTERED: [
    UNAUTHENTICATED,
    "the stamp in {header} is not by the credential that the request registers; stamp the request with that one",
    "PUBLIC_KEY_NOT_FOUND",
  ],
  CREDENTIAL_IN_USE: [
    UNAUTHENTICATED,
    "the credential already belongs to a user of organization {organizationId}; {path} requires a new one",
    "SIGNATURE_INVALID",
  ],
  INVITATION_INVALID: [
    INVALID_ARGUMENT,
    "no open invitation has this id and token: it may have expired, been revoked, or been accepted; ask for a new one",
    "REQUEST_INVALID",
  ],
  OTP_INVALID: [INVALID_ARGUMENT, "Invalid OTP code: {reason}", "REQUEST_INVALID"],
  OTP_STARTS_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "Max number of OTPs have been initiated: {most} within {seconds} seconds; wait and try again",
    "MAX_OTP_INITIATED",
  ],
  OTP_TRIES_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "too many wrong codes for this contact: {most} within {seconds} seconds; wait and try again",
    "RATE_LIMIT_EXCEEDED",
  ],
  VERIFICATION_TOKEN_INVALID: [
    INVALID_ARGUMENT,
    "`{field}` is not a valid verification token: {reason}",
    "REQUEST_INVALID",
  ],
  FEATURE_OFF: [
    PERMISSION_DENIED,
    "the feature {name} is off in organization {organizationId}; enable it with set_organization_feature",
    "REQUEST_NOT_AUTHORIZED",
  ],
  AUTH_PROXY_UNKNOWN: [
    UNAUTHENTICATED,
    "the header X-Auth-Proxy-Config-Id does not name an enabled auth proxy: use the `configId` of get_auth_proxy_config",
    "REQUEST_NOT_AUTHORIZED",
  ],
  AUTH_PROXY_ORIGIN_REFUSED: [
    PERMISSION_DENIED,
    "the origin {origin} is not among the `allowedOrigins` of the auth proxy; add it with update_auth_proxy_config",
    "REQUEST_NOT_AUTHORIZED",
  ],
  AUTH_METHOD_DISALLOWED: [
    PERMISSION_DENIED,
    "{method} disallowed: `{word}` is not among the `allowedAuthMethods` of the auth proxy; add it with update_auth_proxy_config",
    "REQUEST_NOT_AUTHORIZED",
  ],
  AUTH_PROXY_CLIENT_REFUSED: [
    INVALID_ARGUMENT,
    "the provider does not accept this app; the operator of the app must check its OAuth 2.0 credential",
    "OAUTH2_PROVIDER_NOT_CONFIGURED",
  ],
  AUTH_PROXY_NEEDS_APPROVAL: [
    PERMISSION_DENIED,
    "the organization's policies require approval of {type} by its auth proxy; activity {activityId} is waiting for it",
    "REQUEST_NOT_AUTHORIZED",
  ],
  CAPTCHA_MISSING: [
    PERMISSION_DENIED,
    "X-Captcha-Token header is required when captcha is enabled",
    "REQUEST_NOT_AUTHORIZED",
  ],
  CAPTCHA_FAILED: [PERMISSION_DENIED, "captcha verification failed", "REQUEST_NOT_AUTHORIZED"],
  ACCOUNT_NOT_FOUND: [
    NOT_FOUND,
    "no sub-organization has a user with this {what}; sign them up, or name the sub-organization's own id as `organizationId`",
    "ORGANIZATION_NOT_FOUND",
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

  INGEST_REFUSED: [PERMISSION_DENIED, "the message was refused: {reason}", "REQUEST_NOT_AUTHORIZED"],

  FIRST_VISIT_REFUSED: [
    PERMISSION_DENIED,
    "the link of the first start was refused: {reason}; you can also sign in with the credentials file",
    "REQUEST_NOT_AUTHORIZED",
  ],

  // What they named
  ORGANIZATION_NOT_FOUND: [NOT_FOUND, "no organization found with the given ID", "ORGANIZATION_NOT_FOUND"],
  ORGANIZATION_BEING_ERASED: [
    NOT_FOUND,
    "organization {organizationId} was deleted and is being erased; what is kept of it can be read afterwards, in {retryAfterSeconds} seconds or later",
    "ORGANIZATION_NOT_FOUND",
  ],
  RESOURCE_NOT_FOUND: [NOT_FOUND, "unable to find {kind} {id} in organization {organizationId}", "REQUEST_INVALID"],
  ACTIVITY_ARCHIVED: [
    NOT_FOUND,
    "unable to find activity {id} in organization {organizationId}; activities that were submitted and ended before {before} are in an archive, which the operator has",
    "REQUEST_INVALID",
  ],
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
  TOO_MANY_VOTES: [
    FAILED_PRECONDITION,
    "{maxVotes} users, including deleted ones, have voted on activity {activityId}, and no more can; submit it again with another `timestampMs`",
    "REQUEST_INVALID",
  ],
  ACTIVITY_WITHOUT_BODY: [
    INVALID_ARGUMENT,
    "activity {activityId} was stored without its body by an older release and cannot be carried out: submit it again",
    "REQUEST_INVALID",
  ],
  VALID_CREDENTIAL_MISSING: [
    INVALID_ARGUMENT,
    "user missing valid credential: {user}; a passkey or an API key without expiry is always enough",
    "REQUEST_INVALID",
  ],
  POLICY_LABEL_TAKEN: [
    INVALID_ARGUMENT,
    "policy label must be unique: `{field}` is the name of another policy; choose another one",
    "REQUEST_INVALID",
  ],
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
    "{provider} rejected the client of OAuth 2.0 credential {id}: {reason}; its client ID or secret is wrong",
    "OAUTH2_PROVIDER_NOT_CONFIGURED",
  ],
  OAUTH2_CODE_REFUSED: [INVALID_ARGUMENT, "{provider} rejected the code: {reason}", "REQUEST_INVALID"],
  TVC_IMAGE_VALIDATION_FAILED: [
    INVALID_ARGUMENT,
    "the image that `{field}` names cannot be used: {reason}",
    "TVC_IMAGE_VALIDATION_FAILED",
  ],
  TVC_OPERATOR_SET_INVALID: [INVALID_ARGUMENT, "invalid operator set: `{field}` {reason}", "REQUEST_INVALID"],
  TVC_APP_DELETED: [
    INVALID_ARGUMENT,
    "the app {id} was deleted and can no longer be used; create another one with create_tvc_app",
    "REQUEST_INVALID",
  ],
  TVC_DEBUG_MODE_REFUSED: [
    INVALID_ARGUMENT,
    "the app {id} does not allow deployments in debug mode: it was created without `enableDebugModeDeployments`, which cannot be changed",
    "REQUEST_INVALID",
  ],
  TVC_NOT_IN_DEBUG_MODE: [
    INVALID_ARGUMENT,
    "the deployment {id} is not in debug mode, so its logs are not shown",
    "REQUEST_INVALID",
  ],
  TVC_APPROVAL_INVALID: [
    INVALID_ARGUMENT,
    "`{field}` is not an approval of this manifest: {reason}",
    "REQUEST_INVALID",
  ],
  TVC_QUORUM_KEY_INVALID: [INVALID_ARGUMENT, "the quorum key cannot be created: `{field}` {reason}", "REQUEST_INVALID"],
  TVC_NOT_AWAITING_PROVISION: [
    INVALID_ARGUMENT,
    "the deployment {id} does not accept shares of a quorum key: {reason}",
    "REQUEST_INVALID",
  ],
  TVC_SHARE_REFUSED: [
    INVALID_ARGUMENT,
    "the share of the quorum key was not accepted: `{field}` {reason}",
    "REQUEST_INVALID",
  ],
  TVC_DEPLOYMENT_DELETED: [
    INVALID_ARGUMENT,
    "the deployment {id} was deleted; restore it with restore_tvc_deployment before it is cleaned up",
    "REQUEST_INVALID",
  ],
  TVC_DEPLOYMENT_NOT_DELETED: [
    INVALID_ARGUMENT,
    "the deployment {id} was not deleted, so there is nothing to restore",
    "REQUEST_INVALID",
  ],
  TVC_DEPLOYMENT_CLEANED_UP: [
    INVALID_ARGUMENT,
    "the deployment {id} was deleted and cleaned up, and cannot be restored; create a new one with create_tvc_deployment",
    "REQUEST_INVALID",
  ],
  TVC_DEPLOYMENT_LIVE: [
    INVALID_ARGUMENT,
    "the deployment {id} is the live one of its app; make another one live with set_tvc_app_live_deployment first",
    "REQUEST_INVALID",
  ],
  TVC_DEPLOYMENT_NOT_READY: [
    INVALID_ARGUMENT,
    "the deployment {id} cannot become the live one: {reason}",
    "REQUEST_INVALID",
  ],
  TVC_LOGS_UNAVAILABLE: [UNAVAILABLE, "the logs of the deployment {id} are not available here: {reason}", "INTERNAL"],
  ON_RAMP_NOT_CONFIGURED: [
    INVALID_ARGUMENT,
    "organization {organizationId} has no credential for {provider} with `sandboxMode` {sandbox}, and neither has its parent; create one with create_fiat_on_ramp_credential",
    "REQUEST_INVALID",
  ],
  ON_RAMP_CREDENTIAL_REFUSED: [
    INVALID_ARGUMENT,
    "{provider} rejected the keys of on-ramp credential {id}: {reason}; replace them with update_fiat_on_ramp_credential",
    "REQUEST_INVALID",
  ],
  ON_RAMP_REFUSED: [INVALID_ARGUMENT, "{provider} rejected the purchase: {reason}", "REQUEST_INVALID"],
  SWAPS_NOT_CONFIGURED: [
    FAILED_PRECONDITION,
    "no swap provider is configured; the operator of this server can configure one under `swaps` in the configuration file",
    "REQUEST_INVALID",
  ],
  SWAP_REFUSED: [INVALID_ARGUMENT, "{provider} has no quote for this swap: {reason}", "REQUEST_INVALID"],
  SWAP_QUOTE_REFUSED: [
    INVALID_ARGUMENT,
    "the quote from {provider} was refused, and nothing was signed: {reason}",
    "REQUEST_INVALID",
  ],
  SWAP_QUOTE_EXPIRED: [
    INVALID_ARGUMENT,
    "the swap quote {quoteId} has expired; get a new one with create_swap_quote",
    "REQUEST_INVALID",
  ],
  SWAP_QUOTE_ALREADY_USED: [
    INVALID_ARGUMENT,
    "the swap quote {quoteId} has already been used; get a new one with create_swap_quote",
    "SWAP_QUOTE_ALREADY_USED",
  ],
  SWAP_FEES_NOT_CLAIMABLE: [FAILED_PRECONDITION, "there are no swap fees to claim: {reason}", "REQUEST_INVALID"],
  OAUTH_PROVIDER_EXISTS: [
    ALREADY_EXISTS,
    "OAuth provider already exists: `{field}` {reason}",
    "OAUTH_PROVIDER_ALREADY_EXISTS",
  ],
  NOT_EXPORTED: [
    INVALID_ARGUMENT,
    "{kind} {id} has not been exported; export it first, or set `deleteWithoutExport` to true to lose it permanently",
    "REQUEST_INVALID",
  ],

  TRANSACTION_INVALID: [INVALID_ARGUMENT, "invalid transaction: `{field}` {reason}", "INVALID_TRANSACTION"],
  TRANSACTION_UNSUPPORTED: [
    INVALID_ARGUMENT,
    "unsupported transaction type: `{field}` {reason}",
    "UNSUPPORTED_TRANSACTION_TYPE",
  ],
  BROADCAST_REFUSED: [
    INVALID_ARGUMENT,
    "the nodes of {chain} rejected the transaction: {reason}",
    "INVALID_TRANSACTION",
  ],
  CHAIN_NOT_CONFIGURED: [
    INVALID_ARGUMENT,
    "this server has no nodes for {chain}; its operator can configure them under `chains` in the configuration file",
    "REQUEST_INVALID",
  ],
  SEND_REPEATED: [
    ALREADY_EXISTS,
    "another activity has sent the same transaction with the same blockhash, and {chain} would execute both as one; nothing was sent for this one. Submit it again in a moment to get a newer blockhash",
    "REQUEST_INVALID",
  ],
  SPONSORING_DISABLED: [
    INVALID_ARGUMENT,
    "organization {organizationId} has turned sponsoring off; turn it on with `enabled` in upsert_gas_usage_config, or set `sponsor` to false",
    "REQUEST_INVALID",
  ],
  GAS_PRICE_UNKNOWN: [
    INVALID_ARGUMENT,
    "sponsoring cannot be limited in US dollars because the price of the native asset of {chain} is unknown; the operator of this server can set it under `prices` in the configuration file",
    "REQUEST_INVALID",
  ],
  EARN_SETUP_REQUIRED: [INVALID_ARGUMENT, "EARN_SETUP_REQUIRED: {reason}", "REQUEST_INVALID"],
  CHAIN_WITHOUT_FACTORY: [
    INVALID_ARGUMENT,
    "nothing can be deployed on {chain}: it lacks the deterministic deployment proxy, {factory}, which the chain's operator can deploy",
    "REQUEST_INVALID",
  ],
  FEE_CAP_EXCEEDED: [
    INVALID_ARGUMENT,
    "according to the nodes of {chain}, the transaction could cost {fees} of its native asset in fees, and this service relies on nodes for at most {cap}; {remedy}",
    "REQUEST_INVALID",
  ],
  CHAIN_WITHOUT_STATION: [
    INVALID_ARGUMENT,
    "there is no gas station at {station} on {chain}, the address in `chains.{chain}.gasStation` of this server's configuration",
    "REQUEST_INVALID",
  ],
  MNEMONIC_INVALID: [INVALID_ARGUMENT, "invalid mnemonic: {reason}", "REQUEST_INVALID"],
  WALLET_PATH_INVALID: [INVALID_ARGUMENT, "invalid path: `{field}` {reason}", "REQUEST_INVALID"],
  WALLET_PATH_TAKEN: [ALREADY_EXISTS, "path already exists in wallet account {id}: {path}", "REQUEST_INVALID"],
  WALLETS_TOO_LARGE: [
    FAILED_PRECONDITION,
    "the wallets have more than {limit} accounts together, which is the most that this server deletes at a time; delete the wallets one by one, or first delete accounts with delete_wallet_accounts",
    "REQUEST_INVALID",
  ],
  WALLET_ACCOUNT_NOT_EXPORTED: [
    INVALID_ARGUMENT,
    "wallet account has not been exported: {id}; export it first, or set `deleteWithoutExport` to true to lose it permanently",
    "WALLET_ACCOUNT_NOT_EXPORTED",
  ],

  // Limits
  DECISION_TOO_COSTLY: [
    INVALID_ARGUMENT,
    "evaluating the organization's policies takes too much work for one request; use fewer or simpler expressions (shorter lists, less nesting), or ask about fewer users or activities at a time",
    "REQUEST_INVALID",
  ],
  QUOTA_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "organization over its allotted quota: at most {limit} {kind}; {remedy}",
    "RATE_LIMIT_EXCEEDED",
  ],
  GAS_LIMIT_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "the service pays no more than {limit} US dollars {span}; nothing was sent",
    "RATE_LIMIT_EXCEEDED",
  ],
  USER_QUOTA_EXCEEDED: [
    RESOURCE_EXHAUSTED,
    "user has exceeded maximum {kind}: at most {limit} per user; {remedy}",
    "RATE_LIMIT_EXCEEDED",
  ],
  WEBHOOK_TESTED_TOO_SOON: [
    RESOURCE_EXHAUSTED,
    "a test event was sent to this endpoint less than {seconds} seconds ago; wait and try again",
    "RATE_LIMIT_EXCEEDED",
  ],
  SIGNER_BUSY: [
    RESOURCE_EXHAUSTED,
    "too much of this organization's work is waiting for the signer; nothing was changed, send the request again in {retryAfterSeconds} seconds",
    "RATE_LIMIT_EXCEEDED",
  ],

  RATE_LIMITED: [
    RESOURCE_EXHAUSTED,
    "Too many requests. Please wait and try again in a few seconds: {reason}",
    "RATE_LIMIT_EXCEEDED",
  ],

  // The server itself
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
  SWAPS_UNAVAILABLE: [UNAVAILABLE, "{provider} is not available: {reason}", "INTERNAL"],
  ON_RAMP_UNAVAILABLE: [UNAVAILABLE, "{provider} is not available: {reason}", "INTERNAL"],
  INGEST_UNAVAILABLE: [UNAVAILABLE, "the message cannot be checked now: {reason}; send it again", "INTERNAL"],
  CHAIN_UNAVAILABLE: [UNAVAILABLE, "the chain {chain} is not available: {reason}", "INTERNAL"],
  DATABASE_UNAVAILABLE: [UNAVAILABLE, "the database is not available; send the request again", "INTERNAL"],
  DATABASE_BUSY: [
    UNAVAILABLE,
    "too many requests are waiting for the database; nothing was changed, send the request again in {retryAfterSeconds} seconds",
    "INTERNAL",
  ],
  DATABASE_FILE_LOST: [
    UNAVAILABLE,
    "the database file of this server was removed or replaced; the server cannot answer until the file is back in place and the server is restarted",
    "INTERNAL",
  ],
  AUDIT_BACKLOG_FULL: [
    UNAVAILABLE,
    "the audit log is full: {count} lines are waiting for {sink}, and changes are refused until it accepts them; send the request again later",
    "INTERNAL",
  ],
  DEADLINE_EXCEEDED: [UNAVAILABLE, "the request could not be completed within {limit}; send it again", "INTERNAL"],
  CLIENT_GONE: [CANCELLED, "the client closed its connection before its request was carried out", "REQUEST_INVALID"],
  MAINTENANCE: [
    UNAVAILABLE,
    "the service is under maintenance{reason}: reads work, but changes are refused; send the request again later",
    "INTERNAL",
  ],
  SHUTTING_DOWN: [UNAVAILABLE, "the server is shutting down; send the request again", "INTERNAL"],
  INTERNAL: [INTERNAL, "internal server error ({requestId})", "INTERNAL"],
} as const satisfies Record<string, readonly [number, string, string, number?]>;

export type ErrorCode = keyof typeof table;

export interface DescribedError {
  code: ErrorCode;
  httpStatus: number;
  grpcCode: number;
  text: string;
  turnkeyErrorCode: string;
}

/** The table, for documentation. `{name}` is a placeholder for a fact. */
export const describedErrors = (): DescribedError[] =>
  (Object.entries(table) as [ErrorCode, readonly [number, string, string, number?]][]).map(
    ([code, [grpcCode, text, turnkeyErrorCode, httpStatus]]) => ({
      code,
      httpStatus: httpStatus ?? HTTP_STATUS[grpcCode] ?? 500,
      grpcCode,
      text,
      turnkeyErrorCode,
    }),
  );

type Blanks<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Blanks<Rest> : never;
export type Facts<Code extends ErrorCode> = Record<Blanks<(typeof table)[Code][1]>, string | number>;

/** One entry of the `details` array of an error body. */
export type ErrorDetail = { "@type": string } & Record<string, unknown>;

/** An error that clients see. They read `message`, so facts must not contain secrets. */
export class KeysteadError extends Error {
  readonly code: ErrorCode;
  readonly httpStatus: number;
  readonly grpcCode: number;
  readonly turnkeyErrorCode: string;
  readonly details: ErrorDetail[];
  /** The value of the header Retry-After, if the same request may succeed after that time. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether the request is not at fault, so that the same request may succeed later. */
  readonly isTransient: boolean;
  readonly #facts: Record<string, string | number>;
  readonly #details: ErrorDetail[];

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
    this.#facts = facts;
    this.#details = details;
  }

  /** The same error with its field renamed, for a request that was derived from another one. */
  withField(rename: (field: string) => string): KeysteadError {
    const { field } = this.#facts;
    if (typeof field !== "string") return this;
    return new KeysteadError(this.code, { ...this.#facts, field: rename(field) }, this.#details);
  }
}

function detailsFromFacts(code: ErrorCode, facts: Record<string, string | number>, description: string): ErrorDetail[] {
  const field = facts.field;
  if (field === undefined || ["RESOURCE_EXISTS", "OAUTH_PROVIDER_EXISTS"].includes(code)) return [];
  return [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field, description }] }];
}

/** Throws the error `code` of the table, with `facts` for its placeholders. */
export function fail<Code extends ErrorCode>(code: Code, facts: Facts<Code>, details: ErrorDetail[] = []): never {
  throw new KeysteadError(code, facts, details);
}

/** Like `fail`, for a temporary problem: the client is told when to retry. */
export function failForNow<Code extends ErrorCode>(code: Code, facts: Facts<Code>, retryAfterSeconds: number): never {
  throw new KeysteadError(code, { ...facts, retryAfterSeconds }, []);
}

/** Every code, for the test that freezes the table. */
export const errorCodes = Object.keys(table) as ErrorCode[];
