import type { Generated } from "kysely";

/** The credential behind a stamp, as it was then; null in rows that were decided on before 0014-uses-and-revocations. */
interface ShownCredentialColumns {
  credential_id: Generated<string | null>;
  credential_type: Generated<string | null>;
  session_profile_id: Generated<string | null>;
}

/**
 * The tables, as the code sees them. Times are integer milliseconds, flags are 0 or 1, lists and free-form values are JSON
 * text; secrets are only ever sealed bytes. `organization_id` leads every key, so that no query can cross organizations by
 * forgetting it. The migrations in `migrations/` create exactly this.
 */
export interface Schema {
  installation: { name: string; value: string };
  organizations: {
    id: string;
    parent_id: string | null;
    name: string;
    sealed_key: Uint8Array;
    quorum_threshold: number;
    /** Rises with every change to the organization's policies; they are kept in memory under it. */
    policies_version: Generated<number>;
    /** Of a sub-organization that is no more: its keys are gone, its activities stay. */
    deleted_at: Generated<number | null>;
    created_at: number;
    updated_at: number;
  };
  organization_features: { organization_id: string; name: string; value: string | null };
  root_quorum_members: { organization_id: string; user_id: string };
  users: {
    id: string;
    organization_id: string;
    name: string;
    email: string | null;
    phone_number: string | null;
    /** Whether the user has shown to receive what is sent there. */
    email_verified: Generated<number>;
    phone_number_verified: Generated<number>;
    /** How many of them the user has. */
    mfa_policies: Generated<number>;
    /** Rises with every change to the user, its credentials or its tags; what is derived from them is cached under it. */
    version: number;
    created_at: number;
    updated_at: number;
  };
  /** One-time codes that were sent. */
  otps: {
    organization_id: string;
    id: string;
    /** The parent, or the organization itself where it has none: starts and wrong guesses are counted for all below it together. */
    root_id: string;
    type: "OTP_TYPE_EMAIL" | "OTP_TYPE_SMS";
    /** E-mail addresses in lowercase. */
    contact: string;
    /** Whom `init_otp_auth` sent it to; null of a code that proves a contact alone. */
    user_id: string | null;
    /** Hex; made by the signer. */
    mac: string;
    /** base64; what clients encrypt their guess to, in the versions that have it so. */
    sealed_target_key: string | null;
    /** Wrong guesses. */
    tries: number;
    expires_at: number;
    used_at: number | null;
    created_at: number;
  };
  /** Wrong guesses at codes, by the contact. */
  otp_failures: { root_id: string; id: string; contact: string; created_at: number };
  /** Tokens that serve once for each usage. */
  used_tokens: { organization_id: string; id: string; usage: string; expires_at: number };
  api_keys: {
    id: string;
    organization_id: string;
    user_id: string;
    name: string;
    credential_type: string;
    /** Lowercase hex: compressed point, or the 32 bytes of an Ed25519 key. */
    public_key: string;
    session_profile_id: string | null;
    expiration_seconds: number | null;
    /** Null for a lasting key. */
    expires_at: number | null;
    /** How it was got, by signing in: `stamp`, `otp`, `oidc`, `recovery` or `server`; null for any other. */
    grade: Generated<string | null>;
    /** Where several organizations know the key, the lower is meant: see `engine/identity/seniority.ts`. */
    seniority: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  authenticators: {
    id: string;
    organization_id: string;
    user_id: string;
    name: string;
    /** base64url of the credential id. */
    credential_id: string;
    /** COSE_Key bytes (RFC 9052). */
    public_key: Uint8Array;
    aaguid: string;
    attestation_type: string;
    transports: string;
    rp_id_hash: Uint8Array;
    origin: string;
    /** As that of API keys. */
    seniority: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  oauth_providers: {
    id: string;
    organization_id: string;
    user_id: string;
    name: string;
    issuer: string;
    audience: string;
    subject: string;
    created_at: number;
    updated_at: number;
  };
  tags: {
    id: string;
    organization_id: string;
    type: "TAG_TYPE_USER" | "TAG_TYPE_PRIVATE_KEY";
    name: string;
    created_at: number;
    updated_at: number;
  };
  user_tag_members: { organization_id: string; tag_id: string; member_id: string };
  private_key_tag_members: { organization_id: string; tag_id: string; member_id: string };
  private_keys: {
    id: string;
    organization_id: string;
    name: string;
    curve: string;
    /** Lowercase hex: uncompressed point, or the 32 bytes of an Ed25519 key. */
    public_key: string;
    sealed_key: Uint8Array;
    exported: number;
    imported: number;
    created_at: number;
    updated_at: number;
  };
  private_key_addresses: {
    organization_id: string;
    private_key_id: string;
    position: number;
    format: string;
    address: string;
    /** The address as it is looked up: lowercase where the chain ignores case. */
    lookup: string;
  };
  activities: {
    id: string;
    organization_id: string;
    type: string;
    status: string;
    fingerprint: string;
    /** JSON of the parameters as they were sent, under their one key; null there where they are read from the body. */
    intent: string;
    /** The stamped body; null of one that was denied and large, and of those that are older than this column. */
    body: Generated<string | null>;
    /** JSON of what was planned before it was decided on, null where nothing is. */
    plan: Generated<string | null>;
    /** JSON of the result, null until there is one. */
    result: string | null;
    /** JSON `{code, message, details}`, null unless it failed or was denied. */
    failure: string | null;
    /** Whether app proofs were asked for. */
    wants_proofs: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  votes: {
    id: string;
    organization_id: string;
    activity_id: string;
    user_id: string;
    /** The name at the time of the vote, for when the user is gone. */
    user_name: string;
    selection: "VOTE_SELECTION_APPROVED" | "VOTE_SELECTION_REJECTED";
    /** The exact body that was stamped. */
    message: string;
    public_key: string;
    signature: string;
    scheme: string;
    /** JSON `{authenticatorData, clientDataJson}` in base64url: what a passkey signed beside the body; null for other stamps. */
    assertion: Generated<string | null>;
    created_at: number;
    /** When it was taken back, where that was before the activity was decided. */
    revoked_at: Generated<number | null>;
  } & ShownCredentialColumns;
  /** Credentials and users that were deleted on purpose, by their ids: what was voted with them no longer counts. */
  revocations: { organization_id: string; id: string; revoked_at: number };
  jobs: {
    id: string;
    /** Jobs of one lane run one after the other. */
    lane: string;
    kind: string;
    /** JSON. */
    payload: string;
    /** JSON `{id, sealed}`: what the job must know and nobody else may read; null where there is nothing. */
    sealed_secret: Generated<string | null>;
    /** For whom it is done, null for the installation's own. */
    organization_id: string | null;
    /** A job of the same key is the same job. */
    key: string | null;
    state: "waiting" | "dead";
    run_at: number;
    attempts: number;
    last_error: string | null;
    created_at: number;
    updated_at: number;
  };
  job_lanes: {
    lane: string;
    /** What lanes have in common when it is slow or down, such as a host. */
    gate: string;
    leased_until: number;
    owner: string;
  };
  service_keys: {
    id: string;
    purpose: string;
    curve: string;
    public_key: string;
    sealed_key: Uint8Array;
    created_at: number;
    /** When its successor took over; it stays published for a while. */
    retired_at: number | null;
  };
  webhook_endpoints: {
    id: string;
    organization_id: string;
    url: string;
    name: string;
    is_active: number;
    /** Since when no delivery has succeeded; null while they do. */
    failing_since: number | null;
    created_at: number;
    updated_at: number;
  };
  webhook_subscriptions: {
    organization_id: string;
    endpoint_id: string;
    position: number;
    event_type: string;
    filters_json: string | null;
    is_active: number;
  };
  webhook_events: {
    id: string;
    /** Whose event it is; a parent's endpoints may receive it too. */
    organization_id: string;
    event_type: string;
    /** As it is sent, but for what is read from the activity's body. */
    body: string;
    /** The activity whose body belongs into it; null where it is whole. */
    activity_id: Generated<string | null>;
    created_at: number;
  };
  webhook_deliveries: {
    id: string;
    /** The endpoint's. */
    organization_id: string;
    endpoint_id: string;
    event_id: string;
    status: "PENDING" | "DELIVERED" | "FAILED" | "CANCELLED";
    attempts: number;
    next_attempt_at: number | null;
    created_at: number;
    updated_at: number;
  };
  webhook_attempts: {
    organization_id: string;
    delivery_id: string;
    number: number;
    started_at: number;
    duration_ms: number;
    status_code: number | null;
    error: string | null;
  };
  /** What a signer stated about a completed activity. */
  app_proofs: {
    organization_id: string;
    activity_id: string;
    position: number;
    boot_proof_id: string;
    payload: string;
    /** Hex of r and s. */
    signature: string;
  };
  /** One row for each start of a signer; of the installation, not of an organization. */
  boot_proofs: {
    id: string;
    /** Hex of 130 bytes. */
    ephemeral_public_key: string;
    /** JSON, exactly as it was hashed and signed. */
    manifest: string;
    manifest_envelope: string;
    attestation: string;
    deployment_label: string;
    started_at: number;
    /** When a server last found this signer running. */
    seen_at: number;
  };
  policies: {
    id: string;
    organization_id: string;
    name: string;
    effect: "EFFECT_ALLOW" | "EFFECT_DENY";
    /** Empty: holds always. */
    consensus: string;
    condition: string;
    time: string | null;
    notes: string;
    created_at: number;
    updated_at: number;
  };
  policy_evaluations: {
    id: string;
    organization_id: string;
    activity_id: string;
    vote_id: string;
    /** JSON: `{list, outcomes}`, or the list of `{policyId, outcome}` that earlier versions stored. */
    evaluations: string;
    created_at: number;
  };
  policy_lists: {
    organization_id: string;
    /** The SHA-256 of `policy_ids` in base64url. */
    id: string;
    /** JSON list. */
    policy_ids: string;
  };
  mfa_policies: {
    id: string;
    organization_id: string;
    user_id: string;
    name: string;
    condition: string;
    /** JSON list of `{any: [{type, id?}]}`. */
    required_methods: string;
    /** The lowest of those whose condition holds applies. */
    position: number;
    notes: string | null;
    created_at: number;
    updated_at: number;
  };
  /** Stamps of a user on an activity beyond that of the vote: proof of further credentials. */
  authentications: {
    id: string;
    organization_id: string;
    activity_id: string;
    user_id: string;
    message: string;
    public_key: string;
    signature: string;
    scheme: string;
    /** JSON `{authenticatorData, clientDataJson}` in base64url: what a passkey signed beside the body; null for other stamps. */
    assertion: Generated<string | null>;
    created_at: number;
  } & ShownCredentialColumns;
  session_profiles: {
    id: string;
    /** A parent; its sub-organizations see it too. */
    organization_id: string;
    name: string;
    scope: string;
    expiration_seconds: number | null;
    notes: string | null;
    created_at: number;
    updated_at: number;
  };
  ip_allowlists: {
    organization_id: string;
    /** The organization's own id, or that of the API key that the list is for. */
    id: string;
    /** Null for the organization's list. */
    api_key_id: string | null;
    /** Of the organization's list; that of a key is in force as soon as it is there. */
    enabled: number;
    on_evaluation_error: "ALLOW" | "DENY";
    /** JSON list of `{cidr, label?, createdAt}`, the time in milliseconds. */
    rules: string;
    created_at: number;
    updated_at: number;
  };
  smart_contract_interfaces: {
    id: string;
    organization_id: string;
    type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM" | "SMART_CONTRACT_INTERFACE_TYPE_SOLANA";
    address: string;
    /** The address as it is looked up: lowercase where the chain ignores case. */
    lookup: string;
    label: string;
    notes: string;
    /** As it was sent. */
    interface_json: string;
    /** Its length in UTF-8. */
    interface_bytes: number;
    created_at: number;
    updated_at: number;
  };
  /** Each serves one import of one user, for a day. */
  import_keys: {
    organization_id: string;
    id: string;
    user_id: string;
    purpose: "key" | "secret";
    sealed_key: Uint8Array;
    /** Lowercase hex of the uncompressed point. */
    target_public_key: string;
    created_at: number;
  };
  secrets: {
    id: string;
    organization_id: string;
    name: string | null;
    /** JSON list of `{key, value}`. */
    static_properties: string;
    sealed_secret: Uint8Array;
    exported: number;
    created_at: number;
  };
  oauth2_credentials: {
    id: string;
    organization_id: string;
    provider: string;
    client_id: string;
    /** Lowercase hex, as the client encrypted it: what is shown. */
    encrypted_client_secret: string;
    /** What is used. */
    sealed_client_secret: Uint8Array;
    created_at: number;
    updated_at: number;
  };
  invitations: {
    id: string;
    organization_id: string;
    status: "CREATED" | "ACCEPTED" | "REVOKED";
    receiver_name: string;
    receiver_email: string;
    /** JSON list; a tag that was deleted since stays in it. */
    receiver_tag_ids: string;
    access_type: string;
    /** Who invited, still or no longer a user. */
    sender_user_id: string;
    created_at: number;
    updated_at: number;
  };
  wallets: {
    id: string;
    organization_id: string;
    name: string;
    /** The words, and the passphrase if there is one. */
    sealed_wallet: Uint8Array;
    exported: number;
    imported: number;
    created_at: number;
    updated_at: number;
  };
  wallet_accounts: {
    id: string;
    organization_id: string;
    wallet_id: string;
    curve: string;
    path: string;
    address_format: string;
    address: string;
    /** The address as it is looked up: in its one spelling. */
    lookup: string;
    /** Lowercase hex: compressed, or the 32 bytes of an Ed25519 key. */
    public_key: string;
    name: string | null;
    exported: number;
    created_at: number;
    updated_at: number;
  };
  /** Mail that was asked for. What is in it is sealed with its job. */
  mails: {
    /** Who asked for it. */
    organization_id: string;
    /** Its Message-ID derives from it. */
    id: string;
    to_address: string;
    /** The provider's, null until it is known what became of the mail. */
    message_id: string | null;
    created_at: number;
  };
  email_events: {
    organization_id: string;
    /** Carries the time of the event, so that events sort by it. */
    id: string;
    /** What told of the event; the same is counted once. */
    source: string;
    /** The recipient's address in lowercase. */
    lookup: string;
    message_id: string;
    event_type: string;
    from_address: string;
    to_address: string;
    sender_tenant: string | null;
    /** JSON. */
    details: string;
    occurred_at: number;
    /** When it was told. */
    created_at: number;
  };
}
