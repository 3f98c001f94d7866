import assert from "node:assert/strict";
import { test } from "node:test";
import { activityClasses } from "./activities.ts";
import { Budget } from "./budget.ts";
import { createExpressionCache } from "./cache.ts";
import type { Policy } from "./policy.ts";
import { type PolicyWarning, SIGN_NOTHING, signings, warningsOf } from "./warnings.ts";

const cache = createExpressionCache();
const budget = new Budget(Number.POSITIVE_INFINITY);
const warnings = (effect: Policy["effect"], condition = "", consensus = ""): PolicyWarning[] =>
  warningsOf({ effect, condition, consensus }, cache, budget);
const codes = (effect: Policy["effect"], condition = "", consensus = ""): string[] =>
  warnings(effect, condition, consensus).map(({ code }) => code);
const ALLOW = "EFFECT_ALLOW" as const;
const DENY = "EFFECT_DENY" as const;

test("an allowance for everybody and everything", () => {
  assert.deepEqual(codes(ALLOW), ["ALLOWS_EVERYTHING"]);
  assert.deepEqual(codes(ALLOW, "true", " true "), ["ALLOWS_EVERYTHING"]);
  assert.deepEqual(codes(ALLOW, "true", "approvers.count() >= 2"), []);
  assert.deepEqual(codes(ALLOW, "activity.action == 'SIGN'"), []);
  assert.deepEqual(codes(DENY), [], "a denial of everything is what it says");
});

test("a denial by type that another version sidesteps", () => {
  const [warning] = warnings(DENY, "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'");
  assert.equal(
    warning?.message,
    "It can deny ACTIVITY_TYPE_SIGN_TRANSACTION_V2, and never ACTIVITY_TYPE_SIGN_TRANSACTION, by which the same is done. " +
      "Ask for `activity.kind in ['SIGN_TRANSACTION']`.",
  );
  const byType = (condition: string) => codes(DENY, condition).includes("DENIAL_BY_TYPE");
  assert.equal(
    byType("activity.type in ['ACTIVITY_TYPE_SIGN_TRANSACTION', 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2']"),
    false,
  );
  assert.equal(byType("activity.kind == 'SIGN_TRANSACTION'"), false);
  assert.equal(byType("activity.kind == 'SIGN_RAW_PAYLOAD'"), true, "several payloads sign as one does");
  assert.equal(byType("activity.kind in ['SIGN_RAW_PAYLOAD', 'SIGN_RAW_PAYLOADS']"), false);
  assert.equal(byType("activity.kind == 'ETH_UNDELEGATE_7702'"), true, "it has another name");
  for (const one of ["CREATE_POLICY", "CREATE_POLICIES", "DELETE_POLICY", "DELETE_POLICIES"]) {
    assert.equal(byType(`activity.kind == '${one}'`), true, `${one} is done by another kind too`);
  }
  for (const both of ["'CREATE_POLICY', 'CREATE_POLICIES'", "'DELETE_POLICY', 'DELETE_POLICIES'"]) {
    assert.equal(byType(`activity.kind in [${both}]`), false);
  }
  assert.equal(
    byType("activity.action == 'DELETE' && activity.kind == 'SIGN_RAW_PAYLOAD'"),
    false,
    "it denies nothing",
  );
  assert.equal(byType("activity.type == 'ACTIVITY_TYPE_DELETE_USERS'"), false, "it has one version");
  assert.equal(byType("activity.type != 'ACTIVITY_TYPE_CREATE_USERS_V4'"), true);
  assert.equal(byType("wallet.label == 'SIGN_TRANSACTION'"), false);
  assert.deepEqual(
    codes(ALLOW, "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'"),
    [],
    "an allowance is narrow so",
  );
});

test("users who are known by a name that they may choose", () => {
  for (const effect of [ALLOW, DENY]) {
    const byName = (consensus: string, condition = "") => codes(effect, condition, consensus).includes("USERS_BY_NAME");
    assert.equal(byName("approvers.any(u, u.alias == 'CFO')"), true);
    assert.equal(byName("approvers.any(u, u.alias == 'CFO')", "activity.kind == 'SIGN_RAW_PAYLOAD'"), true);
    assert.equal(byName("approvers.filter(u, u.alias != 'x').count() >= 2 || approvers[0].alias == 'CFO'"), true);
    assert.equal(byName("approvers.any(u, u.id == 'alias' && 'T' in u.tags)"), false);
    assert.equal(byName("approvers.any(u, u.email == 'cfo@example.com')"), false);
    assert.equal(byName("", "wallet.label == 'alias'"), false);
  }
});

test("a bound on the price of gas that leaves the price of blobs open", () => {
  for (const effect of [ALLOW, DENY]) {
    const open = (condition: string) => codes(effect, condition).includes("BLOB_FEE_UNBOUNDED");
    assert.equal(open("eth.tx.gas_price <= 1000"), true);
    assert.equal(open("eth.tx.gas <= 21000 && eth.tx.max_fee_per_gas <= 1000"), true);
    assert.equal(open("activity.kind == 'SIGN_TRANSACTION' && eth.tx.gas_price <= 1000"), true);
    assert.equal(open("activity.kind == 'ETH_SEND_TRANSACTION' && eth.tx.gas_price <= 1000"), false, "it has none");
    assert.equal(open("eth.tx.type != 'TYPE_3' && eth.tx.gas_price <= 1000"), false);
    assert.equal(open("eth.tx.gas_price <= 1000 && eth.tx.max_fee_per_blob_gas <= 1"), false);
    assert.equal(open("eth.tx.value <= 1000"), false, "it is about no fee");
  }
  const told = (effect: Policy["effect"]) => warnings(effect, "eth.tx.gas_price <= 1000")[0]?.message ?? "";
  assert.match(told(ALLOW), /Allow only where `eth\.tx\.type != 'TYPE_3'`, or look at `eth\.tx\.max_fee_per_blob_gas`/);
  assert.match(told(DENY), /Deny `eth\.tx\.type == 'TYPE_3'` too, or look at `eth\.tx\.max_fee_per_blob_gas`/);
});

test("Solana transfers without a count of the instructions", () => {
  for (const effect of [ALLOW, DENY]) {
    const counted = (condition: string) => !codes(effect, condition).includes("SOLANA_TRANSFERS_UNCOUNTED");
    assert.equal(counted("solana.tx.transfers.all(t, t.to == 'A')"), false);
    assert.equal(counted("solana.tx.spl_transfers.all(t, t.to == 'A') && solana.tx.spl_transfers.count() == 1"), false);
    assert.equal(
      counted(
        "solana.tx.transfers.all(t, t.to == 'A') && solana.tx.instructions.count() == solana.tx.transfers.count()",
      ),
      true,
    );
    assert.equal(
      counted(
        "solana.tx.transfers.all(t, t.to == 'A') && solana.tx.top_level_instructions.all(i, i.program_key == 'P')",
      ),
      true,
    );
    assert.equal(counted("solana.tx.account_keys.count() == 1"), true);
  }
  const told = (effect: Policy["effect"]) =>
    warnings(effect, "solana.tx.transfers.all(t, t.to == 'A')")[0]?.message ?? "";
  const counts = (operator: string) =>
    `where \`solana.tx.instructions.count() ${operator} solana.tx.transfers.count()\`.`;
  assert.ok(told(ALLOW).endsWith(`Allow only ${counts("==")}`), told(ALLOW));
  assert.ok(told(DENY).endsWith(`Deny also ${counts("!=")}`), told(DENY));
});

test("a fee without proof of the amounts", () => {
  const [allowing] = warnings(ALLOW, "bitcoin.tx.fee < 50000");
  assert.deepEqual(
    [allowing?.code, /it then allows nothing/.test(allowing?.message ?? "")],
    ["BITCOIN_FEE_NEEDS_PROOF", true],
  );
  const [denying] = warnings(DENY, "bitcoin.tx.fee > 50000");
  assert.deepEqual([denying?.code, /it then denies/.test(denying?.message ?? "")], ["BITCOIN_FEE_NEEDS_PROOF", true]);
  assert.deepEqual(codes(ALLOW, "bitcoin.tx.outputs.all(o, o.value < 5)"), []);
});

const notAbout = (condition: string): string[] =>
  warnings(DENY, condition).flatMap(({ code, message }) => (code === "DENIAL_NOT_ABOUT" ? [message] : []));

test("every way to have something signed is known to the warnings", () => {
  const known = new Set(signings.flatMap(({ types }) => types));
  const signs = activityClasses.filter(({ action, kind }) => action === "SIGN" && !SIGN_NOTHING.includes(kind));
  assert.ok(signs.length > 20, `${signs.length} types`);
  for (const { type } of signs) assert.ok(known.has(type), type);
  assert.equal(known.size, signs.length);
});

test("what a denial is not about", () => {
  assert.deepEqual(notAbout("bitcoin.tx.outputs.any(o, o.value > 5)"), [
    "It asks for bitcoin.tx, and is not about what has none: it does not deny signing raw payloads, signing typed data, " +
      "signing authorizations, signing Ethereum transactions, signing Solana transactions, signing Tron transactions, " +
      "signing Tempo transactions, signing Ethereum transactions that are sent, signing Solana transactions that are sent, " +
      "signing swaps on Ethereum chains, signing swaps on Solana, signing claims of swap fees, signing for Spark, signing for Earn.",
  ]);
  assert.deepEqual(notAbout("activity.kind in ['ETH_SEND_TRANSACTION', 'SPARK_SIGN_FROST'] && eth.tx.value > 5"), [
    "It asks for eth.tx, and is not about what has none: it does not deny signing for Spark.",
  ]);
  assert.deepEqual(
    notAbout(
      "activity.kind == 'SIGN_TRANSACTION' && activity.params.type == 'TRANSACTION_TYPE_ETHEREUM' && eth.tx.value > 5",
    ),
    [
      "It asks for activity.params.type, and is not about what has none: it does not deny ACTIVITY_TYPE_SIGN_TRANSACTION.",
      "It asks for eth.tx, and is not about what has none: it does not deny signing Solana transactions, " +
        "signing Tron transactions, signing Bitcoin transactions, signing Tempo transactions.",
    ],
  );
  assert.deepEqual(notAbout("private_key.id == 'P'"), [
    "It asks for private_key, and is not about what has none: it does not deny signing with wallet accounts.",
  ]);
  for (const ofWallet of ["wallet.id == 'W'", "wallet_account.address == 'A'"]) {
    assert.deepEqual(notAbout(ofWallet), [
      `It asks for ${ofWallet.split(".")[0]}, and is not about what has none: it does not deny signing with private keys.`,
    ]);
  }
  const encoded = (encoding: string) =>
    notAbout(
      `activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2' && activity.params.encoding ${encoding} && eth.eip_712.primary_type == 'Permit'`,
    );
  assert.deepEqual(encoded("== 'PAYLOAD_ENCODING_EIP712'"), [], "nothing else has this encoding");
  assert.deepEqual(encoded("!= 'PAYLOAD_ENCODING_EIP7702_AUTHORIZATION'"), [
    "It asks for eth.eip_712, and is not about what has none: it does not deny signing raw payloads.",
  ]);
  assert.equal(notAbout("wallet.id == 'W' || private_key.id == 'P'").length, 2, "no request has both");
  assert.deepEqual(notAbout("activity.resource == 'WALLET' && wallet.id == 'W'"), [], "it is about nothing that signs");
  assert.deepEqual(notAbout("activity.action == 'SIGN'"), []);
  assert.deepEqual(
    notAbout(
      "activity.kind in ['SIGN_RAW_PAYLOAD', 'SIGN_RAW_PAYLOADS'] && activity.params.hash_function == 'HASH_FUNCTION_NO_OP'",
    ),
    [],
  );
});

test("a policy that cannot be compiled any more has no warnings, and a long one takes steps", () => {
  assert.deepEqual(codes(DENY, "wallet.colour == 'red'"), []);
  assert.deepEqual(codes(DENY, "activity.kind == 'SIGN_TRANSACTION'", "approvers.any(u, u.colour == 'red')"), []);
  const long = Array.from({ length: 300 }, (_, index) => `eth.tx.value == ${index}`).join(" || ");
  const some = new Budget(1_000_000);
  assert.ok(warningsOf({ effect: DENY, condition: long, consensus: "" }, cache, some).length > 0);
  assert.ok(some.left < 1_000_000 - 10 * 300, "one for each part and each way to sign");
});
