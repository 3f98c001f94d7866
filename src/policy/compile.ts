import { MAX_POLICY_STEPS } from "../kernel/limits.ts";
import type { Expression } from "./ast.ts";
import { type Budget, OutOfBudget } from "./budget.ts";
import { check } from "./checker.ts";
import { MissingFactError, PolicyError, type PolicyErrorCode } from "./errors.ts";
import type { ConditionFacts, ConsensusFacts, TimeFacts } from "./facts.ts";
import { integerFromDigits, MAX_INT, MAX_UINT, MIN_INT } from "./integers.ts";
import { clip } from "./lexer.ts";
import { parse } from "./parser.ts";
import { print } from "./print.ts";
import { followPath, rootPathOf } from "./roots.ts";
import type { Scope } from "./schema.ts";
import { nanosecondsFrom } from "./timestamp.ts";
import { sizeOf, type TypedNode } from "./typed-tree.ts";
import { areComparable, type LetterCase, type Type, typeName } from "./types.ts";

/** The facts for the evaluation of each scope. */
export interface FactsOf {
  consensus: ConsensusFacts;
  condition: ConditionFacts;
  time: TimeFacts;
}

/**
 * Evaluates a condition outside of policies, such as that of an MFA policy; returns the error if it cannot be evaluated.
 *
 * @throws OutOfBudget
 */
export type EvaluateCondition = (condition: string, facts: ConditionFacts) => boolean | PolicyError;

/** A compiled expression, which can be evaluated any number of times. */
export interface Program<S extends Scope = Scope> {
  source: string;
  scope: S;
  tree: TypedNode;
  /**
   * Evaluates every part of the expression, regardless of the values of the others.
   *
   * @throws PolicyError ABSENT_ROOT, MISSING_FACT, WRONG_FACT, OUT_OF_RANGE, INCOMPARABLE or TOO_COSTLY
   * @throws OutOfBudget
   */
  evaluate(facts: FactsOf[S], budget: Budget): boolean;
  /** Compiles a part of `tree`. */
  part(node: TypedNode): Part<S>;
  /** Compiles the list that a quantifier of `tree` iterates over. */
  elements(node: Quantifier): Part<S>;
}

type Quantifier = TypedNode & { kind: "all" | "any" | "filter" };

/**
 * A compiled part of an expression. `slots` contains the current elements of the surrounding quantifiers, outermost first; slots after
 * these are overwritten.
 */
export type Part<S extends Scope = Scope> = (facts: FactsOf[S], budget: Budget, slots?: unknown[]) => unknown;

/** The state of an evaluation: its facts, the values of its variables, and the remaining steps. */
interface Evaluation {
  facts: Readonly<Record<string, unknown>>;
  slots: unknown[];
  stepsLeft: number;
}

type Evaluate = (evaluation: Evaluation) => unknown;

/** The cost, in steps, of starting an evaluation. */
const STEPS_TO_BEGIN = 2;
/** The cost, in steps, of one calendar day. */
const STEPS_PER_DAY = 8;

/**
 * Parses, checks and compiles an expression into closures, one per part.
 *
 * @throws PolicyError like `parse` and `check`
 */
export function compile<S extends Scope>(source: string, scope: S): Program<S> {
  const tree = check(parse(source), scope, source);
  const evaluateTree = metered(asBool(compileNode(tree, source), tree, source), tree, source);
  return {
    source,
    scope,
    tree,
    evaluate: (facts, budget) => evaluateTree(facts, budget) as boolean,
    part: (node) => metered(compileNode(node, source), node, source),
    elements: (node) => metered(compileElements(node, source), node.object, source),
  };
}

/** Charges the steps of an evaluation to the budget: at most the limit of one evaluation, and at most what is left. */
function metered<S extends Scope>(evaluate: Evaluate, node: TypedNode, source: string): Part<S> {
  const size = STEPS_TO_BEGIN + sizeOf(node);
  return (facts, budget, slots = []) => {
    const allowed = Math.min(MAX_POLICY_STEPS, budget.left);
    const evaluation = { facts: facts as unknown as Evaluation["facts"], slots, stepsLeft: allowed };
    let value: unknown;
    try {
      spend(evaluation, size, node.source, source);
      value = evaluate(evaluation);
    } catch (error) {
      const { stepsLeft } = evaluation;
      budget.spend(stepsLeft < 0 ? allowed : allowed - stepsLeft);
      throw stepsLeft < 0 && allowed < MAX_POLICY_STEPS ? new OutOfBudget() : error;
    }
    budget.spend(allowed - evaluation.stepsLeft);
    return value;
  };
}

function compileNode(node: TypedNode, source: string): Evaluate {
  switch (node.kind) {
    case "constant": {
      const { value } = node;
      return () => value;
    }
    case "keyword":
    case "param":
      return compileRoot(node, source);
    case "variable": {
      const { slot } = node;
      return (evaluation) => evaluation.slots[slot];
    }
    case "field":
      return rootPathOf(node) === undefined ? compileField(node, source) : compileRoot(node, source);
    case "member":
      return compileMember(node, source);
    case "entry":
      return compileEntry(node, source);
    case "element":
    case "part":
      return compileIndex(node, source);
    case "slice":
      return compileSlice(node, source);
    case "list": {
      const elements = node.elements.map((element) => compileNode(element, source));
      return (evaluation) => elements.map((element) => element(evaluation));
    }
    case "count": {
      const object = asList(compileNode(node.object, source), node.object, source);
      return (evaluation) => BigInt(object(evaluation).length);
    }
    case "all":
    case "any":
    case "filter":
      return compileQuantifier(node, source);
    case "cron-span": {
      const { span } = node;
      return (evaluation) => {
        spend(evaluation, STEPS_PER_DAY * span.days, node.source, source);
        return span.isActiveAt((evaluation.facts as unknown as TimeFacts).time.now);
      };
    }
    case "not": {
      const operand = asBool(compileNode(node.operand, source), node.operand, source);
      return (evaluation) => !operand(evaluation);
    }
    case "and":
    case "or":
      return compileTerms(node, source);
    case "compare":
      return compileCompare(node, source);
    case "contains":
      return compileContains(node, source);
  }
}

function compileRoot(node: TypedNode, source: string): Evaluate {
  const path = rootPathOf(node) as readonly string[];
  const root = path.join(".");
  const read = reader(node.type, node.source, source, root);
  // One error object for all evaluations, because most activities lack most roots.
  let absent: PolicyError | undefined;
  return ({ facts }) => {
    let value: unknown;
    try {
      value = path.length === 1 ? facts[root] : followPath(facts, path);
    } catch (error) {
      throw missing(error, root, node.source, source);
    }
    if (value !== undefined && value !== null) return read(value);
    absent ??= failure("ABSENT_ROOT", `there is no ${root} here`, node.source, source);
    throw absent;
  };
}

function compileField(node: TypedNode & { kind: "field" }, source: string): Evaluate {
  const { name, path } = node;
  const object = compileNode(node.object, source);
  const read = reader(node.type, node.source, source, path);
  return (evaluation) => read(lookUp(object(evaluation) as object, name, path, node.source, source));
}

function lookUp(object: object, name: string, path: string, at: Expression, source: string): unknown {
  let value: unknown;
  try {
    value = (object as Readonly<Record<string, unknown>>)[name];
  } catch (error) {
    throw missing(error, path, at, source);
  }
  if (value === undefined || value === null) throw failure("MISSING_FACT", `there is no ${path} here`, at, source);
  return value;
}

/** Converts an exception of a getter to an error of the expression, if it means that the fact is unavailable. */
function missing(error: unknown, path: string, at: Expression, source: string): unknown {
  if (!(error instanceof MissingFactError)) return error;
  return failure("MISSING_FACT", `there is no ${path}: ${error.message}`, at, source);
}

/** `.count` of a list and fields of a struct, for an argument whose kind is known only at evaluation. */
function compileMember(node: TypedNode & { kind: "member" }, source: string): Evaluate {
  const { name } = node;
  const object = compileNode(node.object, source);
  return (evaluation) => {
    const value = object(evaluation);
    if (name === "count" && Array.isArray(value)) return BigInt(value.length);
    return argumentEntry(value, name, node, source);
  };
}

function compileEntry(node: TypedNode & { kind: "entry" }, source: string): Evaluate {
  const object = compileNode(node.object, source);
  const key = asString(compileNode(node.key, source), node.key, source);
  const read = reader(node.type, node.source, source, "the entry");
  return (evaluation) => {
    const entries = object(evaluation) as Readonly<Record<string, unknown>>;
    return read(ownEntry(entries, key(evaluation), node, source));
  };
}

function ownEntry(entries: object, key: string, node: TypedNode, source: string): unknown {
  const value = Object.hasOwn(entries, key) ? (entries as Readonly<Record<string, unknown>>)[key] : undefined;
  if (value === undefined || value === null) {
    throw failure("MISSING_FACT", `there is no entry '${clip(key)}' here`, node.source, source);
  }
  return value;
}

function argumentEntry(value: unknown, key: string, node: TypedNode, source: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const message = `'${clip(key)}' is asked of ${kindOf(value)}; elements of a list or tuple go by position`;
    throw failure("INCOMPARABLE", message, node.source, source);
  }
  return readArgument(ownEntry(value, key, node, source), node.source, source);
}

function compileIndex(node: TypedNode & { kind: "element" | "part" }, source: string): Evaluate {
  const object = compileNode(node.object, source);
  const index = compileNode(node.index, source);
  const read = reader(node.type, node.source, source, "the element");
  return (evaluation) => {
    const container = object(evaluation);
    const position = index(evaluation);
    if (node.kind === "part" && typeof position === "string") return argumentEntry(container, position, node, source);
    const at = integerOf(position, node.index, source);
    const sequence = sequenceOf(container, at + 1n, evaluation, node.object, source);
    if (at < 0n || at >= BigInt(sequence.length)) {
      const message = `the index ${at} is out of range: there are ${sequence.length} elements, counted from 0`;
      throw failure("OUT_OF_RANGE", message, node.source, source);
    }
    return read(sequence.at(Number(at)));
  };
}

function compileSlice(node: TypedNode & { kind: "slice" }, source: string): Evaluate {
  const object = compileNode(node.object, source);
  const start = compileNode(node.start, source);
  const end = compileNode(node.end, source);
  return (evaluation) => {
    const container = object(evaluation);
    const from = integerOf(start(evaluation), node.start, source);
    const to = integerOf(end(evaluation), node.end, source);
    const sequence = sequenceOf(container, to, evaluation, node.object, source);
    if (from < 0n || from > to || to > BigInt(sequence.length)) {
      const message = `the slice ${from}..${to} is out of range: there are ${sequence.length} elements`;
      throw failure("OUT_OF_RANGE", message, node.source, source);
    }
    spend(evaluation, 1 + (Number(to - from) >> 6), node.source, source);
    return sequence.slice(Number(from), Number(to));
  };
}

/** Something that can be indexed and sliced: a list by elements, a string by characters (Unicode code points). */
interface Sequence {
  length: number;
  at(index: number): unknown;
  slice(start: number, end: number): unknown;
}

const SURROGATE = /[\ud800-\udfff]/;

/**
 * A list, or a string by characters. Only the part before `end` is searched for surrogate pairs, so reading the first bytes of long call
 * data is cheap. If there is a pair, the whole string is split into characters.
 */
function sequenceOf(value: unknown, end: bigint, evaluation: Evaluation, node: TypedNode, source: string): Sequence {
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") throw unexpected("a list or a string", value, node, source);
  const before = end < 0n ? 0 : end > BigInt(value.length) ? value.length : Number(end);
  spend(evaluation, before >> 6, node.source, source);
  if (!SURROGATE.test(value.slice(0, before))) return value;
  spend(evaluation, value.length >> 2, node.source, source);
  const characters = [...value];
  return {
    length: characters.length,
    at: (index) => characters[index],
    slice: (from, to) => characters.slice(from, to).join(""),
  };
}

function compileElements(node: Quantifier, source: string): (evaluation: Evaluation) => unknown[] {
  const object = asList(compileNode(node.object, source), node.object, source);
  const read = elementReader(node, source);
  return (evaluation) => object(evaluation).map(read);
}

function elementReader({ object: { type }, source: at }: Quantifier, source: string): (fact: unknown) => unknown {
  return reader(type.kind === "list" ? type.element : type, at, source, "the element");
}

function compileQuantifier(node: Quantifier, source: string): Evaluate {
  const { kind, slot } = node;
  const object = asList(compileNode(node.object, source), node.object, source);
  const predicate = asBool(compileNode(node.predicate, source), node.predicate, source);
  const cost = sizeOf(node.predicate);
  const read = elementReader(node, source);
  return (evaluation) => {
    const elements = object(evaluation);
    const chosen: unknown[] = [];
    for (const element of elements) {
      spend(evaluation, cost, node.source, source);
      evaluation.slots[slot] = read(element);
      if (predicate(evaluation)) chosen.push(element);
    }
    if (kind === "filter") return chosen;
    return kind === "any" ? chosen.length > 0 : chosen.length === elements.length;
  };
}

/** Every term is evaluated, so that an error in any of them is an error of the whole expression. */
function compileTerms(node: TypedNode & { kind: "and" | "or" }, source: string): Evaluate {
  const terms = node.terms.map((term) => asBool(compileNode(term, source), term, source));
  const decisive = node.kind === "or";
  return (evaluation) => {
    let value = !decisive;
    for (const term of terms) if (term(evaluation) === decisive) value = decisive;
    return value;
  };
}

function compileCompare(node: TypedNode & { kind: "compare" }, source: string): Evaluate {
  const { operator } = node;
  const left = compileNode(node.left, source);
  const right = compileNode(node.right, source);
  if (operator === "==" || operator === "!=") {
    const areEqual = equality(node.left, node.right, node.letterCase, node.source, source);
    const wanted = operator === "==";
    return (evaluation) => {
      const a = left(evaluation);
      return areEqual(a, right(evaluation), evaluation) === wanted;
    };
  }
  return (evaluation) => {
    const a = integerOf(left(evaluation), node.left, source);
    const b = integerOf(right(evaluation), node.right, source);
    switch (operator) {
      case "<":
        return a < b;
      case "<=":
        return a <= b;
      case ">":
        return a > b;
      case ">=":
        return a >= b;
    }
  };
}

function compileContains(node: TypedNode & { kind: "contains" }, source: string): Evaluate {
  const element = compileNode(node.element, source);
  if (node.object.kind === "list") return compileListed(node, node.object.elements, element, source);
  const object = asList(compileNode(node.object, source), node.object, source);
  const { type } = node.object;
  const elementType = type.kind === "list" ? type.element : type;
  const read = reader(elementType, node.source, source, "the element");
  const areEqual = equality({ ...node.object, type: elementType }, node.element, node.letterCase, node.source, source);
  return (evaluation) => {
    const candidates = object(evaluation);
    const sought = element(evaluation);
    spend(evaluation, candidates.length, node.source, source);
    let found = false;
    for (const candidate of candidates) if (areEqual(read(candidate), sought, evaluation)) found = true;
    return found;
  };
}

/** `x in [a, b, c]` with a list literal. */
function compileListed(node: TypedNode, elements: TypedNode[], element: Evaluate, source: string): Evaluate {
  const contains = node as TypedNode & { kind: "contains" };
  const candidates = elements.map((candidate) => ({
    value: compileNode(candidate, source),
    areEqual: equality(candidate, contains.element, contains.letterCase, node.source, source),
  }));
  return (evaluation) => {
    const sought = element(evaluation);
    let found = false;
    for (const { value, areEqual } of candidates) {
      if (areEqual(value(evaluation), sought, evaluation)) found = true;
    }
    return found;
  };
}

type AreEqual = (a: unknown, b: unknown, evaluation: Evaluation) => boolean;

/** In a list of arguments, an element's type may differ from that of the other side; this is checked at evaluation, as for a single argument. */
function equality(a: TypedNode, b: TypedNode, letterCase: LetterCase, at: Expression, source: string): AreEqual {
  const areSame = stringEquality(letterCase, at, source);
  const areArguments = a.type.kind === "argument" || b.type.kind === "argument";
  if (!areArguments && areComparable(a.type, b.type)) {
    return a.type.kind === "string" ? (areSame as AreEqual) : (x, y) => x === y;
  }
  const digitsOfA = digitsOf(a);
  const digitsOfB = digitsOf(b);
  return (x, y, evaluation) => {
    const left = typeof y === "bigint" ? (digitsOfA ?? x) : x;
    const right = typeof x === "bigint" ? (digitsOfB ?? y) : y;
    if (typeof left === "string" && typeof right === "string") return areSame(left, right, evaluation);
    if (typeof left === typeof right && typeof left !== "object") return left === right;
    throw failure("INCOMPARABLE", `${kindOf(left)} cannot be compared with ${kindOf(right)}`, at, source);
  };
}

/** The integer value of a string literal of digits, for a comparison with an argument that may be an integer. */
function digitsOf(node: TypedNode): bigint | undefined {
  return node.kind === "constant" && typeof node.value === "string" ? integerFromDigits(node.value) : undefined;
}

const PREFIXED_HEX = /^0x[0-9a-f]*$/i;
/** Comparing texts up to this length costs a single step. */
const LONG = 64;

function stringEquality(letterCase: LetterCase, at: Expression, source: string) {
  return (a: string, b: string, evaluation: Evaluation): boolean => {
    if (a.length !== b.length) return false;
    if (a.length > LONG) spend(evaluation, a.length >> 6, at, source);
    if (a === b || letterCase === "exact") return a === b;
    spend(evaluation, a.length >> 3, at, source);
    if (letterCase === "prefixed-hex" && !(PREFIXED_HEX.test(a) && PREFIXED_HEX.test(b))) return false;
    return a.toLowerCase() === b.toLowerCase();
  };
}

/**
 * Converts a fact to a value of the language: integers become bigints in the range of their type, times become nanoseconds. This program
 * supplies the facts, but a fact of a wrong type is still an error, never a wrong answer.
 */
function reader(type: Type, at: Expression, source: string, path: string): (fact: unknown) => unknown {
  const wrong = (fact: unknown): never => {
    throw failure("WRONG_FACT", `${path} is ${kindOf(fact)}, not ${typeName(type)}`, at, source);
  };
  switch (type.kind) {
    case "bool":
      return (fact) => (typeof fact === "boolean" ? fact : wrong(fact));
    case "string":
      return (fact) => (typeof fact === "string" ? fact : wrong(fact));
    case "int":
      return (fact) => readInteger(fact, MIN_INT, MAX_INT, at, source) ?? wrong(fact);
    case "uint":
      return (fact) => readInteger(fact, 0n, MAX_UINT, at, source) ?? wrong(fact);
    case "integer":
      return (fact) => readInteger(fact, MIN_INT, MAX_UINT, at, source) ?? wrong(fact);
    case "timestamp":
      return (fact) => {
        if (typeof fact === "bigint") return fact;
        return Number.isSafeInteger(fact) ? nanosecondsFrom(fact as number) : wrong(fact);
      };
    case "list":
      return (fact) => (Array.isArray(fact) ? fact : wrong(fact));
    case "map":
    case "struct":
      return (fact) => (typeof fact === "object" && fact !== null ? fact : wrong(fact));
    case "argument":
      return (fact) => readArgument(fact, at, source);
    case "nothing":
      return wrong;
  }
}

/** Undefined if the fact is not an integer. Values that a reader has already converted pass unchanged. */
function readInteger(fact: unknown, least: bigint, most: bigint, at: Expression, source: string): bigint | undefined {
  const value = Number.isSafeInteger(fact) ? BigInt(fact as number) : fact;
  if (typeof value !== "bigint") return undefined;
  if (value >= least && value <= most) return value;
  throw failure("OUT_OF_RANGE", `the integer ${clip(String(value))} is out of range`, at, source);
}

/** Signed arguments have the lower limit of `int`, unsigned ones the upper limit of `uint`. */
function readArgument(fact: unknown, at: Expression, source: string): unknown {
  if (typeof fact === "number" || typeof fact === "bigint") {
    const value = readInteger(fact, MIN_INT, MAX_UINT, at, source);
    if (value !== undefined) return value;
  } else if (fact !== undefined && fact !== null && typeof fact !== "function" && typeof fact !== "symbol") {
    return fact;
  }
  throw failure("WRONG_FACT", `the argument is ${kindOf(fact)}, which has no type here`, at, source);
}

// Values with a static type need no test; the type of an argument is checked at evaluation.

function asBool(evaluate: Evaluate, node: TypedNode, source: string): (evaluation: Evaluation) => boolean {
  if (node.type.kind === "bool") return evaluate as (evaluation: Evaluation) => boolean;
  return (evaluation) => {
    const value = evaluate(evaluation);
    if (typeof value !== "boolean") throw unexpected("a bool", value, node, source);
    return value;
  };
}

function asList(evaluate: Evaluate, node: TypedNode, source: string): (evaluation: Evaluation) => unknown[] {
  if (node.type.kind === "list") return evaluate as (evaluation: Evaluation) => unknown[];
  return (evaluation) => {
    const value = evaluate(evaluation);
    if (!Array.isArray(value)) throw unexpected("a list", value, node, source);
    return value;
  };
}

function asString(evaluate: Evaluate, node: TypedNode, source: string): (evaluation: Evaluation) => string {
  return (evaluation) => {
    const value = evaluate(evaluation);
    if (typeof value !== "string") throw unexpected("a string", value, node, source);
    return value;
  };
}

/** An integer or a timestamp; both are bigints. */
function integerOf(value: unknown, node: TypedNode, source: string): bigint {
  if (typeof value !== "bigint") throw unexpected("an integer", value, node, source);
  return value;
}

function unexpected(wanted: string, value: unknown, node: TypedNode, source: string): PolicyError {
  const message = `\`${clip(print(node.source))}\` is ${kindOf(value)}, not ${wanted}`;
  return failure("INCOMPARABLE", message, node.source, source);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "bigint":
      return "an integer";
    case "boolean":
      return "a bool";
    case "object":
      return value === null ? "nothing" : "a struct";
    default:
      return `a ${typeof value}`;
  }
}

function spend(evaluation: Evaluation, steps: number, at: Expression, source: string): void {
  evaluation.stepsLeft -= steps;
  if (evaluation.stepsLeft < 0) {
    throw failure("TOO_COSTLY", `the evaluation takes more than ${MAX_POLICY_STEPS} steps`, at, source);
  }
}

function failure(code: PolicyErrorCode, message: string, at: Expression, source: string): PolicyError {
  return new PolicyError(code, message, source, at.offset);
}
