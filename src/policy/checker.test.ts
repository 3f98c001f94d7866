import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { check } from "./checker.ts";
import { PolicyError } from "./errors.ts";
import { parse } from "./parser.ts";
import { keywords, type Scope } from "./schema.ts";
import type { Type } from "./types.ts";

interface Invalid {
  scope: Scope;
  expression: string;
  code: string;
  message?: string;
  /** What would have been valid. */
  expected?: string | null;
  line: number;
  column: number;
}

const vectors = new URL("../../test/vectors/policy-language/", import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, vectors), "utf8"));
const expressions = read("expressions.json") as { scope: Scope; expression: string }[];
const invalid = read("invalid.json") as Invalid[];

const checked = (expression: string, scope: Scope) => check(parse(expression), scope, expression);

test("every expression of the reference has the type bool", () => {
  assert.ok(expressions.length >= 45);
  for (const { scope, expression } of expressions) assert.equal(checked(expression, scope).type.kind, "bool");
});

test("what is not valid is refused, with the place", () => {
  assert.ok(invalid.length >= 100);
  for (const { scope, expression, code, message, expected, line, column } of invalid) {
    let error: unknown;
    try {
      checked(expression, scope);
    } catch (thrown) {
      error = thrown;
    }
    assert.ok(error instanceof PolicyError, `accepted: ${expression}`);
    const { position } = error;
    const found = { code: error.code, line: position.line, column: position.column };
    assert.deepEqual(found, { code, line, column }, `${expression}: ${error.message}`);
    if (message !== undefined) assert.equal(error.message, message, expression);
    if (expected !== undefined) assert.equal(error.expected ?? null, expected, expression);
  }
});

test("what is valid beyond the reference is accepted", () => {
  const cases: [Scope, string][] = [
    ["condition", "'a' in [] || [].count() == 0 || [].any(x, true)"],
    ["condition", "activity.kind in [activity.type, 'X']"],
    ["condition", "(1 == 1) == (2 == 2)"],
    ["condition", "[[1], []].count() == 2 && 5 in wallet_account.path_indexes && eth.tx.chain_id in [1, '137', -1]"],
    ["condition", `'${2n ** 256n - 1n}' == eth.tx.value && '5' < eth.tx.contract_call_args['n']`],
    ["condition", "eth.tx.chain_id in ['1', '137'] && eth.tx.chain_id in [1, '137']"],
    ["condition", "'5' in wallet_account.path_indexes && wallet_account.path_indexes.contains('5')"],
    ["condition", "'8453' == eth.tx.chain_id && eth.tx.value > '100' && '00100' < eth.tx.value"],
    ["condition", "-1 < 115792089237316195423570985008687907853269984665640564039457584007913129639935"],
    ["condition", "eth.tx.contract_call_args['f'] && !eth.tx.contract_call_args['f']"],
    ["condition", "eth.tx.contract_call_args['n'] > '5' && eth.tx.contract_call_args['x'].y.count == 1"],
    ["condition", "eth.tx.contract_call_args['x']['y'][0][1..2].filter(z, z == 1).count() == 1"],
    ["condition", "wallets.any(wallet, wallet.id == 'W') && wallets.filter(w, w.imported)[0].exported"],
    ["condition", "solana.tx.instructions.any(x, x.accounts.any(x, x.signer))"],
    ["condition", "solana.tx.top_level_instructions.all(i, i.parsed_instruction_data.named_account['a'] == 'A')"],
    ["condition", "activity.params.type == 'X' || activity.params.user_ids.count == 1"],
    ["condition", "activity.type != 'ACTIVITY_TYPE_CREATE_WALLET' && activity.params.user_id == 'U'"],
    ["condition", "activity.resource == 'WALLET' && activity.params.target_public_key == '04'"],
    ["consensus", "approvers[0..1].all(u, u.tags[0] == 'T') && approvers.count == credentials.count()"],
    ["time", "time.now in [Timestamp('2026-03-01T00:00:00Z')] || !CronSpan('* * * * *', '1m', 'UTC')"],
  ];
  for (const [scope, expression] of cases) assert.doesNotThrow(() => checked(expression, scope), expression);
});

test("every keyword and field of the schema is known to the checker", () => {
  let fields = 0;
  const visit = (expression: string, type: Type, scope: Scope, depth: number): void => {
    if (depth > 8) return;
    if (type.kind === "struct") {
      for (const [name, field] of Object.entries(type.fields)) visit(`${expression}.${name}`, field, scope, depth + 1);
      for (const name of Object.keys(type.aliases)) assert.doesNotThrow(() => parse(`${expression}.${name}`));
      return;
    }
    fields++;
    const test: Record<Exclude<Type["kind"], "struct" | "nothing">, string> = {
      bool: expression,
      int: `${expression} >= 0`,
      uint: `${expression} >= 0`,
      integer: `${expression} >= 0`,
      string: `${expression} == 'x'`,
      timestamp: `${expression} == ${expression}`,
      argument: `${expression} == 1`,
      list: `${expression}.count() == 0`,
      map: `${expression}['k'] == 'v'`,
    };
    assert.doesNotThrow(() => checked(test[type.kind as keyof typeof test], scope), expression);
    if (type.kind === "list") visit(`${expression}[0]`, type.element, scope, depth + 1);
  };
  for (const scope of ["consensus", "condition", "time"] as const) {
    for (const [name, type] of Object.entries(keywords[scope])) visit(name, type, scope, 0);
  }
  assert.ok(fields > 150, String(fields));
});

test("the bounds of a check hold for the largest expressions", () => {
  const clause = "activity.params.sign_with == 'x'";
  const source = Array.from({ length: 450 }, () => clause).join(" && ");
  assert.doesNotThrow(() => checked(source, "condition"));
});
