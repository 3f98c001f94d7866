import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { absentRootsOf } from "../../src/policy/absent-roots.ts";
import type { Expression } from "../../src/policy/ast.ts";
import { Budget } from "../../src/policy/budget.ts";
import { compile, type FactsOf, type Program } from "../../src/policy/compile.ts";
import { PolicyError } from "../../src/policy/errors.ts";
import { parse } from "../../src/policy/parser.ts";
import { print } from "../../src/policy/print.ts";
import type { Scope } from "../../src/policy/schema.ts";
import { areLong } from "../support/long-tests.ts";
import { errorsNaively, evaluateNaively, Failure } from "./oracle.ts";
import { randomProgram } from "./random-programs.ts";

/** KEYSTEAD_LONG_TESTS=1 runs the number that a release is held to. */
const RUNS = areLong ? 100_000 : 2_000;

function outcome(evaluate: () => boolean, isError: (error: unknown) => boolean): boolean | "error" {
  try {
    return evaluate();
  } catch (error) {
    if (isError(error)) return "error";
    throw error;
  }
}

function shape(node: Expression): string {
  return JSON.stringify(node, (key, value) => {
    if (key === "offset") return undefined;
    return typeof value === "bigint" ? `${value}n` : value;
  });
}

/** A condition that can match no activity with the params it names is refused: not a fault of the random program. */
function compiled(source: string, scope: Scope): Program | undefined {
  try {
    return compile(source, scope);
  } catch (error) {
    const isRefused = error instanceof PolicyError && error.code === "UNKNOWN_FIELD";
    if (isRefused && source.includes("activity.params.")) return undefined;
    throw error;
  }
}

test(`${RUNS} random programs: printed, parsed and compared; compiled and held against the naive evaluator`, (context) => {
  const tally = { true: 0, false: 0, error: 0 };
  let longest = 0;
  let impossible = 0;
  const row = fc.array(fc.nat(2 ** 31 - 1), { minLength: 5, maxLength: 160, size: "max" });
  fc.assert(
    fc.property(row, (choices) => {
      const { scope, source, facts } = randomProgram(choices);
      const tree = parse(source);
      assert.equal(shape(parse(print(tree))), shape(tree), source);
      const program = compiled(source, scope);
      if (program === undefined) {
        impossible++;
        return;
      }
      const expected = outcome(
        () => evaluateNaively(tree, facts),
        (error) => error instanceof Failure,
      );
      const found = outcome(
        () => program.evaluate(facts as FactsOf[Scope], new Budget(Number.POSITIVE_INFINITY)),
        (error) => error instanceof PolicyError,
      );
      assert.equal(found, expected, `${source}\n${shape(facts as Expression)}`);
      tally[`${found}`]++;
      longest = Math.max(longest, source.length);
    }),
    { numRuns: RUNS },
  );
  context.diagnostic(`${JSON.stringify(tally)}, longest program ${longest} characters`);
  assert.ok(impossible < RUNS / 20, String(impossible));
  for (const count of Object.values(tally)) assert.ok(count > RUNS / 20, JSON.stringify(tally));
});

test(`${RUNS} random programs: the roots that they lack, and whether that is all that is wrong`, (context) => {
  const budget = new Budget(Number.POSITIVE_INFINITY);
  const tally = { rootsAlone: 0, both: 0, others: 0 };
  const row = fc.array(fc.nat(2 ** 31 - 1), { minLength: 5, maxLength: 160, size: "max" });
  fc.assert(
    fc.property(row, (choices) => {
      const { scope, source, facts } = randomProgram(choices);
      const program = compiled(source, scope);
      if (program === undefined) return;
      try {
        program.evaluate(facts as FactsOf[Scope], budget);
        return;
      } catch (error) {
        assert.ok(error instanceof PolicyError);
        const { roots, others } = errorsNaively(parse(source), facts);
        if (error.code === "ABSENT_ROOT") {
          const found = absentRootsOf(program, facts as FactsOf[Scope], budget);
          const expected = others ? undefined : [...roots].sort();
          assert.deepEqual(found?.sort(), expected, `${source}\n${shape(facts as Expression)}`);
        } else {
          // The naive evaluator has nothing to say of a value that is no bool at the very end.
          assert.ok(others || roots.size === 0, source);
        }
        tally[roots.size === 0 ? "others" : others ? "both" : "rootsAlone"]++;
      }
    }),
    { numRuns: RUNS },
  );
  context.diagnostic(JSON.stringify(tally));
  for (const count of Object.values(tally)) assert.ok(count > RUNS / 200, JSON.stringify(tally));
});
