import { MAX_POLICY_LENGTH } from "../kernel/limits.ts";
import { PolicyError } from "./errors.ts";
import { MAX_UINT, MIN_INT } from "./integers.ts";

/** `text` is as written, except for a string literal, whose quotes are removed. */
export interface Token {
  kind: "integer" | "string" | "identifier" | "symbol" | "end";
  text: string;
  offset: number;
}

const WHITESPACE = /[ \t\r\n]*/y;
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y;
const INTEGER = /-?[0-9]+/y;
const SYMBOL = /&&|\|\||==|!=|<=|>=|\.\.|[!<>()[\],.]/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f]/;

/**
 * Splits an expression into tokens; the last has the kind `end`.
 *
 * @throws PolicyError TOO_LONG, SYNTAX or LITERAL
 */
export function tokenize(source: string): Token[] {
  if (source.length > MAX_POLICY_LENGTH) {
    throw new PolicyError(
      "TOO_LONG",
      `the expression has ${source.length} characters; at most ${MAX_POLICY_LENGTH} are allowed`,
      "",
      0,
    );
  }
  const tokens: Token[] = [];
  let offset = skipWhitespace(source, 0);
  while (offset < source.length) {
    const token = tokenAt(source, offset);
    tokens.push(token);
    const quotes = token.kind === "string" ? 2 : 0;
    offset = skipWhitespace(source, offset + token.text.length + quotes);
  }
  tokens.push({ kind: "end", text: "", offset });
  return tokens;
}

function skipWhitespace(source: string, offset: number): number {
  WHITESPACE.lastIndex = offset;
  WHITESPACE.test(source);
  return WHITESPACE.lastIndex;
}

function tokenAt(source: string, offset: number): Token {
  if (source[offset] === "'") return stringAt(source, offset);
  const identifier = match(IDENTIFIER, source, offset);
  if (identifier !== undefined) return { kind: "identifier", text: identifier, offset };
  const integer = match(INTEGER, source, offset);
  if (integer !== undefined) return integerAt(source, offset, integer);
  const symbol = match(SYMBOL, source, offset);
  if (symbol !== undefined) return { kind: "symbol", text: symbol, offset };
  throw strayCharacter(source, offset);
}

function match(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.exec(source)?.[0];
}

/** There are no escapes: a string ends at the next quote, and a backslash is an ordinary character. */
function stringAt(source: string, offset: number): Token {
  const end = source.indexOf("'", offset + 1);
  if (end === -1) {
    throw new PolicyError("SYNTAX", "the string that begins here is not closed", source, offset, "'");
  }
  const text = source.slice(offset + 1, end);
  if (UNPRINTABLE.test(text)) throw new PolicyError("LITERAL", "a string holds a control character", source, offset);
  if (!text.isWellFormed()) throw new PolicyError("LITERAL", "a string holds half a surrogate pair", source, offset);
  return { kind: "string", text, offset };
}

function integerAt(source: string, offset: number, text: string): Token {
  const after = match(IDENTIFIER, source, offset + text.length);
  if (after !== undefined) {
    const expected = "a decimal integer";
    throw new PolicyError(
      "SYNTAX",
      `expected ${expected} but found \`${clip(text + after)}\``,
      source,
      offset,
      expected,
    );
  }
  if (!isInRange(text)) {
    throw new PolicyError(
      "LITERAL",
      `the integer ${clip(text)} is out of range`,
      source,
      offset,
      "an integer from -2^127 to 2^256 - 1",
    );
  }
  return { kind: "integer", text, offset };
}

/** 2^256 has 78 digits, so longer numbers are rejected without parsing. Most numbers are so short that they need no check. */
function isInRange(text: string): boolean {
  if (text.length <= 38) return true;
  const digits = text.replace(/^-?0*/, "");
  if (digits.length > 78) return false;
  const value = BigInt(text);
  return value >= MIN_INT && value <= MAX_UINT;
}

function strayCharacter(source: string, offset: number): PolicyError {
  const character = String.fromCodePoint(source.codePointAt(offset) ?? 0);
  if (character === '"') {
    return new PolicyError("SYNTAX", "strings stand in single quotes", source, offset, "'");
  }
  const shown = /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)
    ? `\`${character}\``
    : `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return new PolicyError("SYNTAX", `${shown} has no meaning here`, source, offset);
}

/** A quote from the expression, shortened for a message. */
export function clip(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40).toWellFormed()}…` : text;
}
