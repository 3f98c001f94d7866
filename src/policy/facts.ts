/**
 * The facts on which policies decide: plain data under the names that the language uses. All optional members may be absent; an expression
 * that uses an absent one fails with an error. A property may be a getter, so that, for example, a transaction is parsed only if a policy
 * needs it; a getter caches its result.
 *
 * An absent root (`eth.tx`, `wallet`, see roots.ts) is a fact that such an activity does not have: denials that use it are not about that
 * activity. A fact that the activity has, but whose value cannot be determined, is a getter that throws `MissingFactError`: it denies.
 *
 * Hexadecimal EVM facts begin with `0x`, in either case. Tron's `data` and Solana's `instruction_data_hex` have no prefix and are
 * lowercase.
 */

/** An integer; a `number` must be a safe integer. */
export type IntegerFact = bigint | number;

/** A value of a contract call or a typed message: tuples and arrays are arrays, named structs are objects. */
export type ArgumentFact =
  | boolean
  | IntegerFact
  | string
  | readonly ArgumentFact[]
  | { readonly [field: string]: ArgumentFact };

/** A user in `approvers`. Tags are tag ids. */
export interface UserFacts {
  id: string;
  tags: readonly string[];
  email?: string | undefined;
  alias?: string | undefined;
}

/** A credential that stamped an approval. Only passkeys have a `credential_id`. */
export interface CredentialFacts {
  id: string;
  user_id: string;
  type: string;
  credential_id?: string | undefined;
  public_key?: string | undefined;
}

export interface ConsensusFacts {
  approvers: readonly UserFacts[];
  credentials: readonly CredentialFacts[];
}

export interface TimeFacts {
  /** `now` in milliseconds since 1970-01-01T00:00:00Z; one value for the whole request. */
  time: { now: number };
}

/** `kind` is the type without prefix and version; `resource` and `action` are those of the operation. */
export interface ActivityFacts {
  type: string;
  kind?: string | undefined;
  resource?: string | undefined;
  action?: string | undefined;
  /** The members that `activityParams` in schema.ts lists for the type, under the same names. */
  params?: object | undefined;
}

export interface WalletFacts {
  id: string;
  imported: boolean;
  exported: boolean;
  label: string;
}

export interface PrivateKeyFacts extends WalletFacts {
  tags: readonly string[];
}

/** `path_*`: the components of the derivation path without their hardening marks, and the marks themselves. */
export interface WalletAccountFacts {
  address: string;
  path_indexes?: readonly IntegerFact[] | undefined;
  path_hardened?: readonly boolean[] | undefined;
}

export interface SecretFacts {
  static_properties: Readonly<Record<string, string>>;
}

/** `gas_price` is `max_fee_per_gas` if the transaction has that instead. `to` is '' for a contract creation. */
export interface EthereumTransactionFacts {
  from?: string | undefined;
  to: string;
  data: string;
  value: IntegerFact;
  gas: IntegerFact;
  gas_price?: IntegerFact | undefined;
  chain_id?: IntegerFact | undefined;
  nonce: IntegerFact;
  max_fee_per_gas?: IntegerFact | undefined;
  max_priority_fee_per_gas?: IntegerFact | undefined;
  max_fee_per_blob_gas?: IntegerFact | undefined;
  type: "LEGACY" | "TYPE_1" | "TYPE_2" | "TYPE_3" | "TYPE_4";
  /** These three are present only if a smart contract interface is stored for `to`. */
  function_name?: string | undefined;
  function_signature?: string | undefined;
  contract_call_args?: Readonly<Record<string, ArgumentFact>> | undefined;
}

/** Values of `message` have the types that the typed data declares: a `uint256` written as text is an integer here. */
export interface Eip712Facts {
  primary_type: string;
  domain: {
    name?: string | undefined;
    version?: string | undefined;
    chain_id?: IntegerFact | undefined;
    verifying_contract?: string | undefined;
  };
  message: Readonly<Record<string, ArgumentFact>>;
}

export interface Eip7702AuthorizationFacts {
  address: string;
  chain_id: IntegerFact;
  nonce: IntegerFact;
}

export interface AddressTableLookupReferenceFacts {
  address_table_key: string;
  index: IntegerFact;
  writable: boolean;
}

export interface SolanaInstructionFacts {
  program_key: string;
  /** An account from a lookup table has the key `ADDRESS_TABLE_LOOKUP`. */
  accounts: readonly { account_key: string; signer: boolean; writable: boolean }[];
  instruction_data_hex: string;
  address_table_lookups: readonly AddressTableLookupReferenceFacts[];
  /** Present only if an interface (IDL) is stored for the program. */
  parsed_instruction_data?:
    | {
        instruction_name: string;
        discriminator: string;
        named_accounts: Readonly<Record<string, string>>;
        program_call_args: Readonly<Record<string, ArgumentFact>>;
      }
    | undefined;
}

export interface SolanaTransactionFacts {
  account_keys: readonly string[];
  program_keys: readonly string[];
  instructions: readonly SolanaInstructionFacts[];
  transfers: readonly { from: string; to: string; amount: IntegerFact }[];
  recent_blockhash: string;
  /** `token_mint` is '' if the instruction does not name it. */
  spl_transfers: readonly {
    from: string;
    to: string;
    amount: IntegerFact;
    owner: string;
    signers: readonly string[];
    token_mint: string;
  }[];
  address_table_lookups: readonly {
    address_table_key: string;
    writable_indexes: readonly IntegerFact[];
    readonly_indexes: readonly IntegerFact[];
  }[];
  address_table_lookup_references: readonly AddressTableLookupReferenceFacts[];
}

export interface TronPermissionFacts {
  type: string;
  id: IntegerFact;
  permission_name: string;
  threshold: IntegerFact;
  parent_id: IntegerFact;
  operations: string;
  keys: readonly { address: string; weight: IntegerFact }[];
}

/** The fields depend on `type`. Amounts are in sun. */
export interface TronContractFacts {
  type: string;
  permission_id?: IntegerFact | undefined;
  owner_address?: string | undefined;
  to_address?: string | undefined;
  amount?: IntegerFact | undefined;
  contract_address?: string | undefined;
  call_value?: IntegerFact | undefined;
  data?: string | undefined;
  call_token_value?: IntegerFact | undefined;
  token_id?: IntegerFact | undefined;
  resource?: string | undefined;
  balance?: IntegerFact | undefined;
  receiver_address?: string | undefined;
  lock?: boolean | undefined;
  lock_period?: IntegerFact | undefined;
  frozen_balance?: IntegerFact | undefined;
  unfreeze_balance?: IntegerFact | undefined;
  owner?: TronPermissionFacts | undefined;
  witness?: TronPermissionFacts | undefined;
  actives?: readonly TronPermissionFacts[] | undefined;
}

/** `expiration` and `timestamp` in milliseconds, `fee_limit` in sun; `data` is the memo. */
export interface TronTransactionFacts {
  ref_block_bytes: string;
  ref_block_hash: string;
  expiration: IntegerFact;
  timestamp: IntegerFact;
  data: string;
  fee_limit: IntegerFact;
  contract: readonly TronContractFacts[];
}

/** Values in satoshis. `fee` is unavailable if neither the PSBT nor the signed data proves the amounts that are spent. */
export interface BitcoinTransactionFacts {
  version: string;
  inputs: readonly { tx_id: string; vout: IntegerFact; sequence: IntegerFact }[];
  outputs: readonly { value: IntegerFact; script_pubkey: string; address: string; address_type: string }[];
  locktime: { amount: IntegerFact; type: "Seconds" | "Blocks" };
  fee: IntegerFact;
}

/** `valid_*` are 0 if not set. For a call, `to` is '' for a creation, and `function_signature` is '' if the data is too short. */
export interface TempoTransactionFacts {
  chain_id: IntegerFact;
  from: string;
  nonce: IntegerFact;
  gas_limit: IntegerFact;
  max_fee_per_gas: IntegerFact;
  max_priority_fee_per_gas: IntegerFact;
  fee_token: string;
  valid_before: IntegerFact;
  valid_after: IntegerFact;
  calls: readonly { to: string; input: string; function_signature: string }[];
}

export interface ConditionFacts {
  activity: ActivityFacts;
  eth?:
    | {
        tx?: EthereumTransactionFacts | undefined;
        eip_712?: Eip712Facts | undefined;
        eip_7702_authorization?: Eip7702AuthorizationFacts | undefined;
      }
    | undefined;
  solana?: { tx?: SolanaTransactionFacts | undefined } | undefined;
  tron?: { tx?: TronTransactionFacts | undefined } | undefined;
  bitcoin?: { tx?: BitcoinTransactionFacts | undefined } | undefined;
  tempo?: { tx?: TempoTransactionFacts | undefined } | undefined;
  wallet?: WalletFacts | undefined;
  wallets?: readonly WalletFacts[] | undefined;
  private_key?: PrivateKeyFacts | undefined;
  wallet_account?: WalletAccountFacts | undefined;
  secret?: SecretFacts | undefined;
}
