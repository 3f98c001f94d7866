import { sha256 } from "@noble/hashes/sha2.js";
import { createBase58check } from "@scure/base";
import { toHex } from "../../kernel/bytes.ts";
import {
  boolean,
  bytes,
  decodeMessage,
  enumeration,
  type Field,
  type Fields,
  int32,
  int64,
  type MessageOf,
  message,
  messages,
  type Refuse,
  text,
} from "./protobuf.ts";

/** A permission as policies see it. `operations` is hex. */
export interface TronPermission {
  type: string;
  id: bigint;
  permission_name: string;
  threshold: bigint;
  parent_id: bigint;
  operations: string;
  keys: { address: string; weight: bigint }[];
}

/** The content of a contract of one kind, under the names of the policy language. Amounts in sun. */
export interface TronContract {
  type: string;
  owner_address: string;
  to_address?: string;
  amount?: bigint;
  contract_address?: string;
  call_value?: bigint;
  data?: string;
  call_token_value?: bigint;
  token_id?: bigint;
  resource?: string;
  balance?: bigint;
  receiver_address?: string;
  lock?: boolean;
  lock_period?: bigint;
  frozen_balance?: bigint;
  unfreeze_balance?: bigint;
  owner?: TronPermission;
  witness?: TronPermission;
  actives?: TronPermission[];
}

type ContractFacts = Omit<TronContract, "type" | "owner_address">;

/** A kind of contract: its name in the protocol's definition, and how its parameter is decoded. */
export interface ContractKind {
  readonly type: string;
  readonly read: (parameter: Buffer, refuse: Refuse) => TronContract;
}

const ADDRESS_BYTES = 21;
const ADDRESS_PREFIX = 0x41;
/** Limits of the network for permissions and votes. */
const MAX_ACTIVES = 8;
const MAX_KEYS = 5;
const MAX_VOTES = 30;
/** The only duration of a stake of the first version, in days. */
const FROZEN_DAYS = 3n;

const base58check = createBase58check(sha256);

/** An address in base58; '' if it is absent. */
function address(number: number): Field<string> {
  const field = bytes(number, ADDRESS_BYTES);
  return {
    ...field,
    absent: "",
    read(values, place, refuse) {
      const content = field.read(values, place, refuse);
      if (content[0] !== ADDRESS_PREFIX) refuse(`has ${place} that does not begin with 41`);
      return base58check.encode(content);
    },
  };
}

const resource = (number: number): Field<string> => enumeration(number, ["BANDWIDTH", "ENERGY", "TRON_POWER"]);

const permission = {
  type: enumeration(1, ["Owner", "Witness", "Active"]),
  id: int32(2),
  permission_name: text(3),
  threshold: int64(4),
  parent_id: int32(5),
  operations: bytes(6),
  keys: messages(7, MAX_KEYS, { address: address(1), weight: int64(2) }),
};

/** A contract may contain only what policies can see; see docs/adr/0035-tron-transactions.md. */
function kind<Of extends Fields>(
  type: string,
  fields: Of,
  facts: (parameter: MessageOf<Of>, refuse: Refuse) => ContractFacts,
): ContractKind {
  const all = { owner_address: address(1), ...fields };
  return {
    type,
    read(parameter, refuse) {
      const read = decodeMessage(parameter, all, `the ${type}`, refuse);
      const owner = read.owner_address as string;
      if (owner === "") refuse(`has no \`owner_address\` in the ${type}`);
      return { type, owner_address: owner, ...facts(read as unknown as MessageOf<Of>, refuse) };
    },
  };
}

/** A kind whose facts are its fields unchanged, and whose named addresses are required. */
function plain<Of extends Fields>(type: string, fields: Of, ...required: (keyof Of & string)[]): ContractKind {
  return kind(type, fields, (parameter, refuse) => {
    for (const name of required) if (parameter[name] === "") refuse(`has no \`${name}\` in the ${type}`);
    return parameter as ContractFacts;
  });
}

/** The kinds that can be signed, by their number in the protocol's definition. */
export const contractKinds: ReadonlyMap<number, ContractKind> = new Map([
  [1, plain("TransferContract", { to_address: address(2), amount: int64(3) }, "to_address")],
  [2, transferAsset()],
  [4, voteWitness()],
  [11, freezeBalance()],
  [12, plain("UnfreezeBalanceContract", { resource: resource(10), receiver_address: address(15) })],
  [13, plain("WithdrawBalanceContract", {})],
  [31, triggerSmartContract()],
  [46, accountPermissionUpdate()],
  [54, plain("FreezeBalanceV2Contract", { frozen_balance: int64(2), resource: resource(3) })],
  [55, plain("UnfreezeBalanceV2Contract", { unfreeze_balance: int64(2), resource: resource(3) })],
  [56, plain("WithdrawExpireUnfreezeContract", {})],
  [57, delegateResource()],
  [
    58,
    plain(
      "UnDelegateResourceContract",
      { resource: resource(2), balance: int64(3), receiver_address: address(4) },
      "receiver_address",
    ),
  ],
  [59, plain("CancelAllUnfreezeV2Contract", {})],
]);

/** A TRC-10 token is identified by its id, in decimal digits. */
function transferAsset(): ContractKind {
  const fields = { asset_name: bytes(1), owner_address: address(2), to_address: address(3), amount: int64(4) };
  const type = "TransferAssetContract";
  return kind(type, fields, ({ asset_name, to_address, amount }, refuse) => {
    const digits = asset_name.toString("latin1");
    if (!/^[1-9]\d{0,17}$/.test(digits))
      refuse(`has an \`asset_name\` in the ${type} that is not a token id in decimal digits`);
    if (to_address === "") refuse(`has no \`to_address\` in the ${type}`);
    return { to_address, amount, token_id: BigInt(digits) };
  });
}

/** Votes move nothing, and the policy language has no names for them, so they are validated but not shown. */
function voteWitness(): ContractKind {
  const votes = messages(2, MAX_VOTES, { vote_address: address(1), vote_count: int64(2) });
  return kind("VoteWitnessContract", { votes }, () => ({}));
}

function freezeBalance(): ContractKind {
  const type = "FreezeBalanceContract";
  const fields = {
    frozen_balance: int64(2),
    frozen_duration: int64(3),
    resource: resource(10),
    receiver_address: address(15),
  };
  return kind(type, fields, ({ frozen_duration, ...facts }, refuse) => {
    if (frozen_duration !== FROZEN_DAYS) refuse(`has a \`frozen_duration\` in the ${type} other than ${FROZEN_DAYS}`);
    return facts;
  });
}

function triggerSmartContract(): ContractKind {
  const type = "TriggerSmartContract";
  const fields = {
    contract_address: address(2),
    call_value: int64(3),
    data: bytes(4),
    call_token_value: int64(5),
    token_id: int64(6),
  };
  return kind(type, fields, ({ contract_address, data, ...facts }, refuse) => {
    if (contract_address === "") refuse(`has no \`contract_address\` in the ${type}`);
    return { contract_address, data: toHex(data), ...facts };
  });
}

function delegateResource(): ContractKind {
  const fields = {
    resource: resource(2),
    balance: int64(3),
    receiver_address: address(4),
    lock: boolean(5),
    lock_period: int64(6),
  };
  return plain("DelegateResourceContract", fields, "receiver_address");
}

function accountPermissionUpdate(): ContractKind {
  const fields = {
    owner: message(2, permission),
    witness: message(3, permission),
    actives: messages(4, MAX_ACTIVES, permission),
  };
  return kind("AccountPermissionUpdateContract", fields, ({ owner, witness, actives }) => ({
    ...(owner && { owner: permissionFacts(owner) }),
    ...(witness && { witness: permissionFacts(witness) }),
    actives: actives.map(permissionFacts),
  }));
}

function permissionFacts({ operations, keys, ...facts }: MessageOf<typeof permission>): TronPermission {
  return { ...facts, operations: toHex(operations), keys: keys.map((key) => ({ ...key })) };
}
