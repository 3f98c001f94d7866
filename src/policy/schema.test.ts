import assert from "node:assert/strict";
import { test } from "node:test";
import { activityClass, activityClasses } from "./activities.ts";
import { activityFacts } from "./activity-facts.ts";
import { Budget, OutOfBudget } from "./budget.ts";
import type { ConditionFacts, ConsensusFacts, TimeFacts } from "./facts.ts";
import { activityParams, keywords, paramTypes } from "./schema.ts";
import { type Type, typeName } from "./types.ts";

test("activity types have one class each", () => {
  assert.ok(activityClasses.length >= 150);
  assert.equal(new Set(activityClasses.map(({ type }) => type)).size, activityClasses.length);
  const classOf = (type: string) => {
    const found = activityClass(type);
    return found && `${found.kind} ${found.resource}/${found.action}`;
  };
  assert.equal(classOf("ACTIVITY_TYPE_SIGN_TRANSACTION_V2"), "SIGN_TRANSACTION PRIVATE_KEY/SIGN");
  assert.equal(classOf("ACTIVITY_TYPE_ETH_SEND_TRANSACTION"), "ETH_SEND_TRANSACTION PRIVATE_KEY/SIGN");
  assert.equal(classOf("ACTIVITY_TYPE_DISABLE_PRIVATE_KEY"), "DISABLE_PRIVATE_KEY PRIVATE_KEY/DELETE");
  assert.equal(classOf("ACTIVITY_TYPE_INIT_IMPORT_WALLET"), "INIT_IMPORT_WALLET WALLET/IMPORT");
  assert.equal(classOf("ACTIVITY_TYPE_CREATE_USER_TAG"), "CREATE_USER_TAG USER/CREATE");
  assert.equal(classOf("ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2"), "CREATE_OAUTH_PROVIDERS CREDENTIAL/CREATE");
  assert.equal(classOf("ACTIVITY_TYPE_DELETE_OAUTH2_CREDENTIAL"), "DELETE_OAUTH2_CREDENTIAL AUTH/DELETE");
  assert.equal(classOf("ACTIVITY_TYPE_INIT_USER_EMAIL_RECOVERY_V2"), "INIT_USER_EMAIL_RECOVERY RECOVERY/CREATE");
  assert.equal(classOf("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8"), "CREATE_SUB_ORGANIZATION ORGANIZATION/CREATE");
  for (const name of ["UPDATE_ROOT_QUORUM", "SET_ORGANIZATION_FEATURE", "APPROVE_ACTIVITY", "CREATE_WALLET_V9"]) {
    assert.equal(activityClass(`ACTIVITY_TYPE_${name}`), undefined);
  }
});

test("params belong to known activity types, and a field has one type in all of them", () => {
  assert.ok(Object.keys(activityParams).length >= 24);
  for (const [type, fields] of Object.entries(activityParams)) {
    assert.ok(activityClass(type), type);
    for (const [name, field] of Object.entries(fields)) {
      assert.equal(typeName(field), typeName(paramTypes.get(name) as Type), `${type} ${name}`);
    }
  }
});

test("facts of what is nested in a request cost steps for each member, and more of them than there are end the decision", () => {
  const commitment = { id: "1", hiding: "2", binding: "3" };
  const operatorCommitments = Array.from({ length: 20 }, () => commitment);
  const signature = {
    derivation: { staticDeposit: { index: 7 } },
    message: "m",
    verifyingKey: "k",
    operatorCommitments,
  };
  const factsWith = (count: number, steps?: Budget) =>
    activityFacts(
      "ACTIVITY_TYPE_SPARK_SIGN_FROST",
      { resource: "PRIVATE_KEY", action: "SIGN" },
      { signWith: "s", signatures: Array.from({ length: count }, () => signature) },
      steps,
    );
  const expected = {
    derivation: { type: "static_deposit", signing_leaf: { leaf_id: "" }, static_deposit: { index: 7 } },
    message: "m",
    verifying_key: "k",
    operator_commitments: operatorCommitments,
    adaptor_public_key: "",
  };
  assert.deepEqual(factsWith(2).params, { sign_with: "s", signatures: [expected, expected] });
  // A member costs about 100 ns, four steps.
  const members = 5 + 3 + 1 + 1 + 20 * 3;
  const steps = new Budget(600 * members * 4);
  factsWith(600, steps);
  assert.equal(steps.left, 0);
  assert.throws(() => factsWith(601, new Budget(600 * members * 4)), OutOfBudget);
});

// Facts with every member of their interfaces. The compiler checks them against the interfaces, and the test against the schema.

type Whole<T> = T extends readonly (infer Element)[]
  ? Whole<Element>[]
  : T extends object
    ? { [Key in keyof T]-?: Whole<Exclude<T[Key], undefined>> }
    : T;

const wallet = { id: "W", imported: false, exported: false, label: "" };
const reference = { address_table_key: "L", index: 0, writable: true };
const permission = {
  type: "Owner",
  id: 0,
  permission_name: "owner",
  threshold: 1,
  parent_id: 0,
  operations: "",
  keys: [{ address: "T", weight: 1 }],
};

const wholeCondition: Omit<Whole<ConditionFacts>, "eth" | "solana"> & Pick<ConditionFacts, "eth" | "solana"> = {
  activity: { type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2", kind: "", resource: "", action: "", params: {} },
  eth: {
    tx: {
      from: "0x",
      to: "0x",
      data: "0x",
      value: 0n,
      gas: 0n,
      gas_price: 0n,
      chain_id: 1,
      nonce: 0,
      max_fee_per_gas: 0n,
      max_priority_fee_per_gas: 0n,
      max_fee_per_blob_gas: 0n,
      type: "TYPE_2",
      function_name: "f",
      function_signature: "0x",
      contract_call_args: { a: [1n, "0x", { b: true }] },
    },
    eip_712: {
      primary_type: "P",
      domain: { name: "", version: "", chain_id: 1, verifying_contract: "0x" },
      message: { a: 1n },
    },
    eip_7702_authorization: { address: "0x", chain_id: 1, nonce: 0 },
  },
  solana: {
    tx: {
      account_keys: ["A"],
      program_keys: ["P"],
      instructions: [
        {
          program_key: "P",
          accounts: [{ account_key: "A", signer: true, writable: true }],
          instruction_data_hex: "",
          address_table_lookups: [reference],
          parsed_instruction_data: {
            instruction_name: "i",
            discriminator: "",
            named_accounts: { a: "A" },
            program_call_args: { a: 1n },
          },
        },
      ],
      transfers: [{ from: "A", to: "B", amount: 1n }],
      recent_blockhash: "",
      spl_transfers: [{ from: "A", to: "B", amount: 1n, owner: "O", signers: ["S"], token_mint: "M" }],
      address_table_lookups: [{ address_table_key: "L", writable_indexes: [0], readonly_indexes: [1] }],
      address_table_lookup_references: [reference],
    },
  },
  tron: {
    tx: {
      ref_block_bytes: "",
      ref_block_hash: "",
      expiration: 0,
      timestamp: 0,
      data: "",
      fee_limit: 0,
      contract: [
        {
          type: "",
          permission_id: 0,
          owner_address: "",
          to_address: "",
          amount: 0,
          contract_address: "",
          call_value: 0,
          data: "",
          call_token_value: 0,
          token_id: 0,
          resource: "",
          balance: 0,
          receiver_address: "",
          lock: false,
          lock_period: 0,
          frozen_balance: 0,
          unfreeze_balance: 0,
          owner: permission,
          witness: permission,
          actives: [permission],
        },
      ],
    },
  },
  bitcoin: {
    tx: {
      version: "2",
      inputs: [{ tx_id: "", vout: 0, sequence: 0 }],
      outputs: [{ value: 0, script_pubkey: "", address: "", address_type: "" }],
      locktime: { amount: 0, type: "Blocks" },
      fee: 0,
    },
  },
  tempo: {
    tx: {
      chain_id: 0,
      from: "0x",
      nonce: 0,
      gas_limit: 0,
      max_fee_per_gas: 0,
      max_priority_fee_per_gas: 0,
      fee_token: "0x",
      valid_before: 0,
      valid_after: 0,
      calls: [{ to: "", input: "0x", function_signature: "" }],
    },
  },
  wallet,
  wallets: [wallet],
  private_key: { ...wallet, tags: ["T"] },
  wallet_account: { address: "", path_indexes: [0], path_hardened: [true] },
  secret: { static_properties: { kind: "" } },
};

const wholeConsensus: Whole<ConsensusFacts> = {
  approvers: [{ id: "U", tags: ["T"], email: "", alias: "" }],
  credentials: [{ id: "C", user_id: "U", type: "", credential_id: "", public_key: "" }],
};

const wholeTime: TimeFacts = { time: { now: 0 } };

function compare(type: Type, fact: unknown, path: string): void {
  if (type.kind === "struct" && type.name !== "Params") {
    const names = Object.keys(fact as object);
    assert.deepEqual(names.sort(), Object.keys(type.fields).sort(), path);
    for (const name of names) {
      compare(type.fields[name] as Type, (fact as Record<string, unknown>)[name], `${path}.${name}`);
    }
  } else if (type.kind === "list") {
    assert.ok(Array.isArray(fact) && fact.length > 0, path);
    compare(type.element, fact[0], `${path}[0]`);
  }
}

test("the interfaces of the facts and the schema have the same fields", () => {
  const whole = { consensus: wholeConsensus, condition: wholeCondition, time: wholeTime };
  for (const scope of ["consensus", "condition", "time"] as const) {
    const facts = whole[scope] as unknown as Record<string, unknown>;
    assert.deepEqual(Object.keys(facts).sort(), Object.keys(keywords[scope]).sort());
    for (const [name, type] of Object.entries(keywords[scope])) compare(type, facts[name], name);
  }
});
