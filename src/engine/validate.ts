import type { TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { fail } from "../kernel/errors.ts";
import { printable } from "../kernel/json.ts";

const validators = new WeakMap<TSchema, Validator>();

/** Compiled on first use, to keep starts fast. */
function validatorOf(schema: TSchema): Validator {
  let validator = validators.get(schema);
  if (!validator) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  return validator;
}

/** Whether `value` matches `schema`, for values that the server made itself. */
export const matches = (schema: TSchema, value: unknown): boolean => validatorOf(schema).Check(value);

/**
 * Throws the first problem of `value`, naming the field by its dotted path below `root`.
 *
 * @throws KeysteadError FIELD_MISSING or FIELD_INVALID
 */
export function validate(schema: TSchema, value: unknown, root: string): void {
  const validator = validatorOf(schema);
  if (validator.Check(value)) return;
  const reported = validator.Errors(value) as Problem[];
  // An unknown member is reported twice, the first time as a mismatch with the schema `false`. If there are many, only that report exists.
  const problems = reported.filter(({ keyword }) => keyword !== "boolean");
  throwProblem(schema, problems.length > 0 ? problems : reported, value, root);
}

interface Problem {
  keyword: string;
  instancePath: string;
  schemaPath: string;
  params: Record<string, unknown>;
  message: string;
}

function throwProblem(schema: TSchema, problems: Problem[], value: unknown, root: string): never {
  // The deepest problem is the most specific: those above it are the objects that contain it.
  const problem = problems.reduce((a, b) => (depthOf(b) > depthOf(a) ? b : a));
  const steps = problem.instancePath.split("/").slice(1).map(unescapePointer);
  const path = (...more: string[]) =>
    [root, ...steps, ...more]
      .filter((step) => step !== "")
      .map(printable)
      .join(".");
  if (problem.keyword === "required") {
    fail("FIELD_MISSING", { field: path((problem.params.requiredProperties as string[])[0] ?? "") });
  }
  if (problem.keyword === "additionalProperties") {
    const [name] = problem.params.additionalProperties as string[];
    fail("FIELD_INVALID", { field: path(name ?? ""), reason: "is not a known field" });
  }
  if (problem.keyword === "boolean") fail("FIELD_INVALID", { field: path(), reason: "is not a known field" });
  const { description } = follow(schema, problem.schemaPath) as { description?: string };
  const reason = reasonOf(problem, follow(value, problem.instancePath), description);
  fail("FIELD_INVALID", { field: path(), reason });
}

/** The value at a JSON pointer (RFC 6901). */
function follow(value: unknown, pointer: string): unknown {
  const steps = pointer.split("/").slice(1).map(unescapePointer);
  return steps.reduce<unknown>((object, step) => (object as Record<string, unknown>)?.[step], value);
}

function reasonOf({ keyword, params, message }: Problem, found: unknown, description: string | undefined): string {
  switch (keyword) {
    case "pattern":
      return `must be ${description ?? "of another form"}`;
    case "type":
      // A fraction, or too large for any number.
      if (params.type === "integer" && typeof found === "number") return "must be an integer";
      return `must be ${article(String(params.type))}, not ${typeName(found)}`;
    case "enum":
      return oneOf(params.allowedValues as string[]);
    case "const":
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case "maxLength":
      return `is longer than ${params.limit} characters`;
    case "minLength":
      return params.limit === 1 ? "must not be empty" : `must have at least ${params.limit} characters`;
    case "maxItems":
      return `has more than ${params.limit} entries`;
    case "minItems":
      return `must have at least ${params.limit} ${params.limit === 1 ? "entry" : "entries"}`;
    case "minimum":
      return `must be at least ${params.limit}`;
    case "maximum":
      return `must be at most ${params.limit}`;
    default:
      return message;
  }
}

function oneOf(values: readonly string[]): string {
  const named = values.filter((value) => value !== "");
  return `must be one of ${named.join(", ")}${named.length < values.length ? ", or empty" : ""}`;
}

const depthOf = ({ instancePath, keyword }: Problem): number =>
  instancePath.split("/").length + (keyword === "required" || keyword === "additionalProperties" ? 0.5 : 0);

const unescapePointer = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : article(typeof value);
}

/** The value without members that are null, because several clients send null for an absent member. Entries of arrays are kept. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(value)) {
    if (child !== null) kept[key] = withoutNulls(child);
  }
  return kept;
}
