import { type Expression, partsOf as partsOfExpression } from "../../src/policy/ast.ts";
import { print } from "../../src/policy/print.ts";

/**
 * A second evaluator, written to be obvious: it walks the syntax tree, knows no static types, and takes from a value's path
 * through the facts how it is compared. The compiled programs are held against it.
 */

/** A value with where it came from: `eth.tx.to`, `wallets[].id`; '' for literals. */
interface Value {
  path: string;
  value: unknown;
}

/** Any error of evaluation; which one does not matter here. */
export class Failure extends Error {}

const HEX = /^(eth\.tx\.(from|to|data|function_signature)|tempo\.tx\.(from|fee_token|calls\[\]\.(to|input)))$/;
const PREFIXED_HEX = /^(eth\.tx\.contract_call_args|eth\.eip_712\.message|wallet_account\.address)/;
const ARGUMENT = /^(eth\.tx\.contract_call_args|eth\.eip_712\.message|solana\..*program_call_args)\[\]/;
const ALIASES: Record<string, string> = { named_account: "named_accounts", static_account_keys: "account_keys" };

export function evaluateNaively(node: Expression, facts: object, variables: Map<string, Value> = new Map()): boolean {
  const { value } = evaluate(node, facts, variables);
  if (typeof value !== "boolean") throw new Failure("not a bool");
  return value;
}

function evaluate(node: Expression, facts: object, variables: Map<string, Value>): Value {
  const go = (part: Expression): Value => evaluate(part, facts, variables);
  const literal = (value: unknown): Value => ({ path: "", value });
  switch (node.kind) {
    case "boolean":
    case "integer":
    case "string":
      return literal(node.value);
    case "list":
      return literal(node.elements.map((element) => go(element).value));
    case "name":
      return variables.get(node.name) ?? fact((facts as Record<string, unknown>)[node.name], node.name);
    case "field": {
      const object = go(node.object);
      if (node.name === "count" && Array.isArray(object.value)) return literal(BigInt(object.value.length));
      return entry(object, ALIASES[node.name] ?? node.name, `.${node.name}`);
    }
    case "index": {
      const object = go(node.object);
      const index = go(node.index).value;
      if (typeof index === "string") return entry(object, index, "[]");
      const parts = partsOf(object);
      if (typeof index !== "bigint" || index < 0n || index >= BigInt(parts.length)) throw new Failure("index");
      return fact(parts[Number(index)], typeof object.value === "string" ? object.path : `${object.path}[]`);
    }
    case "slice": {
      const object = go(node.object);
      const parts = partsOf(object);
      const start = go(node.start).value;
      const end = go(node.end).value;
      if (typeof start !== "bigint" || typeof end !== "bigint") throw new Failure("bounds");
      if (start < 0n || end < start || end > BigInt(parts.length)) throw new Failure("slice");
      const slice = parts.slice(Number(start), Number(end));
      return { path: object.path, value: Array.isArray(object.value) ? slice : slice.join("") };
    }
    case "method": {
      const object = go(node.object);
      if (node.name === "count") return literal(BigInt(listOf(object).length));
      const sought = node.arguments[0] as Expression;
      return literal(contains(object, node.object, go(sought), sought));
    }
    case "quantifier":
      return quantify(node, go(node.object), facts, variables);
    case "not":
      return literal(!boolOf(go(node.operand)));
    case "and":
    case "or": {
      const values = node.terms.map((term) => boolOf(go(term)));
      return literal(node.kind === "and" ? !values.includes(false) : values.includes(true));
    }
    case "compare": {
      const left = go(node.left);
      const right = go(node.right);
      return literal(compare(node, left, right));
    }
    case "function":
      throw new Error("the oracle does not know times");
  }
}

function quantify(
  node: Expression & { kind: "quantifier" },
  object: Value,
  facts: object,
  variables: Map<string, Value>,
): Value {
  const path = object.path === "" ? "" : `${object.path}[]`;
  const elements = listOf(object);
  const results = elements.map((value) =>
    evaluateNaively(node.predicate, facts, new Map([...variables, [node.variable, fact(value, path)]])),
  );
  if (node.name === "any") return { path: "", value: results.some(Boolean) };
  if (node.name === "all") return { path: "", value: results.every(Boolean) };
  return { path: object.path, value: elements.filter((_, index) => results[index]) };
}

function fact(value: unknown, path: string): Value {
  if (value === undefined || value === null) throw new Failure(`missing ${path}`);
  if (typeof value !== "number" && typeof value !== "bigint") return { path, value };
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Failure("not an integer");
  const integer = BigInt(value);
  const isArgument = path === "" || ARGUMENT.test(path);
  const isUnsigned = /^(eth|tempo)\./.test(path);
  const least = isUnsigned && !isArgument ? 0n : -(2n ** 127n);
  const beyond = isUnsigned || isArgument ? 2n ** 256n : 2n ** 127n;
  if (integer < least || integer >= beyond) throw new Failure("range");
  return { path, value: integer };
}

function entry(object: Value, key: string, step: string): Value {
  const { value } = object;
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Failure("not a struct");
  if (!Object.keys(value).includes(key)) throw new Failure("no such entry");
  return fact((value as Record<string, unknown>)[key], object.path === "" ? "" : `${object.path}${step}`);
}

function partsOf({ value }: Value): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return [...value];
  throw new Failure("not a sequence");
}

function listOf({ value }: Value): unknown[] {
  if (!Array.isArray(value)) throw new Failure("not a list");
  return value;
}

function boolOf({ value }: Value): boolean {
  if (typeof value !== "boolean") throw new Failure("not a bool");
  return value;
}

function contains(list: Value, listNode: Expression, sought: Value, soughtNode: Expression): boolean {
  const elements = listOf(list).map((value, index) => {
    const node = listNode.kind === "list" ? listNode.elements[index] : undefined;
    const path = list.path === "" ? "" : `${list.path}[]`;
    return areEqual(fact(value, path), node, sought, soughtNode);
  });
  return elements.includes(true);
}

function compare(node: Expression & { kind: "compare" }, left: Value, right: Value): boolean {
  switch (node.operator) {
    case "in":
      return contains(right, node.right, left, node.left);
    case "==":
      return areEqual(left, node.left, right, node.right);
    case "!=":
      return !areEqual(left, node.left, right, node.right);
    default: {
      const a = integerOf(left, node.left);
      const b = integerOf(right, node.right);
      if (node.operator === "<") return a < b;
      if (node.operator === "<=") return a <= b;
      return node.operator === ">" ? a > b : a >= b;
    }
  }
}

function integerOf({ value }: Value, node: Expression): bigint {
  if (typeof value === "bigint") return value;
  const digits = digitsOf(node);
  if (digits === undefined) throw new Failure("not an integer");
  return digits;
}

function digitsOf(node: Expression | undefined): bigint | undefined {
  return node?.kind === "string" && /^\d+$/.test(node.value) ? BigInt(node.value) : undefined;
}

function areEqual(a: Value, aNode: Expression | undefined, b: Value, bNode: Expression | undefined): boolean {
  const x = typeof b.value === "bigint" ? (digitsOf(aNode) ?? a.value) : a.value;
  const y = typeof a.value === "bigint" ? (digitsOf(bNode) ?? b.value) : b.value;
  if (typeof x !== typeof y || typeof x === "object") throw new Failure("incomparable");
  if (typeof x !== "string" || typeof y !== "string") return x === y;
  const paths = [a.path, b.path];
  const bothPrefixed = [x, y].every((text) => /^0x[0-9a-fA-F]*$/.test(text));
  const loose = paths.some((path) => HEX.test(path)) || (paths.some((path) => PREFIXED_HEX.test(path)) && bothPrefixed);
  return loose ? x.toLowerCase() === y.toLowerCase() : x === y;
}

/** What an expression errs on: roots that are not there, and whether there is anything else. */
export interface Errors {
  roots: Set<string>;
  others: boolean;
}

const ROOT = /^((eth|solana|tron|bitcoin|tempo)\.[a-z0-9_]+|activity\.params\.[a-z_]+)$/;

/** Every error of an expression: of each part by itself, and of a test for each element that it is put to. */
export function errorsNaively(node: Expression, facts: object, variables: Map<string, Value> = new Map()): Errors {
  const errors: Errors = { roots: new Set(), others: false };
  collectErrors(node, facts, variables, errors);
  return errors;
}

function collectErrors(node: Expression, facts: object, variables: Map<string, Value>, errors: Errors): void {
  if (succeeds(node, facts, variables)) return;
  const path = print(node);
  const isRoot = (node.kind === "name" && !variables.has(path)) || (node.kind === "field" && ROOT.test(path));
  if (isRoot) {
    errors.roots.add(path);
    return;
  }
  const parts = node.kind === "quantifier" ? [node.object] : partsOfExpression(node);
  for (const part of parts) collectErrors(part, facts, variables, errors);
  if (!parts.every((part) => succeeds(part, facts, variables))) return;
  if (node.kind !== "quantifier" || !collectFromTests(node, facts, variables, errors)) errors.others = true;
}

/** Whether the elements of a quantifier err, or its tests of them do. */
function collectFromTests(
  { object, variable, predicate }: Expression & { kind: "quantifier" },
  facts: object,
  variables: Map<string, Value>,
  errors: Errors,
): boolean {
  const { path, value } = evaluate(object, facts, variables);
  if (!Array.isArray(value)) return false;
  let elements: Value[];
  try {
    elements = value.map((element) => fact(element, path === "" ? "" : `${path}[]`));
  } catch {
    return false;
  }
  const bound = elements.map((element) => new Map([...variables, [variable, element]]));
  const erring = bound.filter((each) => !succeeds(predicate, facts, each));
  for (const each of erring) collectErrors(predicate, facts, each, errors);
  return erring.length > 0;
}

function succeeds(node: Expression, facts: object, variables: Map<string, Value>): boolean {
  try {
    evaluate(node, facts, variables);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}
