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
    /** Whether it was deleted and still has rows, which a job erases. */
    erasing: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** Servers that run on this database, or did and died. */
  servers: {
    id: string;
    host: string;
    pid: number;
    version: string;
    url: string;
    state: "serving" | "maintenance" | "draining" | "draining in maintenance";
    /** Whether an operator told it to drain. */
    is_draining: number;
    started_at: number;
    /** Its last sign of life. */
    seen_at: number;
  };
  /** Quotas that an operator set in place of the installation's; null is none. */
  organization_quotas: {
    organization_id: string;
    name: string;
    figure: number | null;
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
    /** The parent, or the organization itself where it has none: a parent looks its users up together. */
    root_id: Generated<string>;
    /** How many of them the user has. */
    mfa_policies: Generated<number>;
    /** Rises with every change to the user, its credentials or its tags; what is derived from them is cached under it. */
    version: number;
    created_at: number;
    updated_at: number;
  };
  /** What users have shown to receive. Of a parent and all below it one user at most has a contact so. */
  verified_contacts: {
    /** The parent, or the organization itself where it has none. */
    root_id: string;
    type: "EMAIL" | "PHONE_NUMBER";
    /** As it is compared: an e-mail address in lowercase, or a phone number in E.164. */
    contact: string;
    organization_id: string;
    user_id: string;
    created_at: number;
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
    /** Whom the app says it was that asked; null where it does not. */
    user_identifier: string | null;
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
  /** What was decided or delivered on a day, counted a while after it happened. */
  daily_counts: {
    organization_id: string;
    /** Since 1970, in UTC. */
    day: number;
    source: "ACTIVITY" | "DELIVERY";
    /** Of the activity; empty of deliveries. */
    type: string;
    /** The status that it ended in. */
    outcome: string;
    /** The type of the transaction that was signed; empty of all else. */
    detail: string;
    count: number;
  };
  /** The millisecond before which all of a source was counted. */
  counted_sources: { source: "ACTIVITY" | "DELIVERY"; counted_until: number };
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
    /** When it was last sent a test event; null if never. */
    tested_at: Generated<number | null>;
    /** 1: it was deleted, and a job deletes what was sent to it. */
    erasing: Generated<number>;
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
    /** As it is sent, but for what is read from the activity's body; it may be compressed (`src/capabilities/webhooks/packed-body.ts`). */
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
  /** How far each chain was followed; of the installation, not of an organization. */
  followed_chains: {
    caip2: string;
    /** The last block that was looked at, and its hash. */
    head_number: number;
    head_hash: string;
    /** Up to here nothing changes any more. */
    finalized_number: number;
    /** Of the chain's first block; null until a node told it. */
    genesis_hash: string | null;
    updated_at: number;
  };
  /** The recent blocks of these chains, by which a reorganization shows. */
  followed_blocks: { caip2: string; number: number; hash: string };
  /** Transactions that concern an address of a wallet account, as seen from it. */
  eth_history: {
    organization_id: string;
    caip2: string;
    /** Lowercase. */
    address: string;
    /** Of the block and of the transaction in it: see `capabilities/history/position.ts`. */
    position: number;
    block_hash: string;
    /** Milliseconds. */
    block_time: number;
    transaction_hash: string;
    /** Of Ethereum in lowercase, as all its addresses here; of Solana who paid the fee. */
    sender: string;
    /** Null where it made a contract. */
    recipient: string | null;
    /** In atomic units. */
    fee_amount: string;
    /** The token that the fee was paid in; null for the chain's native asset. */
    fee_token: string | null;
    /** JSON list of `{direction, token, counterparty, amount}`; `token` is null for the native asset. */
    transfers: string;
    /** JSON list of what events tell of it: `{operation, asset, amount}`; null where nothing is to be told. */
    changes: string | null;
    /** What was told of it: see `capabilities/history/telling.ts`. */
    told: number;
    /** JSON of `{signers, failed}`, for a transaction of Solana; null for others. */
    solana: string | null;
    /** Whether it failed in its block; null where that is not known, as of what an older release read. */
    failed: Generated<number | null>;
  };
  /** Transactions that activities sent as they were, by the hash under which a chain knows them. */
  own_transactions: {
    organization_id: string;
    caip2: string;
    transaction_hash: string;
    activity_id: string;
    /** Whether the installation paid for it. */
    sponsored: number;
    /** Of the activity, once it is archived. */
    fingerprint: Generated<string | null>;
    submitted_at: Generated<number | null>;
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
    /** When it was taken back, while the activity was open. */
    revoked_at: Generated<number | null>;
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
  auth_proxies: {
    organization_id: string;
    /** The configuration id that clients name. */
    id: string;
    user_id: string | null;
    policy_id: string | null;
    /** Null while it is disabled, as the key is gone then. */
    public_key: string | null;
    /** base64. */
    sealed_key: string | null;
    /** JSON of what was set. */
    settings: string;
    created_at: number;
    updated_at: number;
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
  on_ramp_credentials: {
    id: string;
    organization_id: string;
    provider: string;
    project_id: string | null;
    publishable_api_key: string;
    /** As the client encrypted them: what is shown. */
    encrypted_secret_api_key: string;
    encrypted_private_api_key: string | null;
    /** Both keys, which is what is used. */
    sealed_keys: Uint8Array;
    sandbox: number;
    created_at: number;
    updated_at: number;
  };
  /** Purchases that were begun at a provider. */
  tvc_operators: {
    id: string;
    organization_id: string;
    name: string;
    /** Hex: encryption key, then signing key. */
    public_key: string;
    /** The wallet that holds its keys; null where they are elsewhere. */
    wallet_id: string | null;
    created_at: number;
    updated_at: number;
  };
  tvc_operator_sets: {
    id: string;
    organization_id: string;
    name: string;
    threshold: number;
    /** Of name, threshold and members: the same set is not made twice. */
    fingerprint: string;
    created_at: number;
    updated_at: number;
  };
  tvc_operator_set_members: {
    organization_id: string;
    set_id: string;
    position: number;
    operator_id: string;
  };
  tvc_apps: {
    id: string;
    organization_id: string;
    name: string;
    quorum_public_key: string;
    manifest_set_id: string;
    share_set_id: string;
    enable_egress: number;
    /** Whether its deployments may be in debug mode. */
    enable_debug: number;
    /** The quorum key that was made here; null for one from elsewhere. */
    quorum_key_id: string | null;
    /** Which deployment gets the requests; null while none does. */
    live_deployment_id: string | null;
    deleted_at: number | null;
    created_at: number;
    updated_at: number;
  };
  tvc_deployments: {
    id: string;
    organization_id: string;
    app_id: string;
    manifest_id: string;
    /** Canonical JSON: its bytes are what was hashed. */
    manifest: string;
    qos_version: string;
    /** As the request names it ... */
    image_url: string;
    /** ... and what that was then, `sha256:…`. */
    image_digest: string;
    /** JSON, of the credential for the image's registry; null where it takes none. */
    sealed_pull_secret: string | null;
    pivot_path: string;
    /** JSON. */
    pivot_args: string;
    /** Of the program, SHA-256, hex. */
    pivot_digest: string;
    debug_mode: number;
    health_check_type: string;
    health_check_port: number;
    public_ingress_port: number;
    replicas: number;
    /** When enough operators had approved the manifest; null until then. */
    approved_at: number | null;
    deleted_at: number | null;
    /** When what it ran with was removed, after which it cannot be restored. */
    cleaned_up_at: number | null;
    /** Whether it is to run: approved and not deleted. */
    is_wanted: number;
    created_at: number;
    updated_at: number;
  };
  tvc_manifest_approvals: {
    id: string;
    organization_id: string;
    deployment_id: string;
    operator_id: string;
    /** Hex: r || s. */
    signature: string;
    created_at: number;
    updated_at: number;
  };
  /** Keys of apps that were made here; nobody has their secrets. */
  tvc_quorum_keys: {
    id: string;
    organization_id: string;
    /** Hex: encryption key, then signing key. */
    public_key: string;
    threshold: number;
    created_at: number;
    updated_at: number;
  };
  tvc_quorum_key_shares: {
    id: string;
    organization_id: string;
    quorum_key_id: string;
    position: number;
    operator_id: string;
    /** Hex; for the operator's encryption key. */
    encrypted_share: string;
    /** Of the share, SHA-256, hex. */
    digest: string;
  };
  /** What operators handed in for a deployment: each the last one. */
  tvc_provisioning_shares: {
    id: string;
    organization_id: string;
    deployment_id: string;
    operator_id: string;
    /** To which it is encrypted, hex: that of one start of a runner. */
    ephemeral_public_key: string;
    /** Hex. */
    share: string;
    /** Of the manifest, hex: r || s. */
    signature: string;
    created_at: number;
    updated_at: number;
  };
  /** Which server runs a deployment, and how that goes. */
  tvc_runs: {
    organization_id: string;
    deployment_id: string;
    runner_id: string;
    /** After that another server may run it, and nothing is known of it. */
    leased_until: number;
    ready_replicas: number;
    /** JSON: the document about the key that its runner receives shares with; null where it takes none, or has no key yet. */
    provisioning: string | null;
    /** Whether its runner has the quorum key. */
    is_provisioned: number;
    created_at: number;
    /** When `ready_replicas` or the provisioning changed last. */
    updated_at: number;
  };
  on_ramp_transactions: {
    id: string;
    organization_id: string;
    /** One of the organization or of its parent, which may be deleted since. */
    credential_id: string;
    provider: string;
    sandbox: number;
    status: string;
    /** Where it pays to; null where an earlier version began it. */
    wallet_address: string | null;
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
    /** Hex of the SHA-256 of the token that was mailed; null where none was. */
    token_hash: string | null;
    /** Null where there is no token. */
    expires_at: number | null;
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
  /** Transactions that are signed, and what became of them. */
  send_transactions: {
    organization_id: string;
    id: string;
    /** The activity that it was signed for. */
    activity_id: string;
    /** In its one spelling. */
    caip2: string;
    status: "INITIALIZED" | "BROADCASTING" | "INCLUDED" | "FAILED";
    /** As it is given to nodes. */
    signed_transaction: Uint8Array;
    /** By which the chain knows it. */
    transaction_hash: string;
    sponsored: number;
    /** JSON, as the API shows it. */
    error: string | null;
    /** JSON: what whoever follows it remembers from one look to the next. */
    progress: string | null;
    /** When it was given to a node last. */
    sent_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Nonces of accounts, taken by transactions that a block may still have, or lose again. */
  send_nonces: {
    organization_id: string;
    caip2: string;
    /** Lowercase. */
    address: string;
    nonce: number;
    /** Of the row in `send_transactions`. */
    send_id: string;
    created_at: number;
  };
  /** Transactions that the installation pays for, beside their rows in `send_transactions`. */
  sponsored_sends: {
    organization_id: string;
    id: string;
    caip2: string;
    /** The installation's account that pays; lowercase for Ethereum chains. */
    payer: string;
    /** What is paid for. */
    purpose: string;
    /** JSON: what is sent. */
    plan: string;
    /** Of one queue one transaction at a time is on its way: the account whose calls are paid for; its own id where it waits for no other. */
    queue: string;
    /** When others were let before it, as its turn had not come; 0 for never. */
    put_off_at: number;
    /** When it came to its end; null while it is followed. */
    ended_at: number | null;
    created_at: number;
  };
  /** As `send_nonces`, of the installation's own accounts. */
  sponsor_nonces: {
    caip2: string;
    address: string;
    nonce: number;
    send_id: string;
    created_at: number;
  };
  /** What parents limit sponsoring to. */
  gas_usage_configs: {
    organization_id: string;
    id: string;
    /** US dollars as they were written; `0` for no limit. */
    org_limit_usd: string;
    sub_org_limit_usd: string;
    window_minutes: number;
    enabled: number;
    /** Whether the rent of accounts is paid that sponsored transactions create on Solana. */
    pays_rent: number;
    created_at: number;
    updated_at: number;
  };
  /** What sponsoring costs by the minute; a parent's rows have its sub-organizations' cost too. */
  gas_usage: {
    organization_id: string;
    /** Since 1970. */
    minute: number;
    /** Millionths of a US dollar. */
    micro_usd: number;
  };
  /** Each sponsored transaction's part in that: at first the most that it can cost, then what it did. */
  gas_costs: {
    organization_id: string;
    /** Of the row in `send_transactions`. */
    send_id: string;
    parent_id: string | null;
    minute: number;
    /** US dollars for one unit of the chain's asset. */
    native_price: string;
    micro_usd: number;
  };
  /** Vaults of the catalog beside those of the configuration: what `keystead earn import` took. */
  earn_vaults: {
    caip2: string;
    /** Lowercase, as all addresses of earn. */
    vault_address: string;
    provider: string;
    name: string;
    curator: string;
    created_at: number;
    updated_at: number;
  };
  /** What one whole share of a vault was worth. */
  earn_share_prices: {
    caip2: string;
    vault_address: string;
    /** Seconds. */
    block_timestamp: number;
    block_number: number;
    /** Of the asset, in digits. */
    assets_per_share: string;
  };
  /** Wrappers that organizations have over vaults. */
  earn_wrappers: {
    organization_id: string;
    wrapper_address: string;
    splitter_address: string;
    caip2: string;
    vault_address: string;
    provider: string;
    name: string;
    curator: string;
    /** The token that is deposited. */
    asset: string;
    asset_decimals: number;
    client_fee_bps: number;
    service_fee_bps: number;
    client_fee_wallet: string;
    deposits_disabled: number;
    /** The last one. */
    deploy_request_id: string;
    created_at: number;
    updated_at: number;
  };
  /** What was asked of wrappers, by the id of its last transaction. */
  earn_requests: {
    organization_id: string;
    id: string;
    kind: "DEPLOY" | "DEPOSIT" | "WITHDRAW" | "CLAIM";
    wrapper_address: string;
    /** Whose it is; empty for a deployment. */
    wallet_address: string;
    /** Of the asset, in digits, or MAX; empty for a deployment. */
    amount: string;
    status: "PENDING" | "COMPLETED" | "FAILED";
    /** Empty until there is one. */
    transaction_hash: string;
    error: string | null;
    /**
     * What it changed in the totals of its position, as JSON, with the block as of which it was read what a withdrawal of everything left;
     * null where that is nothing, or is in what was read with such a one.
     */
    booked: string | null;
    created_at: number;
    updated_at: number;
  };
  /** What came into a wrapper from a wallet and went back to it since it had nothing there. */
  earn_positions: {
    organization_id: string;
    wallet_address: string;
    wrapper_address: string;
    /** Digits. */
    total_deposited: string;
    total_withdrawn: string;
    /** The block by which they were read from the chain, when all was withdrawn; 0 for never. */
    read_at_block: number;
    created_at: number;
    updated_at: number;
  };
  /** What parents take of swaps, theirs and those of their sub-organizations. */
  swap_configs: {
    organization_id: string;
    /** Digits; null where none was given. */
    fee_bps: string | null;
    stable_fee_bps: string | null;
    /** Null where there is nobody to receive. */
    receiver: string | null;
    /** That of the wallet which was made for it; it is used again. */
    made_receiver: string | null;
    created_at: number;
    updated_at: number;
  };
  /** What providers offered, until it is used or thrown away. */
  swap_quotes: {
    organization_id: string;
    id: string;
    /** What the identifier is the hash of: JSON, with what the client was told. */
    terms: string;
    provider: string;
    /** JSON: what the provider wants called, as it was checked. */
    offer: string;
    expires_at: number;
    created_at: number;
    updated_at: number;
  };
  swaps: {
    organization_id: string;
    /** The fingerprint of its activity. */
    id: string;
    quote_id: string;
    /** Of its transaction. */
    send_id: string;
    provider: string;
    provider_request_id: string;
    kind: "SAME_CHAIN" | "CROSS_CHAIN";
    wallet_address: string;
    /** CAIP-19, both. */
    input_token: string;
    output_token: string;
    input_amount: string;
    status: "PENDING" | "COMPLETED" | "FAILED";
    /** What came in, in digits, once it is known. */
    output_amount: string | null;
    /** JSON, each: what the provider says of the other chain, and why it failed. */
    destination_hashes: string | null;
    refund: string | null;
    error: string | null;
    created_at: number;
    updated_at: number;
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
  /** Lines of the audit stream that a sink does not have yet. */
  audit_lines: {
    sink: string;
    /** Given by the database: in the order of an organization's commits. */
    seq: Generated<number>;
    organization_id: string;
    /** One JSON object. */
    line: string;
    created_at: number;
  };
  /** Which server takes lines to a sink. */
  audit_sinks: { name: string; owner: string; leased_until: number };
}
