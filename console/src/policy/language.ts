import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { HighlightStyle, StreamLanguage, type StreamParser } from "@codemirror/language";
import type { Diagnostic } from "@codemirror/lint";
import { tags } from "@lezer/highlight";
import { KeysteadError } from "../../../src/kernel/errors.ts";
import { activityClasses } from "../../../src/policy/activities.ts";
import { parse } from "../../../src/policy/parser.ts";
import { print } from "../../../src/policy/print.ts";
import { keywords, paramTypes, type Scope } from "../../../src/policy/schema.ts";
import { type Type, typeName } from "../../../src/policy/types.ts";
import { validateExpression } from "../../../src/policy/validate.ts";

/** The policy language in an editor: the server's own parser, checker and schema say what is right. */

export type { Scope } from "../../../src/policy/schema.ts";

const WORD = /^[A-Za-z_][A-Za-z0-9_]*/;

const tokens: StreamParser<object> = {
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^'(\\.|[^'\\])*'?/) || stream.match(/^"(\\.|[^"\\])*"?/)) return "string";
    if (stream.match(/^[0-9]+/)) return "number";
    if (stream.match(/^(true|false|in)\b/)) return "keyword";
    if (stream.match(WORD)) return stream.peek() === "(" ? "function" : "variableName";
    if (stream.match(/^(&&|\|\||==|!=|<=|>=|[<>!+\-*/])/)) return "operator";
    stream.next();
    return null;
  },
  tokenTable: { function: tags.function(tags.variableName) },
};

export const policyLanguage = StreamLanguage.define(tokens);

/** By variables of the theme, so that light and dark have their own. */
export const policyHighlighting = HighlightStyle.define([
  { tag: tags.string, color: "var(--policy-string)" },
  { tag: tags.number, color: "var(--policy-number)" },
  { tag: tags.keyword, color: "var(--policy-keyword)", fontWeight: "600" },
  { tag: tags.function(tags.variableName), color: "var(--policy-function)" },
  { tag: tags.operator, fontWeight: "600" },
]);

interface ExpressionError {
  message: string;
  offset: number;
  expected?: string;
}

/** What is wrong with an expression, and where; undefined where nothing is. An empty one holds always. */
export function errorIn(source: string, scope: Scope): ExpressionError | undefined {
  if (source === "") return undefined;
  try {
    validateExpression(source, scope);
    return undefined;
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
    return error.details[0] as unknown as ExpressionError;
  }
}

export function diagnosticsOf(source: string, scope: Scope): Diagnostic[] {
  const error = errorIn(source, scope);
  if (!error) return [];
  const from = Math.min(error.offset, source.length);
  const word = WORD.exec(source.slice(from))?.[0] ?? "";
  const expected = error.expected === undefined ? "" : ` Expected: ${error.expected}.`;
  return [
    {
      from,
      to: Math.min(from + Math.max(word.length, 1), source.length),
      severity: "error",
      message: error.message + expected,
    },
  ];
}

/** The one way in which the language spells an expression; as it is where it cannot be read. */
export function formatted(source: string): string {
  try {
    return print(parse(source));
  } catch {
    return source;
  }
}

/** What stands before the cursor: names with dots between, and calls and indexes left out. */
const PATH = /[A-Za-z_][A-Za-z0-9_.[\]]*$/;
const LITERAL = /activity\.(type|resource|action)\s*(?:==|!=)\s*(['"])([A-Z0-9_]*)$/;

export const completionsOf =
  (scope: Scope) =>
  (context: CompletionContext): CompletionResult | null => {
    const before = context.state.sliceDoc(0, context.pos);
    const literal = LITERAL.exec(before);
    if (literal)
      return {
        from: context.pos - (literal[3] ?? "").length,
        options: valuesOf(literal[1] as string),
        validFor: /^[A-Z0-9_]*$/,
      };
    const path = PATH.exec(before)?.[0];
    if (path === undefined && !context.explicit) return null;
    const names = (path ?? "").replaceAll(/\[[^\]]*\]/g, "[]").split(".");
    const last = names.pop() ?? "";
    return { from: context.pos - last.length, options: membersAt(scope, names), validFor: /^\w*$/ };
  };

const option = (label: string, type: Type): Completion => ({ label, type: "property", detail: typeName(type) });

const METHODS: Completion[] = ["any", "all", "count", "filter", "contains"].map((label) => ({ label, type: "method" }));

function membersAt(scope: Scope, path: readonly string[]): Completion[] {
  const [root, ...rest] = path;
  if (root === undefined) return Object.entries(keywords[scope]).map(([name, type]) => option(name, type));
  let type = typeAt(keywords[scope], root);
  for (const name of rest) {
    if (type?.kind !== "struct") return [];
    type =
      path[0] === "activity" && path[1] === "params" && name !== "params"
        ? paramTypes.get(name)
        : typeAt(type.fields, name);
  }
  if (path.join(".") === "activity.params") return [...paramTypes].map(([name, each]) => option(name, each));
  if (type?.kind === "struct") return Object.entries(type.fields).map(([name, each]) => option(name, each));
  return type?.kind === "list" ? METHODS : [];
}

/** `transfers[]` is an element of what `transfers` is. */
function typeAt(fields: Readonly<Record<string, Type>>, name: string): Type | undefined {
  const type = fields[name.replaceAll("[]", "")];
  return name.endsWith("[]") && type?.kind === "list" ? type.element : type;
}

function valuesOf(field: string): Completion[] {
  const values = activityClasses.map((each) => String((each as unknown as Record<string, unknown>)[field] ?? ""));
  return [...new Set(values)]
    .filter((value) => value !== "")
    .sort()
    .map((label) => ({ label, type: "constant" }));
}
