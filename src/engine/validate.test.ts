import assert from "node:assert/strict";
import { it } from "node:test";
import { type TSchema, Type } from "typebox";
import { KeysteadError } from "../kernel/errors.ts";
import { OneOf } from "./fields.ts";
import { validate } from "./validate.ts";

const refusalOf = (minLength: number, value: string): string => refusalBy(Type.String({ minLength }), value);

const refusalBy = (text: TSchema, value: unknown): string => {
  try {
    validate(Type.Object({ text }), { text: value }, "parameters");
  } catch (error) {
    assert.ok(error instanceof KeysteadError);
    return error.message;
  }
  return "";
};

it("a text that is too short is not said to be empty, unless it is", () => {
  assert.match(refusalOf(1, ""), /parameters\.text`? must not be empty/);
  assert.match(refusalOf(3, "ab"), /parameters\.text`? must have at least 3 characters/);
  assert.equal(refusalOf(3, "abc"), "");
});

it("a text that is none of several is told which, and whether it may be empty", () => {
  assert.match(refusalBy(OneOf(["RED", "BLUE"]), "GREEN"), /must be one of RED, BLUE$/);
  assert.match(refusalBy(OneOf(["", "RED", "BLUE"]), "GREEN"), /must be one of RED, BLUE, or empty$/);
});

it("a number that is no integer is not said to be none", () => {
  for (const value of [12.5, Number.POSITIVE_INFINITY])
    assert.match(refusalBy(Type.Integer(), value), /must be an integer$/);
  assert.match(refusalBy(Type.Integer(), "12"), /must be an integer, not a string$/);
});
