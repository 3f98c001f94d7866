import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { TronWeb, utils } from "tronweb";

/** Writes transactions that tronweb makes and signs, with what they say, to test/vectors/tron-transactions/valid.json; run `npm ci` here first. */

const digest = (text) => createHash("sha256").update(text).digest("hex");
const privateKey = digest("keystead tron own");
const addressOf = (name) => TronWeb.address.toHex(TronWeb.address.fromPrivateKey(digest(`keystead tron ${name}`)));
const base58 = (hex) => TronWeb.address.fromHex(hex);
const owner = addressOf("own");
const [to, third] = [addressOf("to"), addressOf("third")];
const contractAddress = addressOf("contract");

const ORDINARY = {
  ref_block_bytes: "267e",
  ref_block_hash: "9a447d222e8de9f2",
  expiration: 1_700_000_060_000,
  timestamp: 1_700_000_000_000,
};

function make({ name, type, value, facts, raw = {}, permissionId }) {
  const rawData = {
    ...ORDINARY,
    ...raw,
    contract: [
      {
        type,
        parameter: { type_url: `type.googleapis.com/protocol.${type}`, value: { owner_address: owner, ...value } },
        ...(permissionId && { Permission_id: permissionId }),
      },
    ],
  };
  const pb = utils.transaction.txJsonToPb({ raw_data: rawData });
  const rawDataHex = utils.transaction.txPbToRawDataHex(pb).toLowerCase();
  const txID = utils.transaction.txPbToTxID(pb).replace(/^0x/, "");
  const { signature } = utils.crypto.signTransaction(privateKey, { txID });
  pb.addSignature(Buffer.from(signature[0].replace(/^0x/, ""), "hex"));
  return {
    name,
    privateKey,
    rawData: rawDataHex,
    transactionId: txID,
    signed: Buffer.from(pb.serializeBinary()).toString("hex"),
    facts: {
      ref_block_bytes: rawData.ref_block_bytes,
      ref_block_hash: rawData.ref_block_hash,
      expiration: String(rawData.expiration),
      timestamp: String(rawData.timestamp),
      data: rawData.data ?? "",
      fee_limit: String(rawData.fee_limit ?? 0),
      contract: [{ type, owner_address: base58(owner), ...facts, permission_id: String(permissionId ?? 0) }],
    },
  };
}

const transfer = (amount) => ({
  type: "TransferContract",
  value: { to_address: to, amount },
  facts: { to_address: base58(to), amount: String(amount) },
});
const trigger = (more = {}) => ({
  type: "TriggerSmartContract",
  value: { contract_address: contractAddress, call_value: 0, data: "a9059cbb", ...more },
  facts: {
    contract_address: base58(contractAddress),
    call_value: String(more.call_value ?? 0),
    data: more.data ?? "a9059cbb",
    call_token_value: String(more.call_token_value ?? 0),
    token_id: String(more.token_id ?? 0),
  },
});
const resources = ["BANDWIDTH", "ENERGY", "TRON_POWER"];
const permission = (type, id, name, more = {}) => ({
  type,
  id,
  permission_name: name,
  threshold: 1,
  keys: [{ address: owner, weight: 1 }],
  ...more,
});
const permissionFacts = ({ type, id, permission_name, threshold, operations = "", keys }) => ({
  type: ["Owner", "Witness", "Active"][type],
  id: String(id),
  permission_name,
  threshold: String(threshold),
  parent_id: "0",
  operations,
  keys: keys.map(({ address, weight }) => ({ address: base58(address), weight: String(weight) })),
});
const ownerPermission = permission(0, 0, "owner");
const witnessPermission = permission(1, 1, "witness");
const operations = `7fff1fc0033e${"00".repeat(26)}`;
const active = (id) =>
  permission(2, id, `active ${id}`, {
    operations,
    threshold: 2,
    keys: [
      { address: owner, weight: 1 },
      { address: third, weight: 300 },
    ],
  });
const update = (name, value) => ({
  name: `AccountPermissionUpdateContract: ${name}`,
  type: "AccountPermissionUpdateContract",
  value,
  facts: {
    owner: permissionFacts(value.owner),
    ...(value.witness && { witness: permissionFacts(value.witness) }),
    actives: value.actives.map(permissionFacts),
  },
});

const cases = [
  ...[0, 1, 127, 128, 1_000_000, 2 ** 31, 2 ** 53 - 1].map((amount) => ({
    name: `TransferContract: ${amount} sun`,
    ...transfer(amount),
  })),
  { name: "TransferContract: with a memo", ...transfer(5), raw: { data: Buffer.from("für Miete").toString("hex") } },
  { name: "TransferContract: with a long memo", ...transfer(5), raw: { data: "ab".repeat(300) } },
  { name: "TransferContract: with a fee limit", ...transfer(5), raw: { fee_limit: 150_000_000 } },
  { name: "TransferContract: for another permission", ...transfer(5), permissionId: 2 },
  { name: "TransferContract: expires far away", ...transfer(5), raw: { expiration: 4_102_444_800_000, timestamp: 1 } },
  ...["1000001", "1", "1005416"].map((id) => ({
    name: `TransferAssetContract: token ${id}`,
    type: "TransferAssetContract",
    value: { to_address: to, asset_name: Buffer.from(id).toString("hex"), amount: 7 },
    facts: { to_address: base58(to), amount: "7", token_id: id },
  })),
  {
    name: "TriggerSmartContract: transfer",
    ...trigger({ data: `a9059cbb${"00".repeat(12)}${to.slice(2)}${"00".repeat(31)}ff` }),
    raw: { fee_limit: 100_000_000 },
  },
  { name: "TriggerSmartContract: call value", ...trigger({ call_value: 12_345_678 }), raw: { fee_limit: 1 } },
  { name: "TriggerSmartContract: token", ...trigger({ call_token_value: 99, token_id: 1_000_001 }) },
  { name: "TriggerSmartContract: permission", ...trigger(), permissionId: 3 },
  {
    name: "VoteWitnessContract",
    type: "VoteWitnessContract",
    value: {
      votes: [
        { vote_address: to, vote_count: 5 },
        { vote_address: third, vote_count: 70_000 },
      ],
    },
    facts: {},
  },
  ...resources.map((resource) => ({
    name: `FreezeBalanceContract: ${resource}`,
    type: "FreezeBalanceContract",
    value: { frozen_balance: 1_000_000, frozen_duration: 3, resource },
    facts: { frozen_balance: "1000000", resource, receiver_address: "" },
  })),
  {
    name: "FreezeBalanceContract: for another account",
    type: "FreezeBalanceContract",
    value: { frozen_balance: 1_000_000, frozen_duration: 3, resource: "ENERGY", receiver_address: to },
    facts: { frozen_balance: "1000000", resource: "ENERGY", receiver_address: base58(to) },
  },
  {
    name: "UnfreezeBalanceContract",
    type: "UnfreezeBalanceContract",
    value: { resource: "ENERGY" },
    facts: { resource: "ENERGY", receiver_address: "" },
  },
  {
    name: "UnfreezeBalanceContract: of another account",
    type: "UnfreezeBalanceContract",
    value: { receiver_address: to },
    facts: { resource: "BANDWIDTH", receiver_address: base58(to) },
  },
  { name: "WithdrawBalanceContract", type: "WithdrawBalanceContract", value: {}, facts: {} },
  ...resources.flatMap((resource) => [
    {
      name: `FreezeBalanceV2Contract: ${resource}`,
      type: "FreezeBalanceV2Contract",
      value: { frozen_balance: 3_000_000, resource },
      facts: { frozen_balance: "3000000", resource },
    },
    {
      name: `UnfreezeBalanceV2Contract: ${resource}`,
      type: "UnfreezeBalanceV2Contract",
      value: { unfreeze_balance: 3_000_001, resource },
      facts: { unfreeze_balance: "3000001", resource },
    },
  ]),
  { name: "WithdrawExpireUnfreezeContract", type: "WithdrawExpireUnfreezeContract", value: {}, facts: {} },
  { name: "CancelAllUnfreezeV2Contract", type: "CancelAllUnfreezeV2Contract", value: {}, facts: {} },
  ...resources.slice(0, 2).flatMap((resource) => [
    {
      name: `DelegateResourceContract: ${resource}`,
      type: "DelegateResourceContract",
      value: { resource, balance: 8_000_000, receiver_address: to, lock: false, lock_period: 0 },
      facts: { resource, balance: "8000000", receiver_address: base58(to), lock: false, lock_period: "0" },
    },
    {
      name: `DelegateResourceContract: ${resource}, locked`,
      type: "DelegateResourceContract",
      value: { resource, balance: 8_000_000, receiver_address: to, lock: true, lock_period: 28_800 },
      facts: { resource, balance: "8000000", receiver_address: base58(to), lock: true, lock_period: "28800" },
    },
    {
      name: `UnDelegateResourceContract: ${resource}`,
      type: "UnDelegateResourceContract",
      value: { resource, balance: 8_000_000, receiver_address: to },
      facts: { resource, balance: "8000000", receiver_address: base58(to) },
    },
  ]),
  update("owner and one active", { owner: ownerPermission, actives: [active(2)] }),
  update("with a witness", { owner: ownerPermission, witness: witnessPermission, actives: [active(2)] }),
  update("eight actives", { owner: ownerPermission, actives: Array.from({ length: 8 }, (_, i) => active(i + 2)) }),
];

const made = cases.map(make);
const unsupported = [
  { type: "AccountCreateContract", value: { account_address: to } },
  { type: "WitnessUpdateContract", value: { update_url: "68747470" } },
  { type: "UpdateBrokerageContract", value: { brokerage: 20 } },
  { type: "ClearABIContract", value: { contract_address: contractAddress } },
  { type: "AccountUpdateContract", value: { account_name: "abcd" } },
].map(({ type, value }) => ({ name: type, rawData: make({ name: type, type, value, facts: {} }).rawData }));

function write(name, each) {
  const lines = each.map((one) => `    ${JSON.stringify(one)}`).join(",\n");
  const text = `{\n  "source": "tronweb 6.5.1; see ../generate/tron",\n  "cases": [\n${lines}\n  ]\n}\n`;
  writeFileSync(new URL(`../../tron-transactions/${name}.json`, import.meta.url), text);
  process.stdout.write(`${name}: ${each.length} cases\n`);
}
mkdirSync(new URL("../../tron-transactions/", import.meta.url), { recursive: true });
write("valid", made);
write("unsupported", unsupported);
