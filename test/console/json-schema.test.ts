import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { type OpenApi, parametersToBegin, typeOfExample, versionsOf } from "../../console/src/api/documented.ts";
import {
  type Components,
  fits,
  type JsonObject,
  MAX_FORM_DEPTH,
  numberTyped,
  problemOfValue,
  resolved,
  type Schema,
  startOf,
  variantName,
  variantsOf,
  withMember,
} from "../../console/src/api/json-schema.ts";
import { capabilities } from "../../src/capabilities/index.ts";
import { readExamples } from "../../src/http/examples.ts";
import { openApiDocument } from "../../src/http/openapi.ts";

describe("forms of operations", () => {
  let document: OpenApi;
  let named: Components;
  let requests: { path: string; schema: Schema; example?: JsonObject }[];
  before(async () => {
    const examples = await readExamples();
    document = openApiDocument({ capabilities, examples }, { version: "", baseUrl: "" }) as unknown as OpenApi;
    named = document.components.schemas;
    requests = Object.entries(document.paths).map(([path, { post }]) => ({
      path,
      ...post.requestBody.content["application/json"],
    }));
  });

  it("find nothing wrong with any example of the documentation", () => {
    const shown = requests.filter(({ example }) => example !== undefined);
    assert.ok(shown.length >= 100, `${shown.length} examples`);
    for (const { path, schema, example } of shown) assert.ok(fits(schema, example, named), path);
  });

  it("find something wrong where a required member of an example is gone", () => {
    for (const { path, schema, example } of requests) {
      if (example === undefined) continue;
      const { required = [] } = variantsOf(schema)[0] ?? schema;
      for (const name of required) {
        assert.ok(!fits(schema, withMember(example as Record<string, unknown>, name, undefined), named), path);
      }
    }
  });

  it("begin with what must be there, of every operation", () => {
    for (const { path, schema } of requests) {
      for (const variant of schema.anyOf ?? [schema]) {
        const begun = startOf(variant, named) as Record<string, unknown>;
        assert.deepEqual(Object.keys(begun).sort(), [...(variant.required ?? [])].sort(), path);
      }
    }
  });

  it("begin a simulation with what is of the type's shape, and the example where it is of this version", () => {
    const versions = Object.entries(document.paths)
      .filter(([path]) => path.startsWith("/public/v1/submit/"))
      .flatMap(([path, { post }]) => versionsOf(path, post).map((version) => ({ ...version, post })));
    assert.ok(versions.length >= 100, `${versions.length} versions`);
    for (const { type, schema, post } of versions) {
      const begun = parametersToBegin(document, type);
      if (typeOfExample(post) === type) assert.ok(fits(schema, begun, named), type);
      const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(begun as object, name));
      assert.deepEqual(missing, [], type);
    }
  });

  it("begin one of a type that nobody knows with nothing", () => {
    assert.deepEqual(parametersToBegin(document, "ACTIVITY_TYPE_NOBODY_KNOWS"), {});
  });
});

describe("a form's schema", () => {
  it("says what is wrong with a value, in words", () => {
    const cases: [schema: Schema, value: unknown, problem: string | undefined][] = [
      [{ type: "string" }, "", undefined],
      [{ type: "string", minLength: 1 }, "", "This is required."],
      [{ type: "string", minLength: 3 }, "ab", "This must have at least 3 characters."],
      [{ type: "string", maxLength: 2 }, "abc", "This must have at most 2 characters."],
      [{ type: "string", pattern: "^[0-9]+$", description: "digits" }, "x", "This must be digits."],
      [{ type: "string", pattern: "^a$" }, "x", "This must be a text that matches ^a$."],
      [{ type: "string" }, undefined, "This is required."],
      [{ type: "integer" }, 1.5, "This must be a whole number."],
      [{ type: "number" }, "1.", "This must be a number."],
      [{ type: "integer", minimum: 1 }, 0, "This must be at least 1."],
      [{ type: "integer", maximum: 1 }, 2, "This must be at most 1."],
      [{ enum: ["a", "b"] }, "c", "This is not one of the known values."],
      [{ type: "boolean" }, "true", "This must be true or false."],
      [{ type: "array", items: {}, minItems: 1 }, [], "There must be at least 1."],
      [{ type: "array", items: {}, maxItems: 1 }, [1, 2], "There must be at most 1."],
      [
        { type: "object", properties: {}, additionalProperties: false },
        { b: 1 },
        "There is no member of this name: b.",
      ],
      [{ type: "object", properties: {} }, { b: 1 }, undefined],
    ];
    for (const [schema, value, problem] of cases) assert.equal(problemOfValue(schema, value, {}), problem);
  });

  it("takes no member of the language's own for one of the value", () => {
    const schema: Schema = { type: "object", properties: {}, additionalProperties: false };
    const hostile = JSON.parse('{"constructor": 1, "__proto__": 2}');
    assert.match(problemOfValue(schema, hostile, {}) ?? "", /constructor, __proto__/);
    assert.ok(!fits({ type: "object", properties: { constructor: {} }, required: ["constructor"] }, {}, {}));
  });

  it("comes to an end where it contains itself", () => {
    const node: Schema = {
      type: "object",
      properties: { next: { $ref: "#/components/schemas/Node" } },
      required: ["next"],
    };
    const begun = JSON.stringify(startOf(node, { Node: node }));
    assert.ok(begun.split("next").length <= MAX_FORM_DEPTH + 3, begun);
    let deep: unknown = {};
    for (let depth = 0; depth < 5000; depth++) deep = { next: deep };
    assert.ok(fits(node, deep, { Node: node }));
    assert.deepEqual(
      resolved({ $ref: "#/components/schemas/Round" }, { Round: { $ref: "#/components/schemas/Round" } }),
      {},
    );
  });

  it("tells variants apart by a constant, or by what they must have", () => {
    const constant: Schema = { type: "object", properties: { kind: { enum: ["EMAIL"] } } };
    const members: Schema = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
    assert.deepEqual(
      [constant, members, { type: "string" }].map((schema) => variantName(schema, {})),
      ["EMAIL", "with url", "string"],
    );
  });

  it("takes for a number what is written as JSON writes it, and keeps all else as it is typed", () => {
    assert.deepEqual(["1", "-2.5", "1.", "1.0", "", "1e3", "x"].map(numberTyped), [
      1,
      -2.5,
      "1.",
      "1.0",
      "",
      "1e3",
      "x",
    ]);
  });

  it("changes a member in its place, adds one at the end, and takes one out", () => {
    const value = { a: 1, b: 2 };
    assert.equal(JSON.stringify(withMember(value, "a", 3)), '{"a":3,"b":2}');
    assert.equal(JSON.stringify(withMember(value, "c", 3)), '{"a":1,"b":2,"c":3}');
    assert.equal(JSON.stringify(withMember(value, "a", undefined)), '{"b":2}');
  });
});
