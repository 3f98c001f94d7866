import type { CompareOperator, Expression } from "./ast.ts";
import type { CronSpan } from "./cron.ts";
import type { LetterCase, Type } from "./types.ts";

/**
 * An expression after type checking: names are resolved, literals are converted, and every part has a type. `source` is the corresponding
 * part of the syntax tree.
 */
export type TypedNode = { type: Type; source: Expression } & (
  | { kind: "constant"; value: boolean | bigint | string }
  | { kind: "keyword"; name: string }
  | { kind: "variable"; slot: number }
  /** A field of a struct; `path` is how messages call it. */
  | { kind: "field"; object: TypedNode; name: string; path: string }
  /** `activity.params.<name>` */
  | { kind: "param"; object: TypedNode; name: string; path: string }
  /** A field, or `.count`, of an argument. */
  | { kind: "member"; object: TypedNode; name: string }
  | { kind: "entry"; object: TypedNode; key: TypedNode }
  | { kind: "element"; object: TypedNode; index: TypedNode }
  /** `x[i]` where x is an argument: an element or an entry, as the values turn out. */
  | { kind: "part"; object: TypedNode; index: TypedNode }
  | { kind: "slice"; object: TypedNode; start: TypedNode; end: TypedNode }
  | { kind: "list"; elements: TypedNode[] }
  | { kind: "count"; object: TypedNode }
  | { kind: "all" | "any" | "filter"; object: TypedNode; slot: number; predicate: TypedNode }
  | { kind: "cron-span"; span: CronSpan }
  | { kind: "not"; operand: TypedNode }
  | { kind: "and" | "or"; terms: TypedNode[] }
  | {
      kind: "compare";
      operator: Exclude<CompareOperator, "in">;
      letterCase: LetterCase;
      left: TypedNode;
      right: TypedNode;
    }
  /** `element in object` and `object.contains(element)`. */
  | { kind: "contains"; letterCase: LetterCase; object: TypedNode; element: TypedNode }
);

/** The direct parts of a node. */
export function typedPartsOf(node: TypedNode): TypedNode[] {
  switch (node.kind) {
    case "field":
    case "param":
    case "member":
    case "count":
      return [node.object];
    case "entry":
      return [node.object, node.key];
    case "element":
    case "part":
      return [node.object, node.index];
    case "slice":
      return [node.object, node.start, node.end];
    case "list":
      return node.elements;
    case "all":
    case "any":
    case "filter":
      return [node.object, node.predicate];
    case "not":
      return [node.operand];
    case "and":
    case "or":
      return node.terms;
    case "compare":
      return [node.left, node.right];
    case "contains":
      return [node.object, node.element];
    default:
      return [];
  }
}

/** A copy of the node with each part replaced by `change(part)`. */
export function withParts(node: TypedNode, change: (part: TypedNode) => TypedNode): TypedNode {
  switch (node.kind) {
    case "field":
    case "param":
    case "member":
    case "count":
      return { ...node, object: change(node.object) };
    case "entry":
      return { ...node, object: change(node.object), key: change(node.key) };
    case "element":
    case "part":
      return { ...node, object: change(node.object), index: change(node.index) };
    case "slice":
      return { ...node, object: change(node.object), start: change(node.start), end: change(node.end) };
    case "list":
      return { ...node, elements: node.elements.map(change) };
    case "all":
    case "any":
    case "filter":
      return { ...node, object: change(node.object), predicate: change(node.predicate) };
    case "not":
      return { ...node, operand: change(node.operand) };
    case "and":
    case "or":
      return { ...node, terms: node.terms.map(change) };
    case "compare":
      return { ...node, left: change(node.left), right: change(node.right) };
    case "contains":
      return { ...node, object: change(node.object), element: change(node.element) };
    default:
      return node;
  }
}

/** The number of nodes in a tree: the steps of evaluating it once, not counting repetitions in its loops. */
export function sizeOf(node: TypedNode): number {
  let size = 1;
  for (const part of typedPartsOf(node)) size += sizeOf(part);
  return size;
}
