import { MAX_POLICY_DEPTH } from "../kernel/limits.ts";
import { type CompareOperator, type Expression, partsOf } from "./ast.ts";
import { PolicyError } from "./errors.ts";
import { clip, type Token, tokenize } from "./lexer.ts";

const COMPARE_OPERATORS = new Set<string>(["==", "!=", "<", "<=", ">", ">=", "in"]);
const RESERVED = new Set(["true", "false", "in"]);

/** The mutable state of parsing: the next token, and the current depth. */
interface Cursor {
  source: string;
  tokens: Token[];
  next: number;
  depth: number;
}

/**
 * Parses an expression (grammar: docs/guide/policy-language.md). Binding from loose to tight: `||`, `&&`, comparisons
 * (which do not chain), `!`, then `.field`, `[index]` and calls.
 *
 * @throws PolicyError TOO_LONG, TOO_DEEP, SYNTAX or LITERAL
 */
export function parse(source: string): Expression {
  const cursor: Cursor = { source, tokens: tokenize(source), next: 0, depth: 0 };
  const expression = parseExpression(cursor);
  const rest = peek(cursor);
  if (rest.kind !== "end") {
    if (isCompareOperator(rest)) {
      throw new PolicyError("SYNTAX", "comparisons do not chain; put one of them in parentheses", source, rest.offset);
    }
    throw expectedBut(cursor, "`&&`, `||` or the end of the expression");
  }
  checkDepth(cursor, expression, 1);
  return expression;
}

function parseExpression(cursor: Cursor): Expression {
  return parseTerms(cursor, "or", "||", parseConjunction);
}

function parseConjunction(cursor: Cursor): Expression {
  return parseTerms(cursor, "and", "&&", parseComparison);
}

/** `a && b && c` is one node with three terms, so that a long list of clauses does not make a deep tree. */
function parseTerms(
  cursor: Cursor,
  kind: "and" | "or",
  symbol: string,
  parseTerm: (cursor: Cursor) => Expression,
): Expression {
  const first = parseTerm(cursor);
  if (!isSymbol(peek(cursor), symbol)) return first;
  const terms = [first];
  while (skipSymbol(cursor, symbol)) terms.push(parseTerm(cursor));
  return { kind, offset: first.offset, terms };
}

function parseComparison(cursor: Cursor): Expression {
  const left = parseUnary(cursor);
  const token = peek(cursor);
  if (!isCompareOperator(token)) return left;
  cursor.next++;
  const right = parseUnary(cursor);
  return { kind: "compare", offset: token.offset, operator: token.text as CompareOperator, left, right };
}

function parseUnary(cursor: Cursor): Expression {
  const { offset } = peek(cursor);
  if (!skipSymbol(cursor, "!")) return parsePostfix(cursor);
  return nested(cursor, () => ({ kind: "not", offset, operand: parseUnary(cursor) }));
}

function parsePostfix(cursor: Cursor): Expression {
  let object = parsePrimary(cursor);
  const depth = cursor.depth;
  for (;;) {
    if (skipSymbol(cursor, ".")) object = parseMember(cursor, object);
    else if (skipSymbol(cursor, "[")) object = parseBrackets(cursor, object);
    else break;
    cursor.depth++;
    if (cursor.depth > MAX_POLICY_DEPTH) throw tooDeep(cursor);
  }
  cursor.depth = depth;
  return object;
}

function parsePrimary(cursor: Cursor): Expression {
  const token = peek(cursor);
  const { offset } = token;
  cursor.next++;
  if (token.kind === "integer") return { kind: "integer", offset, value: BigInt(token.text) };
  if (token.kind === "string") return { kind: "string", offset, value: token.text };
  if (token.kind === "identifier") {
    const named = parseName(cursor, token);
    if (named !== undefined) return named;
  } else if (isSymbol(token, "(")) {
    const inner = nested(cursor, () => parseExpression(cursor));
    expectSymbol(cursor, ")");
    return inner;
  } else if (isSymbol(token, "[")) {
    return nested(cursor, () => ({ kind: "list", offset, elements: parseListed(cursor, "]") }));
  }
  cursor.next--;
  throw expectedBut(cursor, "a value");
}

function parseName(cursor: Cursor, token: Token): Expression | undefined {
  const { text, offset } = token;
  if (text === "true" || text === "false") return { kind: "boolean", offset, value: text === "true" };
  if (RESERVED.has(text)) return undefined;
  if (!skipSymbol(cursor, "(")) return { kind: "name", offset, name: text };
  if (text !== "Timestamp" && text !== "CronSpan") {
    const message = `there is no function \`${clip(text)}\``;
    throw new PolicyError("UNKNOWN_NAME", message, cursor.source, offset, "`Timestamp` or `CronSpan`");
  }
  return nested(cursor, () => ({ kind: "function", offset, name: text, arguments: parseListed(cursor, ")") }));
}

function parseMember(cursor: Cursor, object: Expression): Expression {
  const token = peek(cursor);
  if (token.kind !== "identifier" || RESERVED.has(token.text)) throw expectedBut(cursor, "the name of a field");
  cursor.next++;
  const { offset } = token;
  if (!skipSymbol(cursor, "(")) return { kind: "field", offset, object, name: token.text };
  switch (token.text) {
    case "all":
    case "any":
    case "filter":
      return parseQuantifier(cursor, object, token.text, offset);
    case "contains":
    case "count": {
      const name = token.text;
      return nested(cursor, () => ({ kind: "method", offset, object, name, arguments: parseListed(cursor, ")") }));
    }
    default:
      throw new PolicyError(
        "UNKNOWN_NAME",
        `there is no method \`${clip(token.text)}\``,
        cursor.source,
        token.offset,
        "`all`, `any`, `filter`, `contains` or `count`",
      );
  }
}

function parseQuantifier(
  cursor: Cursor,
  object: Expression,
  name: "all" | "any" | "filter",
  offset: number,
): Expression {
  const variable = peek(cursor);
  if (variable.kind !== "identifier" || RESERVED.has(variable.text)) {
    throw expectedBut(cursor, "a name for the element, as in `.any(item, item == 1)`");
  }
  cursor.next++;
  expectSymbol(cursor, ",");
  const predicate = nested(cursor, () => parseExpression(cursor));
  expectSymbol(cursor, ")");
  return { kind: "quantifier", offset, object, name, variable: variable.text, predicate };
}

function parseBrackets(cursor: Cursor, object: Expression): Expression {
  const { offset } = cursor.tokens[cursor.next - 1] as Token;
  const first = nested(cursor, () => parseExpression(cursor));
  if (!skipSymbol(cursor, "..")) {
    expectSymbol(cursor, "]");
    return { kind: "index", offset, object, index: first };
  }
  const end = nested(cursor, () => parseExpression(cursor));
  expectSymbol(cursor, "]");
  return { kind: "slice", offset, object, start: first, end };
}

/** Comma-separated expressions up to the closing symbol, which is consumed; the list may be empty. */
function parseListed(cursor: Cursor, closing: string): Expression[] {
  if (skipSymbol(cursor, closing)) return [];
  const elements = [parseExpression(cursor)];
  while (skipSymbol(cursor, ",")) elements.push(parseExpression(cursor));
  if (!skipSymbol(cursor, closing)) throw expectedBut(cursor, `\`,\` or \`${closing}\``);
  return elements;
}

function peek(cursor: Cursor): Token {
  return cursor.tokens[cursor.next] as Token;
}

/** `in` is written like a name; a string is never an operator, whatever is in it. */
function isCompareOperator(token: Token): boolean {
  return token.kind !== "string" && COMPARE_OPERATORS.has(token.text);
}

function isSymbol(token: Token, text: string): boolean {
  return token.kind === "symbol" && token.text === text;
}

function skipSymbol(cursor: Cursor, text: string): boolean {
  if (!isSymbol(peek(cursor), text)) return false;
  cursor.next++;
  return true;
}

function expectSymbol(cursor: Cursor, text: string): void {
  if (!skipSymbol(cursor, text)) throw expectedBut(cursor, `\`${text}\``);
}

function expectedBut(cursor: Cursor, expected: string): PolicyError {
  const token = peek(cursor);
  const found =
    token.kind === "end"
      ? "the expression ends"
      : token.kind === "string"
        ? `found '${clip(token.text)}'`
        : `found \`${clip(token.text)}\``;
  return new PolicyError("SYNTAX", `expected ${expected} but ${found}`, cursor.source, token.offset, expected);
}

function nested<T>(cursor: Cursor, parsePart: () => T): T {
  if (cursor.depth >= MAX_POLICY_DEPTH) throw tooDeep(cursor);
  cursor.depth++;
  const part = parsePart();
  cursor.depth--;
  return part;
}

/** The parser limits chains and brackets separately; this limits the depth of the whole tree. */
function checkDepth(cursor: Cursor, node: Expression, depth: number): void {
  if (depth > MAX_POLICY_DEPTH) throw tooDeep(cursor, node.offset);
  for (const part of partsOf(node)) checkDepth(cursor, part, depth + 1);
}

function tooDeep(cursor: Cursor, offset = peek(cursor).offset): PolicyError {
  return new PolicyError(
    "TOO_DEEP",
    `the expression is nested deeper than ${MAX_POLICY_DEPTH} levels`,
    cursor.source,
    offset,
  );
}
