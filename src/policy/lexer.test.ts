import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../test/support/any-text.ts";
import { MAX_POLICY_LENGTH } from "../kernel/limits.ts";
import { PolicyError } from "./errors.ts";
import { tokenize } from "./lexer.ts";

const texts = (source: string): string[] => tokenize(source).map(({ text }) => text);

test("splits operators, names, integers and strings", () => {
  assert.deepEqual(texts("a.b[0..10]>=-5&&!(x in ['q'])||c!=1"), [
    ...["a", ".", "b", "[", "0", "..", "10", "]", ">=", "-5", "&&", "!", "(", "x", "in", "[", "q", "]", ")"],
    ...["||", "c", "!=", "1", ""],
  ]);
});

test("tells where each token begins", () => {
  assert.deepEqual(
    tokenize(" a\n\t== 'b c'").map(({ kind, offset }) => [kind, offset]),
    [
      ["identifier", 1],
      ["symbol", 4],
      ["string", 7],
      ["end", 12],
    ],
  );
});

test("a string has no escapes and may hold any printable text", () => {
  assert.deepEqual(texts("'a\\n' '' '\"é😀{'"), ["a\\n", "", '"é😀{', ""]);
});

test("bounds the length before it reads", () => {
  assert.equal(tokenize(" ".repeat(MAX_POLICY_LENGTH)).length, 1);
  assert.throws(() => tokenize("(".repeat(1_000_000)), { code: "TOO_LONG" });
  assert.throws(() => tokenize(" ".repeat(MAX_POLICY_LENGTH + 1)), { code: "TOO_LONG", offset: 0 });
});

test("bounds integers to those of the language", () => {
  const most = (2n ** 256n - 1n).toString();
  const least = (-(2n ** 127n)).toString();
  assert.deepEqual(texts(`${most} ${least} 000${most}`), [most, least, `000${most}`, ""]);
  for (const digits of [`${2n ** 256n}`, `${-(2n ** 127n) - 1n}`, "9".repeat(10_000), `-${"9".repeat(10_000)}`]) {
    assert.throws(() => tokenize(digits), { code: "LITERAL" });
  }
});

test("any text ends in tokens or in an error with a place in the text", () => {
  fc.assert(
    fc.property(anyText({ maxLength: 60 }), (source) => {
      try {
        assert.equal(tokenize(source).at(-1)?.kind, "end");
      } catch (error) {
        assert.ok(error instanceof PolicyError);
        assert.ok(error.offset >= 0 && error.offset < source.length);
        assert.ok(error.description.isWellFormed());
      }
    }),
    { numRuns: 2000 },
  );
});
