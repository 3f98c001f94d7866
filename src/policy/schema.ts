import {
  ADDRESS,
  ARGUMENT,
  BOOL,
  EVM_ARGUMENT,
  HEX,
  INT,
  list,
  map,
  STRING,
  type StructType,
  struct,
  TIMESTAMP,
  type Type,
  UINT,
} from "./types.ts";

/** The three expressions of a policy. The conditions of MFA policies and the scopes of session profiles are of the kind `condition`. */
export type Scope = "consensus" | "condition" | "time";

const user = struct("User", { id: STRING, tags: list(STRING), email: STRING, alias: STRING });

const credential = struct("Credential", {
  id: STRING,
  user_id: STRING,
  type: STRING,
  credential_id: STRING,
  public_key: STRING,
});

const wallet = struct("Wallet", { id: STRING, imported: BOOL, exported: BOOL, label: STRING });

const privateKey = struct("PrivateKey", {
  id: STRING,
  tags: list(STRING),
  imported: BOOL,
  exported: BOOL,
  label: STRING,
});

const walletAccount = struct("WalletAccount", {
  address: ADDRESS,
  path_indexes: list(INT),
  path_hardened: list(BOOL),
});

const secret = struct("Secret", { static_properties: map(STRING) });

/** `activity.params` has no fields of its own here; its fields depend on the activity type, see `activityParams`. */
export const paramsType: StructType = struct("Params", {});

const activity = struct("Activity", {
  type: STRING,
  kind: STRING,
  resource: STRING,
  action: STRING,
  params: paramsType,
});

/** EVM amounts are 256 bits wide, so they are `uint` although the published table says `int`. */
const ethereumTransaction = struct("EthereumTransaction", {
  from: HEX,
  to: HEX,
  data: HEX,
  value: UINT,
  gas: UINT,
  gas_price: UINT,
  chain_id: UINT,
  nonce: UINT,
  max_fee_per_gas: UINT,
  max_priority_fee_per_gas: UINT,
  max_fee_per_blob_gas: UINT,
  type: STRING,
  function_name: STRING,
  function_signature: HEX,
  contract_call_args: map(EVM_ARGUMENT),
});

const eip712TypedData = struct("Eip712TypedData", {
  primary_type: STRING,
  domain: struct("Eip712Domain", { name: STRING, version: STRING, chain_id: UINT, verifying_contract: HEX }),
  message: map(EVM_ARGUMENT),
});

const eip7702Authorization = struct("Eip7702Authorization", { address: HEX, chain_id: UINT, nonce: UINT });

const lookupReference = struct("AddressTableLookupReference", {
  address_table_key: STRING,
  index: INT,
  writable: BOOL,
});

const solanaInstruction = struct("Instruction", {
  program_key: STRING,
  accounts: list(struct("Account", { account_key: STRING, signer: BOOL, writable: BOOL })),
  instruction_data_hex: STRING,
  address_table_lookups: list(lookupReference),
  parsed_instruction_data: struct(
    "SolanaParsedInstructionData",
    {
      instruction_name: STRING,
      discriminator: STRING,
      named_accounts: map(STRING),
      program_call_args: map(ARGUMENT),
    },
    { named_account: "named_accounts" },
  ),
});

const solanaTransaction = struct(
  "SolanaTransaction",
  {
    account_keys: list(STRING),
    program_keys: list(STRING),
    instructions: list(solanaInstruction),
    transfers: list(struct("Transfer", { from: STRING, to: STRING, amount: INT })),
    recent_blockhash: STRING,
    spl_transfers: list(
      struct("SPLTransfer", {
        from: STRING,
        to: STRING,
        amount: INT,
        owner: STRING,
        signers: list(STRING),
        token_mint: STRING,
      }),
    ),
    address_table_lookups: list(
      struct("AddressTableLookup", {
        address_table_key: STRING,
        writable_indexes: list(INT),
        readonly_indexes: list(INT),
      }),
    ),
    address_table_lookup_references: list(lookupReference),
  },
  {
    static_account_keys: "account_keys",
    top_level_program_keys: "program_keys",
    top_level_instructions: "instructions",
  },
);

const tronPermission = struct("TronPermission", {
  type: STRING,
  id: INT,
  permission_name: STRING,
  threshold: INT,
  parent_id: INT,
  operations: STRING,
  keys: list(struct("TronKey", { address: STRING, weight: INT })),
});

const tronTransaction = struct("TronTransaction", {
  ref_block_bytes: STRING,
  ref_block_hash: STRING,
  expiration: INT,
  timestamp: INT,
  data: STRING,
  fee_limit: INT,
  contract: list(
    struct("TronContract", {
      type: STRING,
      permission_id: INT,
      owner_address: STRING,
      to_address: STRING,
      amount: INT,
      contract_address: STRING,
      call_value: INT,
      data: STRING,
      call_token_value: INT,
      token_id: INT,
      resource: STRING,
      balance: INT,
      receiver_address: STRING,
      lock: BOOL,
      lock_period: INT,
      frozen_balance: INT,
      unfreeze_balance: INT,
      owner: tronPermission,
      witness: tronPermission,
      actives: list(tronPermission),
    }),
  ),
});

const bitcoinTransaction = struct("BitcoinTransaction", {
  version: STRING,
  inputs: list(struct("BitcoinTxInput", { tx_id: STRING, vout: INT, sequence: INT })),
  outputs: list(
    struct("BitcoinTxOutput", { value: INT, script_pubkey: STRING, address: STRING, address_type: STRING }),
  ),
  locktime: struct("BitcoinTxLocktime", { amount: INT, type: STRING }),
  fee: INT,
});

const tempoTransaction = struct("TempoTransaction", {
  chain_id: UINT,
  from: HEX,
  nonce: UINT,
  gas_limit: UINT,
  max_fee_per_gas: UINT,
  max_priority_fee_per_gas: UINT,
  fee_token: HEX,
  valid_before: UINT,
  valid_after: UINT,
  calls: list(struct("TempoCall", { to: HEX, input: HEX, function_signature: HEX })),
});

/** Keywords of conditions that are only namespaces: `eth.tx` is a fact, `eth` is not. */
export const namespaces: ReadonlySet<string> = new Set(["eth", "solana", "tron", "bitcoin", "tempo"]);

/** The keywords of each scope. */
export const keywords: Record<Scope, Readonly<Record<string, Type>>> = {
  consensus: { approvers: list(user), credentials: list(credential) },
  condition: {
    activity,
    eth: struct("Eth", {
      tx: ethereumTransaction,
      eip_712: eip712TypedData,
      eip_7702_authorization: eip7702Authorization,
    }),
    solana: struct("Solana", { tx: solanaTransaction }),
    tron: struct("Tron", { tx: tronTransaction }),
    bitcoin: struct("Bitcoin", { tx: bitcoinTransaction }),
    tempo: struct("Tempo", { tx: tempoTransaction }),
    wallet,
    wallets: list(wallet),
    private_key: privateKey,
    wallet_account: walletAccount,
    secret,
  },
  time: { time: struct("Time", { now: TIMESTAMP }) },
};

/** `type` names the only member that a request has. */
export const sparkKeyDerivation = struct("SparkKeyDerivation", {
  type: STRING,
  signing_leaf: struct("SparkSigningLeafDerivation", { leaf_id: STRING }),
  static_deposit: struct("SparkStaticDepositDerivation", { index: INT }),
});

const sparkOperatorRecipients = list(
  struct("SparkOperatorRecipient", { operator_id: STRING, encryption_public_key: STRING }),
);

const sparkSignatureRequest = struct("SparkSignatureRequest", {
  derivation: sparkKeyDerivation,
  message: STRING,
  verifying_key: STRING,
  operator_commitments: list(struct("SparkFrostCommitment", { id: STRING, hiding: STRING, binding: STRING })),
  adaptor_public_key: STRING,
});

const sparkTransferPackage = struct("SparkTransferPackage", {
  transfer_id: STRING,
  leaves: list(
    struct("SparkTransferLeaf", {
      leaf_id: STRING,
      old_leaf_derivation: sparkKeyDerivation,
      new_leaf_derivation: sparkKeyDerivation,
      refund_signature: STRING,
      direct_refund_signature: STRING,
      direct_from_cpfp_refund_signature: STRING,
    }),
  ),
  threshold: INT,
  operator_recipients: sparkOperatorRecipients,
  receiver_public_key: STRING,
});

const sparkClaimPackage = struct("SparkClaimPackage", {
  leaves: list(struct("SparkClaimLeaf", { leaf_id: STRING, ciphertext: STRING, sender_signature: STRING })),
  threshold: INT,
  operator_recipients: sparkOperatorRecipients,
  transfer_id: STRING,
  sender_identity_public_key: STRING,
});

const sparkLightningReceivePackage = struct("SparkLightningReceivePackage", {
  threshold: INT,
  operator_recipients: sparkOperatorRecipients,
});

const payload = { hash_function: STRING, encoding: STRING };
const exportBundle = { target_public_key: STRING };
const login = { session_profile_id: STRING };

/** The fields of `activity.params` by activity type; types that are not listed have none. */
export const activityParams: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
  ACTIVITY_TYPE_SIGN_RAW_PAYLOAD: payload,
  ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2: payload,
  ACTIVITY_TYPE_SIGN_RAW_PAYLOADS: payload,
  ACTIVITY_TYPE_SIGN_TRANSACTION_V2: { type: STRING },
  ACTIVITY_TYPE_DELETE_USERS: { user_ids: list(STRING) },
  ACTIVITY_TYPE_CREATE_API_KEYS: { user_id: STRING },
  ACTIVITY_TYPE_CREATE_API_KEYS_V2: { user_id: STRING },
  ACTIVITY_TYPE_DELETE_API_KEYS: { user_id: STRING, api_key_ids: list(STRING) },
  ACTIVITY_TYPE_EXPORT_WALLET: exportBundle,
  ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT: exportBundle,
  ACTIVITY_TYPE_EXPORT_PRIVATE_KEY: exportBundle,
  ACTIVITY_TYPE_UPDATE_WALLET: { wallet_id: STRING },
  ACTIVITY_TYPE_INIT_OTP_AUTH_V2: { otp_length: INT },
  ACTIVITY_TYPE_INIT_OTP_AUTH_V3: { otp_length: INT },
  ACTIVITY_TYPE_OTP_LOGIN: login,
  ACTIVITY_TYPE_OTP_LOGIN_V2: login,
  ACTIVITY_TYPE_STAMP_LOGIN: login,
  ACTIVITY_TYPE_OAUTH_LOGIN: login,
  ACTIVITY_TYPE_UPDATE_WEBHOOK_ENDPOINT: { endpoint_id: STRING },
  ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT: { endpoint_id: STRING },
  ACTIVITY_TYPE_SPARK_SIGN_FROST: { sign_with: STRING, signatures: list(sparkSignatureRequest) },
  ACTIVITY_TYPE_SPARK_PREPARE_TRANSFER: { sign_with: STRING, transfer: sparkTransferPackage },
  ACTIVITY_TYPE_SPARK_CLAIM_TRANSFER: { sign_with: STRING, claim: sparkClaimPackage },
  ACTIVITY_TYPE_SPARK_PREPARE_LIGHTNING_RECEIVE: {
    sign_with: STRING,
    lightning_receive: sparkLightningReceivePackage,
  },
  ACTIVITY_TYPE_UPSERT_SWAP_CONFIG: {
    fee_receiver_wallet_address: ADDRESS,
    fee_bps: STRING,
    stable_fee_bps: STRING,
  },
  ACTIVITY_TYPE_CREATE_SWAP_QUOTE: {
    sign_with: STRING,
    input_token: HEX,
    output_token: HEX,
    input_amount: STRING,
    slippage_bps: STRING,
  },
  ACTIVITY_TYPE_EXECUTE_SWAP_V2: {
    quote_id: STRING,
    input_token: HEX,
    input_amount: STRING,
    output_token: HEX,
    quoted_output_amount: STRING,
    min_output_amount: STRING,
    sponsor: BOOL,
    evm_nonce: STRING,
    recent_blockhash: STRING,
    gas_station_nonce: STRING,
  },
};

/** The type of `activity.params.<field>`, which is the same for every activity type with that field. */
export const paramTypes: ReadonlyMap<string, Type> = new Map(
  Object.values(activityParams).flatMap((fields) => Object.entries(fields)),
);
