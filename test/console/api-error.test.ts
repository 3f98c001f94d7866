import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TurnkeyRequestError } from "@turnkey/http";
import { Type } from "typebox";
import { valueAt, violationsIn, wordsAtField } from "../../console/src/api/api-error.ts";
import { validate } from "../../src/engine/validate.ts";
import { renderError } from "../../src/http/render-error.ts";
import { fail } from "../../src/kernel/errors.ts";

/** What the published client makes of what the server throws. */
function answered(throwing: () => void): Error {
  try {
    throwing();
  } catch (error) {
    return new TurnkeyRequestError(renderError(error, "request").body as never);
  }
  throw new Error("nothing was refused");
}

const withDetails = (details: unknown): Error =>
  new TurnkeyRequestError({ code: 3, message: "no", details: details as never });

const BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest";

describe("fields that an answer of the server names", () => {
  const Users = Type.Object({ users: Type.Array(Type.Object({ userName: Type.String({ minLength: 1 }) })) });
  const refused = (parameters: unknown) =>
    violationsIn(answered(() => validate(Users, parameters, "parameters"))).map(({ field }) => field);

  it("are read from its details: of the top, in entries of lists, and missing ones", () => {
    assert.deepEqual(refused({ users: 7 }), ["parameters.users"]);
    assert.deepEqual(refused({ users: [{ userName: "Ada" }, { userName: "" }] }), ["parameters.users.1.userName"]);
    assert.deepEqual(refused({ users: [{}] }), ["parameters.users.0.userName"]);
    const [violation] = violationsIn(
      answered(() => fail("FIELD_INVALID", { field: "parameters.x", reason: "is odd" })),
    );
    assert.equal(violation?.description, "invalid request body: `parameters.x` is odd");
  });

  it("are told at the field itself without its name, as the server words what is wrong and what is missing", () => {
    const words = (throwing: () => void) => violationsIn(answered(throwing)).map(wordsAtField);
    const oddly = () => fail("FIELD_INVALID", { field: "parameters.x", reason: "is odd" });
    assert.deepEqual(words(oddly), ["This is odd"]);
    assert.deepEqual(
      words(() => validate(Users, { users: [{}] }, "parameters")),
      ["This is missing"],
    );
    const others = "parameters.y: not `parameters.x`";
    assert.equal(wordsAtField({ field: "parameters.x", description: others }), others);
  });

  it("are none where the answer names none in its details, whatever its words are", () => {
    const message = "invalid request body: `parameters.x` is odd";
    assert.deepEqual(violationsIn(new TurnkeyRequestError({ code: 3, message, details: null })), []);
    assert.deepEqual(violationsIn(answered(() => fail("ROUTE_NOT_FOUND", { method: "POST", path: "/x" }))), []);
    assert.deepEqual(violationsIn(new TypeError("no answer")), []);
    assert.deepEqual(violationsIn(undefined), []);
  });

  it("are none where the details are not of their form", () => {
    const violation = { field: "parameters.x", description: "is odd" };
    const odd: unknown[] = [
      "text",
      [null, "text"],
      [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", fieldViolations: [violation] }],
      [{ "@type": BAD_REQUEST }],
      [{ "@type": BAD_REQUEST, fieldViolations: { ...violation } }],
      [{ "@type": BAD_REQUEST, fieldViolations: [null, 7, { ...violation, field: 7 }, { field: "parameters.x" }] }],
      [{ "@type": BAD_REQUEST, fieldViolations: [{ ...violation, field: "" }] }],
    ];
    for (const details of odd) assert.deepEqual(violationsIn(withDetails(details)), [], JSON.stringify(details));
    const sound = [{ "@type": BAD_REQUEST, fieldViolations: [null, violation] }];
    assert.deepEqual(violationsIn(withDetails(sound)), [violation]);
  });

  it("are looked at up to a bound", () => {
    const fieldViolations = Array.from({ length: 1000 }, (_, index) => ({
      field: `x.${index}`,
      description: "is odd",
    }));
    assert.equal(violationsIn(withDetails([{ "@type": BAD_REQUEST, fieldViolations }])).length, 20);
  });

  it("lead to what was sent there, and nowhere else", () => {
    const body = { parameters: { users: [{ userName: "Ada" }, { userName: "" }] } };
    const at = (field: string) => valueAt(body, { field, description: "" });
    assert.equal(at("parameters.users.1.userName"), "");
    assert.deepEqual(at("parameters.users.0"), { userName: "Ada" });
    for (const field of ["parameters.users.2", "parameters.users.0.userName.length", "parameters.toString", "x.y.z"])
      assert.equal(at(field), undefined, field);
  });
});
