import type { Generated } from "kysely";

/** The credential behind a stamp, as it was then; null in rows that were decided before 0014-uses-and-revocations. */
interface ShownCredentialColumns {
  credential_id: Generated<string | null>;
  credential_type: Generated<string | null>;
  session_profile_id: Generated<string | null>;
}

/**
 * The tables, as the code sees them. Times are integer milliseconds, flags are 0 or 1, lists and free-form values are JSON text, and
 * secrets are always sealed bytes. `organization_id` leads every key, so that no query can cross organizations by forgetting it. The
 * migrations in `migrations/` create exactly this schema.
 */
export interface Schema {
  installation: { name: string; value: string };
  organizations: {
    id: string;
    parent_id: string | null;
    name: string;
    sealed_key: Uint8Array;
    quorum_threshold: number;
    /** Increases with every change to the organization's policies, which are cached in memory by this version. */
    policies_version: Generated<number>;
    /** When the sub-organization was deleted: its keys are gone, its activities remain. */
    deleted_at: Generated<number | null>;
    /** Whether it was deleted and still has rows, which a job erases. */
    erasing: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** Servers that run on this database, or that died without leaving it. */
  servers: {
    id: string;
    host: string;
    pid: number;
    version: string;
    url: string;
    state: "serving" | "maintenance" | "draining" | "draining in maintenance";
    /** Whether an operator has told it to drain. */
    is_draining: number;
    started_at: number;
    /** Its last heartbeat. */
    seen_at: number;
    /** The root keys that it has open, as JSON; null if it is of a version that does not tell. */
    root_keys: string | null;
  };
  /** Quotas that an operator set instead of the installation's; null means no override. */
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
    /** The parent, or the organization itself if it has none: a parent looks up the users of all its sub-organizations together. */
    root_id: Generated<string>;
    /** How many MFA policies the user has. */
    mfa_policies: Generated<number>;
    /** Increases with every change to the user, its credentials or its tags; what is derived from them is cached by this version. */
    version: number;
    created_at: number;
    updated_at: number;
  };
  /** Contacts at which users have proven to receive messages. Among a parent and its sub-organizations, at most one user has a verified contact. */
  verified_contacts: {
    /** The parent, or the organization itself if it has none. */
    root_id: string;
    type: "EMAIL" | "PHONE_NUMBER";
    /** In the form for comparison: an email address in lowercase, or a phone number in E.164. */
    contact: string;
    organization_id: string;
    user_id: string;
    created_at: number;
  };
  /** One-time codes that were sent. */
  otps: {
    organization_id: string;
    id: string;
    /** The parent, or the organization itself if it has none: starts and wrong guesses are counted together for it and its sub-organizations. */
    root_id: string;
    type: "OTP_TYPE_EMAIL" | "OTP_TYPE_SMS";
    /** Email addresses in lowercase. */
    contact: string;
    /** The user for whom `init_otp_auth` sent it; null for a code that only proves a contact. */
    user_id: string | null;
    /** Hex; computed by the signer. */
    mac: string;
    /** base64; clients encrypt their guess to it, in the versions that require that. */
    sealed_target_key: string | null;
    /** Number of wrong guesses. */
    tries: number;
    expires_at: number;
    used_at: number | null;
    created_at: number;
    /** The user who asked for it, according to the app; null if the app does not say. */
    user_identifier: string | null;
  };
  /** Wrong guesses at codes, by contact. */
  otp_failures: { root_id: string; id: string; contact: string; created_at: number };
  /** Tokens that can be used once for each usage. */
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
    /** Null for a key that does not expire. */
    expires_at: number | null;
    /** How the key was obtained when signing in: `stamp`, `otp`, `oidc`, `recovery` or `server`; null for all other keys. */
    grade: Generated<string | null>;
    /** If several organizations have the same key, the one with the lowest value is chosen: see `engine/identity/seniority.ts`. */
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
    /** Like that of API keys. */
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
    /** The address in the form for look-ups: lowercase if the chain ignores case. */
    lookup: string;
  };
  activities: {
    id: string;
    organization_id: string;
    type: string;
    status: string;
    fingerprint: string;
    /** JSON of the parameters as they were sent, under their single key; null under that key if they are read from the body. */
    intent: string;
    /** The stamped body; null for a large one that was denied, and for activities older than this column. */
    body: Generated<string | null>;
    /** JSON of what was planned before the decision; null if nothing was. */
    plan: Generated<string | null>;
    /** JSON of the result; null until there is one. */
    result: string | null;
    /** JSON `{code, message, details}`; null unless the activity failed or was denied. */
    failure: string | null;
    /** Whether app proofs were requested. */
    wants_proofs: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  votes: {
    id: string;
    organization_id: string;
    activity_id: string;
    user_id: string;
    /** The name at the time of the vote, for after the user is deleted. */
    user_name: string;
    selection: "VOTE_SELECTION_APPROVED" | "VOTE_SELECTION_REJECTED";
    /** The exact body that was stamped. */
    message: string;
    public_key: string;
    signature: string;
    scheme: string;
    /** JSON `{authenticatorData, clientDataJson}` in base64url: what a passkey signs in addition to the body; null for other stamps. */
    assertion: Generated<string | null>;
    created_at: number;
    /** When it was revoked, if that happened before the activity was decided. */
    revoked_at: Generated<number | null>;
  } & ShownCredentialColumns;
  /** What was decided or delivered on a day; counted some time later. */
  daily_counts: {
    organization_id: string;
    /** Days since 1970, in UTC. */
    day: number;
    source: "ACTIVITY" | "DELIVERY";
    /** Type of the activity; empty for deliveries. */
    type: string;
    /** The status that it ended in. */
    outcome: string;
    /** Type of the transaction that was signed; empty for everything else. */
    detail: string;
    count: number;
  };
  /** The millisecond before which everything of a source has been counted. */
  counted_sources: { source: "ACTIVITY" | "DELIVERY"; counted_until: number };
  /** Ids of credentials and users that were deleted on purpose: votes made with them no longer count. */
  revocations: { organization_id: string; id: string; revoked_at: number };
  jobs: {
    id: string;
    /** Jobs of one lane run one after the other. */
    lane: string;
    kind: string;
    /** JSON. */
    payload: string;
    /** JSON `{id, sealed}`: what the job must know and nobody else may read; null if there is nothing. */
    sealed_secret: Generated<string | null>;
    /** The organization that the job is for; null for the installation's own jobs. */
    organization_id: string | null;
    /** Jobs with the same key are the same job. */
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
    /** What the lanes have in common that can be slow or down, such as a host. */
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
    /** When its successor replaced it; it stays published for a while. */
    retired_at: number | null;
  };
  webhook_endpoints: {
    id: string;
    organization_id: string;
    url: string;
    name: string;
    is_active: number;
    /** Since when all deliveries have failed; null if the last one succeeded. */
    failing_since: number | null;
    /** When a test event was last sent to it; null if never. */
    tested_at: Generated<number | null>;
    /** 1: it was deleted, and a job deletes its deliveries. */
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
    /** The organization of the event; a parent's endpoints may receive it too. */
    organization_id: string;
    event_type: string;
    /** As it is sent, except for what is read from the activity's body; may be compressed (`src/capabilities/webhooks/packed-body.ts`). */
    body: string;
    /** The activity whose body must be inserted; null if `body` is complete. */
    activity_id: Generated<string | null>;
    created_at: number;
  };
  webhook_deliveries: {
    id: string;
    /** The organization of the endpoint. */
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
  /** A signer's statements about completed activities. */
  app_proofs: {
    organization_id: string;
    activity_id: string;
    position: number;
    boot_proof_id: string;
    payload: string;
    /** Hex of r and s. */
    signature: string;
  };
  /** One row for each start of a signer. Belongs to the installation, not to an organization. */
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
  /** How far each chain was followed. Belongs to the installation, not to an organization. */
  followed_chains: {
    caip2: string;
    /** The last block that was read, and its hash. */
    head_number: number;
    head_hash: string;
    /** Blocks up to this one do not change any more. */
    finalized_number: number;
    /** Hash of the chain's first block; null until a node has returned it. */
    genesis_hash: string | null;
    updated_at: number;
  };
  /** The recent blocks of these chains, which show reorganizations. */
  followed_blocks: { caip2: string; number: number; hash: string };
  /** Transactions that involve an address of a wallet account, as seen from that address. */
  eth_history: {
    organization_id: string;
    caip2: string;
    /** Lowercase. */
    address: string;
    /** Position of the block and of the transaction within it: see `capabilities/history/position.ts`. */
    position: number;
    block_hash: string;
    /** Milliseconds. */
    block_time: number;
    transaction_hash: string;
    /** On Ethereum in lowercase, like all its addresses here; on Solana the account that paid the fee. */
    sender: string;
    /** Null if the transaction created a contract. */
    recipient: string | null;
    /** In atomic units. */
    fee_amount: string;
    /** The token in which the fee was paid; null for the chain's native asset. */
    fee_token: string | null;
    /** JSON list of `{direction, token, counterparty, amount}`; `token` is null for the native asset. */
    transfers: string;
    /** JSON list of the balance changes for events, `{operation, asset, amount}`; null if there are none to report. */
    changes: string | null;
    /** Which events were sent for it: see `capabilities/history/telling.ts`. */
    told: number;
    /** JSON of `{signers, failed}` for a transaction on Solana; null for others. */
    solana: string | null;
    /** Whether it failed in its block; null if unknown, for rows that an older release wrote. */
    failed: Generated<number | null>;
  };
  /** Transactions sent by activities, by the hash that the chain knows. */
  own_transactions: {
    organization_id: string;
    caip2: string;
    transaction_hash: string;
    activity_id: string;
    /** Whether the installation paid for it. */
    sponsored: number;
    /** Fingerprint of the activity, once it is archived. */
    fingerprint: Generated<string | null>;
    submitted_at: Generated<number | null>;
  };
  policies: {
    id: string;
    organization_id: string;
    name: string;
    effect: "EFFECT_ALLOW" | "EFFECT_DENY";
    /** Empty: always true. */
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
    /** The policy with the lowest position whose condition holds applies. */
    position: number;
    notes: string | null;
    created_at: number;
    updated_at: number;
  };
  /** A user's stamps on an activity in addition to that of the vote: proof of further credentials. */
  authentications: {
    id: string;
    organization_id: string;
    activity_id: string;
    user_id: string;
    message: string;
    public_key: string;
    signature: string;
    scheme: string;
    /** JSON `{authenticatorData, clientDataJson}` in base64url: what a passkey signs in addition to the body; null for other stamps. */
    assertion: Generated<string | null>;
    /** When it was revoked, if the activity was still open. */
    revoked_at: Generated<number | null>;
    created_at: number;
  } & ShownCredentialColumns;
  session_profiles: {
    id: string;
    /** A parent; its sub-organizations can use it too. */
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
    /** The organization's own id, or the id of the API key that the list is for. */
    id: string;
    /** Null for the organization's list. */
    api_key_id: string | null;
    /** For the organization's list only; the list of a key applies as soon as it exists. */
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
    /** The address in the form for look-ups: lowercase if the chain ignores case. */
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
  /** Each can be used for one import by one user, for a day. */
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
    /** The configuration id that clients send. */
    id: string;
    user_id: string | null;
    policy_id: string | null;
    /** Null while it is disabled, because the key is deleted then. */
    public_key: string | null;
    /** base64. */
    sealed_key: string | null;
    /** JSON of the settings. */
    settings: string;
    created_at: number;
    updated_at: number;
  };
  oauth2_credentials: {
    id: string;
    organization_id: string;
    provider: string;
    client_id: string;
    /** Lowercase hex, as the client encrypted it; shown in responses. */
    encrypted_client_secret: string;
    /** The secret that is used. */
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
    /** As the client encrypted them; shown in responses. */
    encrypted_secret_api_key: string;
    encrypted_private_api_key: string | null;
    /** Both keys, as they are used. */
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
    /** The wallet that contains its keys; null if they are elsewhere. */
    wallet_id: string | null;
    created_at: number;
    updated_at: number;
  };
  tvc_operator_sets: {
    id: string;
    organization_id: string;
    name: string;
    threshold: number;
    /** Hash of name, threshold and members; prevents duplicates. */
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
    /** The quorum key that was generated here; null for one from elsewhere. */
    quorum_key_id: string | null;
    /** The deployment that gets the requests; null if none does. */
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
    /** As the request names it. */
    image_url: string;
    /** The digest that the URL had at that time, `sha256:…`. */
    image_digest: string;
    /** JSON with the credential for the image's registry; null if it needs none. */
    sealed_pull_secret: string | null;
    pivot_path: string;
    /** JSON. */
    pivot_args: string;
    /** SHA-256 of the program, in hex. */
    pivot_digest: string;
    debug_mode: number;
    health_check_type: string;
    health_check_port: number;
    public_ingress_port: number;
    replicas: number;
    /** When enough operators had approved the manifest; null until then. */
    approved_at: number | null;
    deleted_at: number | null;
    /** When what it ran with, such as the pull secret, was removed; it cannot be restored after that. */
    cleaned_up_at: number | null;
    /** Whether it must run: approved and not deleted. */
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
  /** Keys of apps that were generated here; nobody has their secrets. */
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
    /** Hex; encrypted to the operator's encryption key. */
    encrypted_share: string;
    /** SHA-256 of the share, in hex. */
    digest: string;
  };
  /** The last share that each operator submitted for a deployment. */
  tvc_provisioning_shares: {
    id: string;
    organization_id: string;
    deployment_id: string;
    operator_id: string;
    /** The key to which the share is encrypted, in hex: that of one start of a runner. */
    ephemeral_public_key: string;
    /** Hex. */
    share: string;
    /** Signature of the manifest, in hex: r || s. */
    signature: string;
    created_at: number;
    updated_at: number;
  };
  /** Which server runs a deployment, and its state. */
  tvc_runs: {
    organization_id: string;
    deployment_id: string;
    runner_id: string;
    /** After this time another server may run it, and its state is unknown. */
    leased_until: number;
    ready_replicas: number;
    /** JSON: the attestation of the key to which shares for its runner are encrypted; null if it takes none, or has no key yet. */
    provisioning: string | null;
    /** Whether its runner has the quorum key. */
    is_provisioned: number;
    created_at: number;
    /** When `ready_replicas` or the provisioning last changed. */
    updated_at: number;
  };
  on_ramp_transactions: {
    id: string;
    organization_id: string;
    /** A credential of the organization or of its parent, which may have been deleted since. */
    credential_id: string;
    provider: string;
    sandbox: number;
    status: string;
    /** The address that it pays to; null if an earlier version began it. */
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
    /** JSON list; may contain tags that have been deleted since. */
    receiver_tag_ids: string;
    access_type: string;
    /** The user who invited, who may have been deleted since. */
    sender_user_id: string;
    /** Hex of the SHA-256 of the token that was mailed; null if none was. */
    token_hash: string | null;
    /** Null if there is no token. */
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
    /** The address in its canonical form. */
    lookup: string;
    /** Lowercase hex: compressed, or the 32 bytes of an Ed25519 key. */
    public_key: string;
    name: string | null;
    exported: number;
    created_at: number;
    updated_at: number;
  };
  /** Mail that was requested. Its content is sealed with its job. */
  mails: {
    /** The organization that requested it. */
    organization_id: string;
    /** The Message-ID is derived from it. */
    id: string;
    to_address: string;
    /** The provider's id; null until the outcome is known. */
    message_id: string | null;
    created_at: number;
  };
  /** Signed transactions and their outcomes. */
  send_transactions: {
    organization_id: string;
    id: string;
    /** The activity that signed it. */
    activity_id: string;
    /** In its canonical form. */
    caip2: string;
    status: "INITIALIZED" | "BROADCASTING" | "INCLUDED" | "FAILED";
    /** As it is sent to nodes. */
    signed_transaction: Uint8Array;
    /** The hash by which the chain knows it. */
    transaction_hash: string;
    sponsored: number;
    /** JSON, as in the API. */
    error: string | null;
    /** JSON: state that the job which follows it keeps between checks. */
    progress: string | null;
    /** When it was last sent to a node. */
    sent_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Nonces used by transactions that may still be included in a block, or lost in a reorganization. */
  send_nonces: {
    organization_id: string;
    caip2: string;
    /** Lowercase. */
    address: string;
    nonce: number;
    /** The id of the row in `send_transactions`. */
    send_id: string;
    created_at: number;
  };
  /** Transactions that the installation pays for, in addition to their rows in `send_transactions`. */
  sponsored_sends: {
    organization_id: string;
    id: string;
    caip2: string;
    /** The installation's account that pays; lowercase on Ethereum chains. */
    payer: string;
    /** What is paid for. */
    purpose: string;
    /** JSON: what is sent. */
    plan: string;
    /**
     * At most one transaction of a queue is in flight. The queue is the account whose calls are paid for, or the row's own id if it waits
     * for no other.
     */
    queue: string;
    /** When it was last passed over because its turn had not come; 0 for never. */
    put_off_at: number;
    /** When it reached its final state; null while it is followed. */
    ended_at: number | null;
    created_at: number;
  };
  /** Like `send_nonces`, for the installation's own accounts. */
  sponsor_nonces: {
    caip2: string;
    address: string;
    nonce: number;
    send_id: string;
    created_at: number;
  };
  /** Parents' limits on sponsoring. */
  gas_usage_configs: {
    organization_id: string;
    id: string;
    /** US dollars as they were entered; `0` for no limit. */
    org_limit_usd: string;
    sub_org_limit_usd: string;
    window_minutes: number;
    enabled: number;
    /** Whether the installation pays the rent of accounts that sponsored transactions create on Solana. */
    pays_rent: number;
    created_at: number;
    updated_at: number;
  };
  /** Costs of sponsoring by minute; a parent's rows include its sub-organizations' costs. */
  gas_usage: {
    organization_id: string;
    /** Minutes since 1970. */
    minute: number;
    /** Millionths of a US dollar. */
    micro_usd: number;
  };
  /** The share of each sponsored transaction in that: at first the most that it can cost, then the actual cost. */
  gas_costs: {
    organization_id: string;
    /** The id of the row in `send_transactions`. */
    send_id: string;
    parent_id: string | null;
    minute: number;
    /** US dollars per unit of the chain's asset. */
    native_price: string;
    micro_usd: number;
  };
  /** Vaults of the catalog that are not in the configuration: those added by `keystead earn import`. */
  earn_vaults: {
    caip2: string;
    /** Lowercase, like all addresses of earn. */
    vault_address: string;
    provider: string;
    name: string;
    curator: string;
    created_at: number;
    updated_at: number;
  };
  /** The value of one whole share of a vault over time. */
  earn_share_prices: {
    caip2: string;
    vault_address: string;
    /** Seconds. */
    block_timestamp: number;
    block_number: number;
    /** Amount of the asset, in digits. */
    assets_per_share: string;
  };
  /** Organizations' wrappers over vaults. */
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
    /** The last deployment. */
    deploy_request_id: string;
    created_at: number;
    updated_at: number;
  };
  /** Requests to wrappers, by the id of their last transaction. */
  earn_requests: {
    organization_id: string;
    id: string;
    kind: "DEPLOY" | "DEPOSIT" | "WITHDRAW" | "CLAIM";
    wrapper_address: string;
    /** The depositor's wallet; empty for a deployment. */
    wallet_address: string;
    /** Amount of the asset in digits, or MAX; empty for a deployment. */
    amount: string;
    status: "PENDING" | "COMPLETED" | "FAILED";
    /** Empty until there is one. */
    transaction_hash: string;
    error: string | null;
    /**
     * JSON of what the request changed in the totals of its position, with the block at which the remainder was read after a withdrawal of
     * everything; null if it changed nothing, or if such a reading already includes it.
     */
    booked: string | null;
    created_at: number;
    updated_at: number;
  };
  /** What a wallet deposited into a wrapper and withdrew from it since its balance there was last zero. */
  earn_positions: {
    organization_id: string;
    wallet_address: string;
    wrapper_address: string;
    /** Digits. */
    total_deposited: string;
    total_withdrawn: string;
    /** The block at which the totals were read from the chain, when everything was withdrawn; 0 for never. */
    read_at_block: number;
    created_at: number;
    updated_at: number;
  };
  /** Parents' fees on swaps, their own and those of their sub-organizations. */
  swap_configs: {
    organization_id: string;
    /** Digits; null if not set. */
    fee_bps: string | null;
    stable_fee_bps: string | null;
    /** Null if no receiver is set. */
    receiver: string | null;
    /** The address of the wallet that was created as receiver; reused later. */
    made_receiver: string | null;
    created_at: number;
    updated_at: number;
  };
  /** Offers of providers, until they are used or discarded. */
  swap_quotes: {
    organization_id: string;
    id: string;
    /** JSON that the identifier is the hash of, including what the response told the client. */
    terms: string;
    provider: string;
    /** JSON: the calls that the provider wants made, as they were checked. */
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
    /** The id of its transaction. */
    send_id: string;
    provider: string;
    provider_request_id: string;
    kind: "SAME_CHAIN" | "CROSS_CHAIN";
    wallet_address: string;
    /** Both are CAIP-19. */
    input_token: string;
    output_token: string;
    input_amount: string;
    status: "PENDING" | "COMPLETED" | "FAILED";
    /** The amount received, in digits, once it is known. */
    output_amount: string | null;
    /** JSON each: the provider's information on the other chain, and why the swap failed. */
    destination_hashes: string | null;
    refund: string | null;
    error: string | null;
    created_at: number;
    updated_at: number;
  };
  email_events: {
    organization_id: string;
    /** Contains the time of the event, so that events sort by it. */
    id: string;
    /** Identifies what reported the event; the same event is counted once. */
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
    /** When it was reported. */
    created_at: number;
  };
  /** Lines of the audit stream that have not reached a sink yet. */
  audit_lines: {
    sink: string;
    /** Assigned by the database, in the order of an organization's commits. */
    seq: Generated<number>;
    organization_id: string;
    /** One JSON object. */
    line: string;
    created_at: number;
  };
  /** Which server sends lines to a sink. */
  audit_sinks: { name: string; owner: string; leased_until: number };
}
