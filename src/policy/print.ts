import type { Expression } from "./ast.ts";

/** Binding strengths. An expression that binds more loosely than required needs parentheses. */
const OR = 0;
const AND = 1;
const COMPARE = 2;
const NOT = 3;
const POSTFIX = 4;

/** The expression as text. Each tree has one canonical text, and parsing it yields an equal tree. */
export function print(node: Expression): string {
  switch (node.kind) {
    case "boolean":
    case "integer":
      return String(node.value);
    case "string":
      return `'${node.value}'`;
    case "list":
      return `[${node.elements.map(print).join(", ")}]`;
    case "name":
      return node.name;
    case "field":
      return `${within(node.object, POSTFIX)}.${node.name}`;
    case "index":
      return `${within(node.object, POSTFIX)}[${print(node.index)}]`;
    case "slice":
      return `${within(node.object, POSTFIX)}[${print(node.start)}..${print(node.end)}]`;
    case "method":
      return `${within(node.object, POSTFIX)}.${node.name}(${node.arguments.map(print).join(", ")})`;
    case "quantifier":
      return `${within(node.object, POSTFIX)}.${node.name}(${node.variable}, ${print(node.predicate)})`;
    case "function":
      return `${node.name}(${node.arguments.map(print).join(", ")})`;
    case "not":
      return `!${within(node.operand, NOT)}`;
    case "and":
      return node.terms.map((term) => within(term, COMPARE)).join(" && ");
    case "or":
      return node.terms.map((term) => within(term, AND)).join(" || ");
    case "compare":
      return `${within(node.left, NOT)} ${node.operator} ${within(node.right, NOT)}`;
  }
}

function within(node: Expression, least: number): string {
  return bindingOf(node) < least ? `(${print(node)})` : print(node);
}

function bindingOf(node: Expression): number {
  switch (node.kind) {
    case "or":
      return OR;
    case "and":
      return AND;
    case "compare":
      return COMPARE;
    case "not":
      return NOT;
    default:
      return POSTFIX;
  }
}
