import type { CompareOperator, Expression } from "./ast.ts";
import { parseCronSpan } from "./cron.ts";
import { PolicyError, type PolicyErrorCode } from "./errors.ts";
import { integerFromDigits, MAX_INT } from "./integers.ts";
import { clip } from "./lexer.ts";
import { canBeTrueFor } from "./matching.ts";
import { activityParams, keywords, paramsType, paramTypes, type Scope } from "./schema.ts";
import { parseTimestamp } from "./timestamp.ts";
import { type TypedNode, typedPartsOf } from "./typed-tree.ts";
import {
  areComparable,
  areOrdered,
  BOOL,
  canBe,
  INT,
  INTEGER,
  isInteger,
  letterCaseOf,
  list,
  NOTHING,
  STRING,
  TIMESTAMP,
  type Type,
  typeName,
  UINT,
  unify,
} from "./types.ts";

interface Context {
  source: string;
  scope: Scope;
  /** Innermost last; a variable's slot is its index. */
  variables: { name: string; type: Type }[];
}

/**
 * Checks that an expression is a bool over the keywords of a scope, and that each `activity.params` field that it names exists for some
 * activity that it can match.
 *
 * @throws PolicyError UNKNOWN_NAME, UNKNOWN_FIELD, TYPE or LITERAL
 */
export function check(expression: Expression, scope: Scope, source: string): TypedNode {
  const context: Context = { source, scope, variables: [] };
  const node = checkNode(expression, context);
  if (!canBe(node.type, "bool")) throw mismatch(context, node, `the ${scope}`, "bool");
  if (scope === "condition") checkParams(node, matchedTypes(node), context);
  return node;
}

function checkNode(source: Expression, context: Context): TypedNode {
  switch (source.kind) {
    case "boolean":
      return { kind: "constant", type: BOOL, source, value: source.value };
    case "integer":
      return integerConstant(source, source.value);
    case "string":
      return { kind: "constant", type: STRING, source, value: source.value };
    case "list":
      return checkList(source, context);
    case "name":
      return checkName(source, source.name, context);
    case "field":
      return checkField(source, checkNode(source.object, context), source.name, context);
    case "index":
      return checkIndex(source, checkNode(source.object, context), checkNode(source.index, context), context);
    case "slice":
      return checkSlice(source, context);
    case "method":
      return checkMethod(source, context);
    case "quantifier":
      return checkQuantifier(source, context);
    case "function":
      return source.name === "Timestamp" ? checkTimestamp(source, context) : checkCronSpan(source, context);
    case "not":
      return { kind: "not", type: BOOL, source, operand: checkBool(source.operand, "the operand of `!`", context) };
    case "and":
    case "or": {
      const what = source.kind === "and" ? "each side of `&&`" : "each side of `||`";
      const terms = source.terms.map((term) => checkBool(term, what, context));
      return { kind: source.kind, type: BOOL, source, terms };
    }
    case "compare":
      return source.operator === "in"
        ? checkContains(source, checkNode(source.right, context), checkNode(source.left, context), context)
        : checkCompare(source, source.operator, context);
  }
}

function integerConstant(source: Expression, value: bigint): TypedNode {
  return { kind: "constant", type: value > MAX_INT ? UINT : INT, source, value };
}

function checkBool(expression: Expression, what: string, context: Context): TypedNode {
  const node = checkNode(expression, context);
  if (!canBe(node.type, "bool")) throw mismatch(context, node, what, "bool");
  return node;
}

function checkList(source: Expression & { kind: "list" }, context: Context): TypedNode {
  let elements = source.elements.map((element) => checkNode(element, context));
  if (elements.some((element) => isInteger(element.type))) elements = elements.map(coerceToInteger);
  let type: Type = NOTHING;
  for (const element of elements) {
    const wider = unify(type, element.type);
    if (wider === undefined) throw mismatch(context, element, "every element of this list", typeName(type));
    type = wider;
  }
  return { kind: "list", type: list(type), source, elements };
}

function checkName(source: Expression, name: string, context: Context): TypedNode {
  const slot = context.variables.findLastIndex((variable) => variable.name === name);
  const variable = context.variables[slot];
  if (variable !== undefined) return { kind: "variable", type: variable.type, source, slot };
  const known = keywords[context.scope];
  if (!Object.hasOwn(known, name)) {
    const names = Object.keys(known).join(", ");
    const elsewhere = (Object.keys(keywords) as Scope[]).find((scope) => Object.hasOwn(keywords[scope], name));
    const hint = elsewhere === undefined ? "" : `; it belongs to the ${elsewhere}`;
    const message = `there is no keyword \`${clip(name)}\` in the ${context.scope}, which has ${names}${hint}`;
    throw error("UNKNOWN_NAME", message, context, source, names);
  }
  return { kind: "keyword", type: known[name] as Type, source, name };
}

function checkField(source: Expression, object: TypedNode, name: string, context: Context): TypedNode {
  const { type } = object;
  if (type === paramsType) {
    const param = paramTypes.get(name);
    if (param === undefined) throw noField(name, context, source);
    return { kind: "param", type: param, source, object, name, path: `activity.params.${name}` };
  }
  if (type.kind === "struct") {
    const field = Object.hasOwn(type.aliases, name) ? (type.aliases[name] as string) : name;
    if (!Object.hasOwn(type.fields, field)) throw noField(name, context, source, Object.keys(type.fields));
    const path = `${pathOf(object)}.${field}`;
    return { kind: "field", type: type.fields[field] as Type, source, object, name: field, path };
  }
  if (type.kind === "list" && name === "count") return { kind: "count", type: INT, source, object };
  if (type.kind === "argument") return { kind: "member", type, source, object, name };
  if (type.kind === "map") {
    const message = `${typeName(type)} has entries, not fields; write ['${clip(name)}']`;
    throw error("TYPE", message, context, source, `['${clip(name)}']`);
  }
  throw noField(name, context, source);
}

/** The name of a struct in messages: its path if it has one, otherwise its type. */
function pathOf(node: TypedNode): string {
  if (node.kind === "keyword") return node.name;
  return node.kind === "field" || node.kind === "param" ? node.path : typeName(node.type);
}

function noField(name: string, context: Context, source: Expression, fields: string[] = []): PolicyError {
  const message = `Expression cannot be evaluated: field does not exist: ${clip(name)}`;
  return error("UNKNOWN_FIELD", message, context, source, fields.length === 0 ? undefined : fields.join(", "));
}

function checkIndex(source: Expression, object: TypedNode, index: TypedNode, context: Context): TypedNode {
  const { type } = object;
  if (type.kind === "argument") {
    if (!canBe(index.type, "integer") && !canBe(index.type, "string")) {
      throw mismatch(context, index, "the index of an argument", "int or string");
    }
    return { kind: "part", type, source, object, index };
  }
  if (type.kind === "map") {
    if (!canBe(index.type, "string")) throw mismatch(context, index, "the key of a map", "string");
    return { kind: "entry", type: type.value, source, object, key: index };
  }
  if (type.kind !== "list" && type.kind !== "string") {
    throw mismatch(context, object, "what is indexed", "list, string or map");
  }
  if (!canBe(index.type, "integer")) throw mismatch(context, index, "an index", "int");
  return { kind: "element", type: type.kind === "list" ? type.element : type, source, object, index };
}

function checkSlice(source: Expression & { kind: "slice" }, context: Context): TypedNode {
  const object = checkNode(source.object, context);
  if (!canBe(object.type, "list") && !canBe(object.type, "string")) {
    throw mismatch(context, object, "what is sliced", "list or string");
  }
  const [start, end] = [source.start, source.end].map((bound) => {
    const node = checkNode(bound, context);
    if (!canBe(node.type, "integer")) throw mismatch(context, node, "a bound of a slice", "int");
    return node;
  }) as [TypedNode, TypedNode];
  return { kind: "slice", type: object.type, source, object, start, end };
}

function checkMethod(source: Expression & { kind: "method" }, context: Context): TypedNode {
  const object = checkNode(source.object, context);
  const count = source.name === "count" ? 0 : 1;
  if (source.arguments.length !== count) {
    const message = `\`${source.name}\` takes ${count === 0 ? "no arguments" : "one argument"}`;
    throw error("TYPE", message, context, source);
  }
  if (source.name === "contains") {
    return checkContains(source, object, checkNode(source.arguments[0] as Expression, context), context);
  }
  if (!canBe(object.type, "list")) throw mismatch(context, object, "what `count` is asked of", "list");
  return { kind: "count", type: INT, source, object };
}

function checkQuantifier(source: Expression & { kind: "quantifier" }, context: Context): TypedNode {
  const object = checkNode(source.object, context);
  if (!canBe(object.type, "list")) throw mismatch(context, object, `what \`${source.name}\` is asked of`, "list");
  const element = object.type.kind === "list" ? object.type.element : object.type;
  const slot = context.variables.length;
  context.variables.push({ name: source.variable, type: element });
  const predicate = checkBool(source.predicate, `the test of \`${source.name}\``, context);
  context.variables.pop();
  const type = source.name === "filter" ? object.type : BOOL;
  return { kind: source.name, type, source, object, slot, predicate };
}

function checkCompare(
  source: Expression & { kind: "compare" },
  operator: Exclude<CompareOperator, "in">,
  context: Context,
): TypedNode {
  let left = checkNode(source.left, context);
  let right = checkNode(source.right, context);
  const equality = operator === "==" || operator === "!=";
  if (isInteger(left.type) || !equality) right = coerceToInteger(right);
  if (isInteger(right.type) || !equality) left = coerceToInteger(left);
  const allowed = equality ? areComparable(left.type, right.type) : areOrdered(left.type, right.type);
  if (!allowed) {
    const message = `\`${operator}\` cannot compare ${shown(left)} with ${shown(right)}`;
    throw error("TYPE", message, context, source, equality ? typeName(left.type) : "two integers or two timestamps");
  }
  return {
    kind: "compare",
    type: BOOL,
    source,
    operator,
    letterCase: letterCaseOf(left.type, right.type),
    left,
    right,
  };
}

function checkContains(source: Expression, object: TypedNode, element: TypedNode, context: Context): TypedNode {
  if (!canBe(object.type, "list")) throw mismatch(context, object, "what is searched", "list");
  let container = object;
  let sought = element;
  if (object.type.kind === "list") {
    if (isInteger(object.type.element)) sought = coerceToInteger(element);
    if (isInteger(element.type)) container = coerceElements(object);
  }
  const elementType = container.type.kind === "list" ? container.type.element : container.type;
  if (elementType.kind !== "nothing" && !areComparable(elementType, sought.type)) {
    throw mismatch(context, sought, "what is looked for in this list", typeName(elementType));
  }
  const letterCase = letterCaseOf(elementType, sought.type);
  return { kind: "contains", type: BOOL, source, letterCase, object: container, element: sought };
}

/** Converts a string literal of digits to an integer if an integer is needed; returns anything else unchanged. */
function coerceToInteger(node: TypedNode): TypedNode {
  if (node.kind !== "constant" || typeof node.value !== "string") return node;
  const value = integerFromDigits(node.value);
  return value === undefined ? node : integerConstant(node.source, value);
}

function coerceElements(node: TypedNode): TypedNode {
  if (node.kind !== "list" || node.elements.length === 0) return node;
  const elements = node.elements.map(coerceToInteger);
  if (!elements.every((element) => isInteger(element.type))) return node;
  return { ...node, type: list(INTEGER), elements };
}

function checkTimestamp(source: Expression & { kind: "function" }, context: Context): TypedNode {
  const [text] = literalArguments(source, ["'2026-03-01T00:00:00Z'"], context);
  const value = parseTimestamp(text as string);
  if (typeof value !== "bigint") throw error("LITERAL", `not a timestamp: ${value.reason}`, context, source);
  return { kind: "constant", type: TIMESTAMP, source, value };
}

function checkCronSpan(source: Expression & { kind: "function" }, context: Context): TypedNode {
  const example = ["'0 9 * * 1-5'", "'8h'", "'America/New_York'"];
  const [cron, duration, timeZone] = literalArguments(source, example, context) as [string, string, string];
  const span = parseCronSpan(cron, duration, timeZone);
  if ("reason" in span) throw error("LITERAL", `not a CronSpan: ${span.reason}`, context, source);
  return { kind: "cron-span", type: BOOL, source, span };
}

function literalArguments(source: Expression & { kind: "function" }, example: string[], context: Context): string[] {
  if (context.scope !== "time") {
    throw error("UNKNOWN_NAME", `\`${source.name}\` belongs to the time, not to the ${context.scope}`, context, source);
  }
  const texts = source.arguments.flatMap((argument) => (argument.kind === "string" ? [argument.value] : []));
  if (texts.length !== source.arguments.length || texts.length !== example.length) {
    const expected = `${source.name}(${example.join(", ")})`;
    throw error("TYPE", `\`${source.name}\` takes string literals, as in ${expected}`, context, source, expected);
  }
  return texts;
}

/** Whether the condition may be true for an activity type with params; computed on demand. */
function matchedTypes(condition: TypedNode): (type: string) => boolean {
  const matched = new Map<string, boolean>();
  return (type) => {
    const answer = matched.get(type) ?? canBeTrueFor(condition, type);
    matched.set(type, answer);
    return answer;
  };
}

/** An `activity.params` field must exist for some activity type that the condition can match. */
function checkParams(node: TypedNode, isMatched: (type: string) => boolean, context: Context): void {
  if (node.kind === "param") {
    const { name } = node;
    const types = Object.keys(activityParams).filter((type) => Object.hasOwn(activityParams[type] as object, name));
    if (!types.some(isMatched)) throw noField(name, context, node.source);
  }
  for (const part of typedPartsOf(node)) checkParams(part, isMatched, context);
}

function shown(node: TypedNode): string {
  const literal = node.kind === "constant" && typeof node.value === "string";
  return literal ? `${typeName(node.type)} '${clip(node.value as string)}'` : typeName(node.type);
}

function mismatch(context: Context, node: TypedNode, what: string, expected: string): PolicyError {
  return error("TYPE", `${what} must be ${expected}, but this is ${shown(node)}`, context, node.source, expected);
}

function error(
  code: PolicyErrorCode,
  message: string,
  context: Context,
  at: Expression,
  expected?: string,
): PolicyError {
  return new PolicyError(code, message, context.source, at.offset, expected);
}
