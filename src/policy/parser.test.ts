import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { MAX_POLICY_DEPTH } from "../kernel/limits.ts";
import type { Expression } from "./ast.ts";
import { PolicyError } from "./errors.ts";
import { parse } from "./parser.ts";
import { print } from "./print.ts";

const vectors = new URL("../../test/vectors/policy-language/", import.meta.url);
const expressions: { expression: string }[] = JSON.parse(readFileSync(new URL("expressions.json", vectors), "utf8"));

/** The tree without positions. */
function shape(node: Expression): unknown {
  return JSON.parse(
    JSON.stringify(node, (key, value) => {
      if (key === "offset") return undefined;
      return typeof value === "bigint" ? `${value}n` : value;
    }),
  );
}

test("every expression of the reference prints back to an equal tree", () => {
  assert.ok(expressions.length >= 45);
  for (const { expression } of expressions) {
    const tree = parse(expression);
    assert.deepEqual(shape(parse(print(tree))), shape(tree), expression);
  }
});

test("prints one spelling, with the parentheses that are needed", () => {
  const cases: [string, string][] = [
    ["((true))", "true"],
    ["a==b&&c||d", "a == b && c || d"],
    ["a&&(b||c)", "a && (b || c)"],
    ["(a&&b)||c", "a && b || c"],
    ["(a&&b)&&c", "(a && b) && c"],
    ["a||(b||c)", "a || (b || c)"],
    ["!(a==b)", "!(a == b)"],
    ["!a==b", "!a == b"],
    ["!!a", "!!a"],
    ["(!a).b", "(!a).b"],
    ["(a==b)==c", "(a == b) == c"],
    ["x [ 0 ..  1 ] . any( y,y )", "x[0..1].any(y, y)"],
    ["'a'in['a','b']", "'a' in ['a', 'b']"],
    ["[[1],[]][-1]", "[[1], []][-1]"],
    ["a.count==a.count()", "a.count == a.count()"],
    ["Timestamp ( 'x' )", "Timestamp('x')"],
    ["007", "7"],
    ["'&& in true'", "'&& in true'"],
    ["in_ == truex", "in_ == truex"],
  ];
  for (const [source, printed] of cases) {
    assert.equal(print(parse(source)), printed);
    assert.deepEqual(shape(parse(printed)), shape(parse(source)));
  }
});

test("a long row of clauses is not deep", () => {
  const source = Array.from({ length: 1300 }, (_, index) => `a == ${index % 10}`).join(" && ");
  assert.equal(print(parse(source)), source);
});

test("nesting is bounded, whatever it is made of", () => {
  const depths = (nest: (depth: number) => string): void => {
    assert.doesNotThrow(() => parse(nest(20)));
    for (const depth of [70, 10_000 / nest(1).length, 10_000]) {
      assert.throws(
        () => parse(nest(Math.floor(depth))),
        (error: PolicyError) => ["TOO_DEEP", "TOO_LONG"].includes(error.code),
      );
    }
  };
  depths((n) => `${"(".repeat(n)}a${")".repeat(n)}`);
  depths((n) => `${"!".repeat(n)}a`);
  depths((n) => `${"[".repeat(n)}1${"]".repeat(n)}`);
  depths((n) => `a${"[0]".repeat(n)}`);
  depths((n) => `a${".b".repeat(n)}`);
  depths((n) => `${"a[".repeat(n)}0${"]".repeat(n)}`);
  depths((n) => `${"a.any(b, ".repeat(n)}b${")".repeat(n)}`);
  depths((n) => `a${".filter(b, b)".repeat(n)}`);
  depths((n) => `${"Timestamp(".repeat(n)}'x'${")".repeat(n)}`);
  depths((n) => `${"(a && ".repeat(n)}a${")".repeat(n)}`);
  depths((n) => `${"(".repeat(n)}a${" == a)".repeat(n)}`);
  // Long chains at every level, each within the limits.
  const comb = Array.from({ length: 60 }, (_, level) => `a${"[0]".repeat(60 - level)}[`).join("");
  assert.throws(() => parse(`${comb}0${"]".repeat(60)}`), { code: "TOO_DEEP" });
});

test("as many levels as are allowed can be used, whatever they are made of, and not one more", () => {
  const levels: ((count: number) => string)[] = [
    (count) => `${"!".repeat(count - 1)}a`,
    (count) => `${"[".repeat(count - 1)}1${"]".repeat(count - 1)}`,
    (count) => `a${"[0]".repeat(count - 1)}`,
    (count) => `a${".b".repeat(count - 1)}`,
    (count) => `${"a[".repeat(count - 1)}0${"]".repeat(count - 1)}`,
    // Parentheses are no part of the tree, but of what is nested.
    (count) => `${"(".repeat(count)}a${")".repeat(count)}`,
  ];
  for (const nest of levels) {
    assert.doesNotThrow(() => parse(nest(MAX_POLICY_DEPTH)), nest(2));
    assert.throws(() => parse(nest(MAX_POLICY_DEPTH + 1)), { code: "TOO_DEEP" }, nest(2));
  }
  // One after the other they are not nested.
  const half = "(".repeat(MAX_POLICY_DEPTH / 2);
  const beside = `${half}a${half.replaceAll("(", ")")}`;
  assert.doesNotThrow(() => parse(Array.from({ length: 5 }, () => beside).join(" && ")));
  assert.doesNotThrow(() => parse(`a${".b".repeat(MAX_POLICY_DEPTH - 2)} && a${".b".repeat(MAX_POLICY_DEPTH - 2)}`));
});

test("each part has the place that messages about it point to", () => {
  const source = "a.b[0] == -1";
  const tree = parse(source) as Expression & { kind: "compare" };
  const index = tree.left as Expression & { kind: "index" };
  const field = index.object as Expression & { kind: "field" };
  const places = [tree, index, field, field.object, index.index, tree.right].map(({ offset }) => offset);
  assert.deepEqual(places, [7, 3, 2, 0, 4, 10]);
});

test("any row of tokens parses and prints back, or ends in an error with a place", () => {
  const tokens = [
    "a",
    "1",
    "'s'",
    "(",
    ")",
    "[",
    "]",
    ".",
    "..",
    ",",
    "!",
    "==",
    "<",
    "in",
    "&&",
    "||",
    "any",
    "count",
  ];
  const source = fc.array(fc.constantFrom(...tokens), { maxLength: 14 }).map((parts) => parts.join(" "));
  let parsed = 0;
  fc.assert(
    fc.property(source, (text) => {
      let tree: Expression;
      try {
        tree = parse(text);
      } catch (error) {
        assert.ok(error instanceof PolicyError);
        assert.ok(error.offset >= 0 && error.offset <= text.length);
        return;
      }
      parsed++;
      assert.deepEqual(shape(parse(print(tree))), shape(tree));
    }),
    { numRuns: 5000 },
  );
  assert.ok(parsed > 0);
});
