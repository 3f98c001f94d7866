import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MAX_POLICY_STEPS } from "../kernel/limits.ts";
import { Budget, OutOfBudget } from "./budget.ts";
import { compile, type FactsOf } from "./compile.ts";
import { MissingFactError, PolicyError } from "./errors.ts";
import type { ArgumentFact, ConditionFacts } from "./facts.ts";
import type { Scope } from "./schema.ts";

interface Vector {
  scope: Scope;
  expression: string;
  true?: object;
  false?: object;
  error?: string;
  facts?: object;
}

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/policy-language/expressions.json", import.meta.url), "utf8"),
  // In the test vectors, 123n is a big integer, and an instant under `now` is converted to milliseconds.
  (key, value) => {
    if (typeof value === "string" && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1));
    return key === "now" ? Date.parse(value as string) : value;
  },
) as Vector[];

const activity = { type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2" };
const budget = new Budget(Number.POSITIVE_INFINITY);

/** The value, or the code of the error. */
function evaluate<S extends Scope>(expression: string, facts: object, scope: S): boolean | string {
  const program = compile(expression, scope);
  try {
    return program.evaluate(facts as FactsOf[S], budget);
  } catch (error) {
    if (error instanceof PolicyError) return error.code;
    throw error;
  }
}

const condition = (expression: string, facts: Partial<ConditionFacts> = {}): boolean | string =>
  evaluate(expression, { activity, ...facts }, "condition");

test("every expression of the reference evaluates to true, to false and to an error as it should", () => {
  let cases = 0;
  for (const { scope, expression, error, facts, ...expected } of vectors) {
    if (error !== undefined) assert.equal(evaluate(expression, facts ?? {}, scope), error, expression);
    for (const value of [true, false]) {
      const facts = expected[value ? "true" : "false"];
      if (facts === undefined) continue;
      assert.equal(evaluate(expression, facts, scope), value, expression);
      cases++;
    }
  }
  assert.ok(cases >= 84, String(cases));
  assert.ok(vectors.filter(({ error }) => error !== undefined).length >= 6);
});

test("logic", () => {
  const table: [string, boolean][] = [
    ["true && true && true", true],
    ["true && false && true", false],
    ["false || false", false],
    ["false || true || false", true],
    ["!false && !!true", true],
    ["true == true && false != true", true],
    ["true || false && false", true],
    ["(true || false) && false", false],
  ];
  for (const [expression, value] of table) assert.equal(condition(expression), value, expression);
});

test("integers of both types compare by value", () => {
  const table: [string, boolean][] = [
    ["1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 2 != 3", true],
    ["-1 < 0 && -170141183460469231731687303715884105728 < -1", true],
    ["170141183460469231731687303715884105727 < 170141183460469231731687303715884105728", true],
    ["115792089237316195423570985008687907853269984665640564039457584007913129639935 > -1", true],
    ["1 in [3, 2, 1] && !(4 in [3, 2, 1]) && [1].contains(1)", true],
    ["'0' == 0 && 7 == '007' && '2' in [1, 2] && 2 in ['1', '2']", true],
    ["'007' == '7'", false],
    // Those of a list that has both.
    [`[-1, ${2n ** 200n}].any(x, x < 0) && [-1, ${2n ** 200n}][0] == -1`, true],
    [`[-1, ${2n ** 200n}].filter(x, x > 0).contains(${2n ** 200n}) && [-1, ${2n ** 200n}][0..1].contains(-1)`, true],
    [`[${2n ** 200n}].any(x, x > 1) && [${2n ** 127n - 1n}, -1].all(x, x != 0)`, true],
  ];
  for (const [expression, value] of table) assert.equal(condition(expression), value, expression);
});

test("facts hold to the ranges of their types", () => {
  const tx = { to: "", data: "0x", value: 0n, gas: 0, nonce: 0, type: "LEGACY" as const };
  const value = (value: bigint | number) => condition("eth.tx.value >= 0", { eth: { tx: { ...tx, value } } });
  assert.equal(value(2n ** 256n - 1n), true);
  assert.equal(value(0n), true);
  assert.equal(value(2n ** 256n), "OUT_OF_RANGE");
  assert.equal(value(-1n), "OUT_OF_RANGE");
  assert.equal(value(1.5), "WRONG_FACT");
  assert.equal(value(2 ** 53), "WRONG_FACT");
  const index = (value: bigint) =>
    condition("wallet_account.path_indexes.any(i, i == 1)", {
      wallet_account: { address: "", path_indexes: [1, value] },
    });
  assert.equal(index(2n ** 127n - 1n), true);
  assert.equal(index(-(2n ** 127n)), true);
  assert.equal(index(2n ** 127n), "OUT_OF_RANGE");
  assert.equal(index(-(2n ** 127n) - 1n), "OUT_OF_RANGE");
  assert.equal(condition("wallet.id == 'W'", { wallet: { id: 5 } as never }), "WRONG_FACT");
  assert.equal(condition("wallet.imported", { wallet: { imported: "yes" } as never }), "WRONG_FACT");
  assert.equal(condition("wallets.count() == 0", { wallets: {} as never }), "WRONG_FACT");
  assert.equal(condition("wallet.id == 'W'", { wallet: "W" as never }), "WRONG_FACT");
  assert.equal(condition("wallets.any(w, w.id == 'W')", { wallets: [null] as never }), "WRONG_FACT");
  assert.equal(index(1.5 as never), "WRONG_FACT");
  assert.equal(evaluate("time.now == time.now", { time: { now: 0.5 } }, "time"), "WRONG_FACT");
  assert.equal(evaluate("[time.now].any(t, t == time.now)", { time: { now: 5 } }, "time"), true);
});

test("slices end before their end, and stay within bounds", () => {
  const table: [string, boolean | string][] = [
    ["'abcdef'[2..4] == 'cd'", true],
    ["'abc'[0..3] == 'abc' && 'abc'[3..3] == '' && 'abc'[0] == 'a' && 'abc'[2] == 'c'", true],
    ["[1, 2, 3][0..2].count() == 2 && [1, 2, 3][1..3][0] == 2 && [1][1..1].count() == 0", true],
    ["'héé😀x'[3] == '😀' && 'h😀x'[1..3] == '😀x' && '😀'[0..1] == '😀'", true],
    ["'abc'[3] == ''", "OUT_OF_RANGE"],
    ["'abc'[-1] == 'c'", "OUT_OF_RANGE"],
    ["'abc'[2..4] == 'c'", "OUT_OF_RANGE"],
    ["'abc'[2..1] == ''", "OUT_OF_RANGE"],
    ["'abc'[-1..1] == ''", "OUT_OF_RANGE"],
    ["'😀'[1] == ''", "OUT_OF_RANGE"],
    // However far: the steps are those of the text.
    ["'abc'[4294967296] == ''", "OUT_OF_RANGE"],
    ["'abc'[0..1073741824] == ''", "OUT_OF_RANGE"],
    ["[1][1] == 1", "OUT_OF_RANGE"],
    ["[1][115792089237316195423570985008687907853269984665640564039457584007913129639935] == 1", "OUT_OF_RANGE"],
    ["[1][0..170141183460469231731687303715884105728].count() == 1", "OUT_OF_RANGE"],
    ["[][0..0].count() == 0", true],
  ];
  for (const [expression, value] of table) assert.equal(condition(expression), value, expression);
});

test("quantifiers look at every element", () => {
  const table: [string, boolean | string][] = [
    ["[1, 2].any(x, x == 2) && ![1, 2].any(x, x == 3) && ![].any(x, true)", true],
    ["[1, 2].all(x, x > 0) && ![1, 2].all(x, x > 1) && [].all(x, false)", true],
    ["[1, 2, 3].filter(x, x > 1).count() == 2 && [1, 2, 3].filter(x, x > 1)[0] == 2", true],
    ["[1, 2].any(x, [2, 3].any(y, y == x)) && [1].all(x, [2].all(x, x == 2) && x == 1)", true],
    ["[1].count == 1 && [[1], [1, 2]].filter(l, l.count == 2).count() == 1", true],
    ["[0, 1].any(i, 'ab'[i] == 'a') && [0, 1].all(i, [5, 6][i] >= 5)", true],
    ["[0, 5].any(i, 'ab'[i] == 'a')", "OUT_OF_RANGE"],
    ["[0, 5].filter(i, 'ab'[i] == 'a').count() >= 0", "OUT_OF_RANGE"],
  ];
  for (const [expression, value] of table) assert.equal(condition(expression), value, expression);
});

test("no clause is left out, whatever the others came to", () => {
  for (const expression of [
    "true || wallet.id == 'W'",
    "wallet.id == 'W' || true",
    "false && wallet.id == 'W'",
    "wallet.id == 'W' && false",
    "[1, 2].any(x, x == 1 || wallet.id == 'W')",
    "[1, 2].all(x, x == 5 && wallet.id == 'W')",
    "1 in [1, wallets.count()]",
    "[true, wallet.imported][0]",
  ]) {
    assert.equal(condition(expression), "ABSENT_ROOT", expression);
  }
  assert.equal(condition("[].any(x, wallet.id == 'W')"), false);
});

test("EVM hexadecimal is one value in either letter case, and nothing else is", () => {
  const facts: Partial<ConditionFacts> = {
    eth: {
      tx: {
        to: "0xABcd",
        data: "0xA9059cbbDD",
        value: 0,
        gas: 0,
        nonce: 0,
        type: "LEGACY",
        function_name: "Transfer",
        contract_call_args: { to: "0xAB", text: "Yes", list: ["0xAB"], data: "0xABCD" },
      },
    },
    solana: { tx: { account_keys: ["0xAB", "Abc"] } as never },
    wallet_account: { address: "0xAb" },
  };
  const table: [string, boolean][] = [
    ["eth.tx.to == '0xABCD' && '0xabcd' == eth.tx.to && eth.tx.to in ['0xabCD']", true],
    ["['0xAbCd'].contains(eth.tx.to) && ['0xABCD'].any(a, a == eth.tx.to)", true],
    ["eth.tx.data[2..10] == 'A9059CBB' && eth.tx.data[0..10] != '0xa9059cbc'", true],
    ["eth.tx.function_name == 'transfer'", false],
    ["eth.tx.contract_call_args['to'] == '0xab' && '0xAB' in eth.tx.contract_call_args['list']", true],
    ["eth.tx.contract_call_args['list'].contains('0xab')", true],
    ["eth.tx.contract_call_args['list'].all(a, a in ['0xab'])", true],
    ["eth.tx.contract_call_args['text'] == 'yes'", false],
    ["eth.tx.contract_call_args['data'][2..4] == 'ab'", false],
    ["'0xab' in solana.tx.account_keys || 'abc' in solana.tx.account_keys", false],
    ["wallet_account.address == '0xaB'", true],
    ["wallet_account.address[1..3] == 'xa'", false],
    ["'0xAB' == '0xab'", false],
  ];
  for (const [expression, value] of table) assert.equal(condition(expression, facts), value, expression);
});

test("arguments are looked at when they are used", () => {
  const args: Record<string, ArgumentFact> = {
    int: 5n,
    small: 5,
    text: "5",
    flag: true,
    list: [1, 2n, 3],
    tuple: ["0xAB", 0n, [true]],
    struct: { a: { b: "c" }, count: "d" },
    float: 1.5,
    huge: 2n ** 256n,
    empty: null as never,
    odd: [null, undefined, () => 0, Symbol("odd")] as never,
  };
  const facts: Partial<ConditionFacts> = { eth: { eip_712: { primary_type: "", domain: {}, message: args } } };
  const table: [string, boolean | string][] = [
    ["m['int'] == 5 && m['small'] == 5 && m['int'] == m['small'] && m['int'] >= 5 && m['int'] > '4'", true],
    ["m['int'] == '5' && m['text'] == '5' && '5' == m['int'] && m['int'] in ['4', '5']", true],
    ["m['text'] in ['4', '5'] && m['list'].contains('2')", true],
    ["5 in [m['small'], '7'] && 7 in [m['int'], '7'] && [m['int'], '07'].contains(7)", true],
    ["!(7 in [m['int'], '7'])", false],
    ["7 in [m['int'], 'seven']", "INCOMPARABLE"],
    ["true in [m['flag'], '5']", "INCOMPARABLE"],
    ["'a' in [m['text'], 5]", "INCOMPARABLE"],
    ["m['flag'] && m['flag'] == true && !(m['flag'] == false)", true],
    ["m['list'].count() == 3 && m['list'].count == 3 && m['list'][0..2].count == 2 && m['list'][1] == 2", true],
    ["2 in m['list'] && m['list'].any(x, x == 3) && m['list'].filter(x, x > 1).count() == 2", true],
    ["m['tuple'][0] == '0xab' && m['tuple'][2][0] && m['text'][0] == '5' && m['tuple'][0][0..2] == '0x'", true],
    ["m['struct']['a']['b'] == 'c' && m['struct'].a.b == 'c' && m['struct'].count == 'd'", true],
    ["m['nope'] == 1", "MISSING_FACT"],
    ["m['struct']['nope'] == 1", "MISSING_FACT"],
    ["m['__proto__'] == 1", "MISSING_FACT"],
    ["m['struct'].toString == 'x'", "MISSING_FACT"],
    ["m['empty'] == 1", "MISSING_FACT"],
    ["m['tuple']['0'] == 1", "INCOMPARABLE"],
    ["m['tuple'].target == 1", "INCOMPARABLE"],
    ["m['int'].count == 1", "INCOMPARABLE"],
    ["m['int'] == 'five'", "INCOMPARABLE"],
    ["m['text'] == 5", "INCOMPARABLE"],
    ["m['text'] < 6", "INCOMPARABLE"],
    ["m['flag'] == 1", "INCOMPARABLE"],
    ["m['list'] == m['list']", "INCOMPARABLE"],
    ["m['struct'] == 1", "INCOMPARABLE"],
    ["m['int'] && true", "INCOMPARABLE"],
    ["!m['text']", "INCOMPARABLE"],
    ["m['int'].any(x, true)", "INCOMPARABLE"],
    ["m['int'].count() == 1", "INCOMPARABLE"],
    ["m['list'][m['flag']] == 1", "INCOMPARABLE"],
    ["m['struct'][0] == 1", "INCOMPARABLE"],
    ["m['list'][3] == 1", "OUT_OF_RANGE"],
    ["m['huge'] > 1", "OUT_OF_RANGE"],
    ["m['float'] == 1", "WRONG_FACT"],
    ["m['odd'][0] == 1", "WRONG_FACT"],
    ["m['odd'][1] == 1", "WRONG_FACT"],
    ["m['odd'][2] == 1", "WRONG_FACT"],
    ["m['odd'][3] == 1", "WRONG_FACT"],
    ["m[m['int']] == 1", "INCOMPARABLE"],
  ];
  for (const [short, value] of table) {
    const expression = short.replaceAll("m[", "eth.eip_712.message[");
    assert.equal(condition(expression, facts), value, short);
  }
});

test("lazy facts are asked for when they are touched, and may say that there are none", () => {
  let asked = 0;
  const eth = {
    get tx(): never {
      asked++;
      throw new MissingFactError("the payload is not a transaction");
    },
  };
  assert.equal(condition("activity.type == 'x'", { eth }), false);
  assert.equal(asked, 0);
  const program = compile("eth.tx.to == ''", "condition");
  assert.throws(() => program.evaluate({ activity, eth }, budget), {
    code: "MISSING_FACT",
    message: "there is no eth.tx: the payload is not a transaction",
  });
  assert.equal(asked, 1);
  // What else goes wrong with them is no outcome of a policy.
  const broken = {
    get tx(): never {
      throw new TypeError("a fault of ours");
    },
  };
  assert.throws(() => program.evaluate({ activity, eth: broken }, budget), TypeError);
});

test("an evaluation that takes too many steps ends", () => {
  const solana = { tx: { account_keys: Array.from({ length: 500 }, (_, index) => `K${index}`) } as never };
  const keys = "solana.tx.account_keys";
  assert.equal(condition(`${keys}.all(a, a in ${keys})`, { solana }), "TOO_COSTLY");
  assert.equal(condition(`${keys}.any(a, ${keys}.any(b, ${keys}.any(c, a == b)))`, { solana }), "TOO_COSTLY");
  assert.equal(condition(`${keys}.all(a, a != 'x')`, { solana }), true);
  const started = process.threadCpuUsage();
  const data = `0x${"Ab".repeat(200_000)}`;
  const eth = { tx: { to: "", data, value: 0, gas: 0, nonce: 0, type: "LEGACY" as const } };
  const clause = "eth.tx.data[0..400001] != eth.tx.data[1..400002]";
  assert.equal(condition(Array.from({ length: 300 }, () => clause).join(" || "), { eth }), "TOO_COSTLY");
  const solanaAndData = { eth, solana };
  assert.equal(condition(`${keys}.any(a, eth.tx.data[0..4] == '0xab')`, solanaAndData), true);
  assert.equal(condition(`${keys}.any(a, eth.tx.data[400000] == 'b')`, solanaAndData), "TOO_COSTLY");
  const { user, system } = process.threadCpuUsage(started);
  assert.ok(user + system < 2_000_000, `${user + system} microseconds of this thread's work`);
});

test("errors of evaluation say what and where", () => {
  const program = compile("true &&\n wallet.id == 'W'", "condition");
  assert.throws(
    () => program.evaluate({ activity }, budget),
    (error: PolicyError) => error.description === "there is no wallet here (line 2, column 2)",
  );
  const tx = { to: "", data: "0x", value: 0n, gas: 0, nonce: 0, type: "LEGACY" as const };
  const message = { list: [1], odd: [null] as never, struct: { a: 1 } };
  const facts = { activity, eth: { tx, eip_712: { primary_type: "", domain: {}, message } }, wallets: [{ id: "W" }] };
  const table: [string, string][] = [
    ["eth.tx.chain_id == 1", "there is no eth.tx.chain_id here"],
    ["wallets[0].label == 'x'", "there is no Wallet.label here"],
    ["eth.eip_712.message['list'] < 1", "`eth.eip_712.message['list']` is a list, not an integer"],
    ["eth.eip_712.message['struct'] < 1", "`eth.eip_712.message['struct']` is a struct, not an integer"],
    ["eth.eip_712.message['list'] == 1", "a list cannot be compared with an integer"],
    ["eth.eip_712.message['odd'][0] == 1", "the argument is nothing, which has no type here"],
    ["eth.eip_712.message['list'].a == 1", "'a' is asked of a list; elements of a list or tuple go by position"],
  ];
  for (const [expression, message] of table) {
    assert.throws(() => compile(expression, "condition").evaluate(facts as never, budget), { message }, expression);
  }
});

test("a root is absent where any name of its path is, and what it lacks is something else", () => {
  const tx = { to: "", data: "0x", value: 0, gas: 0, nonce: 0, type: "LEGACY" as const };
  const table: [string, Partial<ConditionFacts>, string | boolean, RegExp?][] = [
    ["eth.tx.to == ''", {}, "ABSENT_ROOT", /^there is no eth\.tx here$/],
    ["eth.tx.to == ''", { eth: {} }, "ABSENT_ROOT", /^there is no eth\.tx here$/],
    ["eth.tx.to == ''", { eth: { tx } }, true],
    ["eth.tx.chain_id == 1", { eth: { tx } }, "MISSING_FACT"],
    ["eth.tx.chain_id == 1", { eth: { tx: { ...tx, chain_id: null as never } } }, "MISSING_FACT"],
    ["wallet.id == 'W'", { wallet: null as never }, "ABSENT_ROOT"],
    ["wallet.id == 'W'", {}, "ABSENT_ROOT", /^there is no wallet here$/],
    ["activity.params.type == 'x'", {}, "ABSENT_ROOT", /^there is no activity\.params\.type here$/],
    ["activity.params.type == 'x'", { activity: { ...activity, params: {} } }, "ABSENT_ROOT"],
    ["activity.params.type == 'x'", { activity: { ...activity, params: { type: "x" } } }, true],
    ["[eth].count() == 1", {}, "ABSENT_ROOT", /^there is no eth here$/],
  ];
  for (const [expression, facts, value, message] of table) {
    assert.equal(condition(expression, facts), value, expression);
    if (!message) continue;
    assert.throws(() => compile(expression, "condition").evaluate({ activity, ...facts }, budget), { message });
  }
});

test("an evaluation takes its steps from the budget, and ends without a value where they are used up", () => {
  const solana = { tx: { account_keys: Array.from({ length: 100 }, (_, index) => `K${index}`) } as never };
  const program = compile("solana.tx.account_keys.all(a, a != 'x')", "condition");
  const some = new Budget(1000);
  assert.equal(program.evaluate({ activity, solana }, some), true);
  const spent = 1000 - some.left;
  assert.ok(spent >= 300 && spent < 500, String(spent));
  assert.throws(() => program.evaluate({ activity, solana }, new Budget(spent - 1)), OutOfBudget);
  assert.equal(program.evaluate({ activity, solana }, new Budget(spent)), true);
  const none = new Budget(10);
  assert.throws(() => program.evaluate({ activity, solana }, none), OutOfBudget);
  assert.equal(none.left, 0);
});

test("an evaluation that fails takes the steps until then, and no more than one evaluation may", () => {
  const program = compile("wallet.id == 'W'", "condition");
  const some = new Budget(1000);
  assert.throws(() => program.evaluate({ activity }, some), { code: "ABSENT_ROOT" });
  const spent = 1000 - some.left;
  assert.ok(spent > 0 && spent < 20, String(spent));
  // What is wrong with the expression is not the budget's fault, also where it takes the last of it.
  assert.throws(() => program.evaluate({ activity }, new Budget(spent)), { code: "ABSENT_ROOT" });
  assert.throws(() => program.evaluate({ activity }, new Budget(spent - 1)), OutOfBudget);

  const solana = { tx: { account_keys: Array.from({ length: 500 }, (_, index) => `K${index}`) } as never };
  const costly = compile("solana.tx.account_keys.all(a, a in solana.tx.account_keys)", "condition");
  const more = new Budget(MAX_POLICY_STEPS + 1);
  assert.throws(() => costly.evaluate({ activity, solana }, more), { code: "TOO_COSTLY" });
  assert.equal(more.left, 1);
  assert.throws(() => costly.evaluate({ activity, solana }, new Budget(MAX_POLICY_STEPS)), { code: "TOO_COSTLY" });
  assert.throws(() => costly.evaluate({ activity, solana }, new Budget(MAX_POLICY_STEPS - 1)), OutOfBudget);
});

test("comparing and cutting long texts, and looking at a calendar, take as many steps as they are long", () => {
  const spentOn = (expression: string, scope: Scope, facts: object): number => {
    const some = new Budget(100_000);
    compile(expression, scope).evaluate(facts as never, some);
    return 100_000 - some.left;
  };
  const wallets = (label: string) => ({
    activity,
    wallets: [0, 1].map(() => ({ id: "W", imported: false, exported: false, label: `${label}` })),
  });
  const compared = "wallets[0].label == wallets[1].label";
  const [short, long] = ["a", "a".repeat(64_000)].map((label) => spentOn(compared, "condition", wallets(label)));
  assert.ok((long as number) - (short as number) >= 1000);
  const other = { ...wallets("a".repeat(64_000)).wallets[1], label: `${"a".repeat(63_999)}b` };
  const differing = { activity, wallets: [wallets("a".repeat(64_000)).wallets[0], other] };
  assert.ok(spentOn(compared, "condition", differing) - (short as number) >= 1000);
  const data = (length: number, character = "a") => ({
    activity,
    eth: { tx: { to: "", data: character.repeat(length), value: 0n, gas: 0, nonce: 0, type: "LEGACY" } },
  });
  const table: [string, number, (length: number) => object][] = [
    // What is cut out, what is searched for pairs of surrogates, and what is split for them.
    ["eth.tx.data[15999..16000] == ''", 200, data],
    ["eth.tx.data[1] == ''", 3000, (length) => data(length, "😀")],
    // Without regard to letter case.
    [`eth.tx.data == '${"A".repeat(16_000)}'`, 2000, data],
  ];
  for (const [expression, least, facts] of table) {
    const spent = spentOn(expression, "condition", facts(16_000));
    assert.ok(spent >= least, `${expression.slice(0, 40)}: ${spent}`);
  }
  const [last, whole] = [15_999, 0].map((from) =>
    spentOn(`eth.tx.data[${from}..16000] == ''`, "condition", data(16_000)),
  );
  assert.ok((whole as number) - (last as number) >= 200);
  const time = { time: { now: 0 } };
  const [minute, week] = ["1m", "7d"].map((duration) =>
    spentOn(`CronSpan('* * * * *', '${duration}', 'UTC')`, "time", time),
  );
  assert.ok((week as number) > (minute as number) && (minute as number) > 5);
});
