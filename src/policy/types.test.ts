import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ADDRESS,
  ARGUMENT,
  areComparable,
  areOrdered,
  BOOL,
  canBe,
  EVM_ARGUMENT,
  HEX,
  INT,
  INTEGER,
  letterCaseOf,
  list,
  map,
  NOTHING,
  STRING,
  struct,
  TIMESTAMP,
  typeName,
  UINT,
  unify,
} from "./types.ts";

const user = struct("User", { id: STRING });

test("names types as messages do", () => {
  assert.equal(typeName(list(list(INT))), "list<list<int>>");
  assert.equal(typeName(map(ARGUMENT)), "map<string, argument>");
  assert.equal(typeName(list(NOTHING)), "empty list");
  assert.equal(typeName(user), "User");
});

test("finds the type that has the values of both", () => {
  assert.deepEqual(unify(INT, INT), INT);
  assert.deepEqual(unify(INT, UINT), INTEGER);
  assert.deepEqual(unify(UINT, INT), INTEGER);
  assert.deepEqual(unify(INTEGER, INT), INTEGER);
  assert.deepEqual(unify(STRING, HEX), HEX);
  assert.deepEqual(unify(NOTHING, INT), INT);
  assert.deepEqual(unify(INT, NOTHING), INT);
  assert.deepEqual(unify(list(NOTHING), list(BOOL)), list(BOOL));
  assert.deepEqual(unify(ARGUMENT, HEX), { kind: "argument", letterCase: "hex" });
  assert.deepEqual(unify(HEX, ARGUMENT), { kind: "argument", letterCase: "hex" });
  assert.deepEqual(unify(user, user), user);
  assert.deepEqual(unify(map(INT), map(UINT)), map(INTEGER));
  for (const [a, b] of [
    [INT, STRING],
    [BOOL, INT],
    [list(INT), list(STRING)],
    [user, struct("Wallet", {})],
    [TIMESTAMP, INT],
    [map(INT), map(STRING)],
    [list(INT), INT],
    [INT, list(INT)],
    [map(INT), INT],
    [INT, map(INT)],
  ] as const) {
    assert.equal(unify(a, b), undefined);
  }
});

test("compares scalars alone", () => {
  for (const [a, b] of [
    [INT, UINT],
    [INT, INTEGER],
    [STRING, HEX],
    [BOOL, BOOL],
    [TIMESTAMP, TIMESTAMP],
    [ARGUMENT, INT],
    [BOOL, ARGUMENT],
  ] as const) {
    assert.ok(areComparable(a, b));
  }
  for (const [a, b] of [
    [INT, STRING],
    [list(INT), list(INT)],
    [user, user],
    [TIMESTAMP, ARGUMENT],
    [ARGUMENT, TIMESTAMP],
    [TIMESTAMP, INT],
    [ARGUMENT, list(INT)],
  ] as const) {
    assert.ok(!areComparable(a, b));
  }
  assert.ok(areOrdered(INTEGER, UINT) && !areOrdered(ARGUMENT, STRING) && !areOrdered(BOOL, ARGUMENT));
  assert.ok(areOrdered(INT, UINT) && areOrdered(TIMESTAMP, TIMESTAMP) && areOrdered(ARGUMENT, INT));
  assert.ok(!areOrdered(STRING, STRING) && !areOrdered(BOOL, BOOL) && !areOrdered(INT, TIMESTAMP));
});

test("the looser letter case wins", () => {
  assert.equal(letterCaseOf(STRING, STRING), "exact");
  assert.equal(letterCaseOf(STRING, ADDRESS), "prefixed-hex");
  assert.equal(letterCaseOf(HEX, EVM_ARGUMENT), "hex");
  assert.equal(letterCaseOf(ARGUMENT, STRING), "exact");
});

test("an argument can stand anywhere", () => {
  for (const kind of ["bool", "integer", "string", "list"] as const) assert.ok(canBe(ARGUMENT, kind));
  assert.ok(canBe(UINT, "integer") && !canBe(TIMESTAMP, "integer") && !canBe(map(INT), "list"));
});
