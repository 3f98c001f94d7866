/**
 * The syntax tree of a policy expression. `offset` is where messages about a part point to in the text, in UTF-16 code units: its first
 * character; for a comparison the operator, for a field or method the name, for `x[...]` the bracket.
 */
export type Expression =
  | { kind: "boolean"; offset: number; value: boolean }
  | { kind: "integer"; offset: number; value: bigint }
  | { kind: "string"; offset: number; value: string }
  | { kind: "list"; offset: number; elements: Expression[] }
  | { kind: "name"; offset: number; name: string }
  | { kind: "field"; offset: number; object: Expression; name: string }
  | { kind: "index"; offset: number; object: Expression; index: Expression }
  | { kind: "slice"; offset: number; object: Expression; start: Expression; end: Expression }
  | { kind: "method"; offset: number; object: Expression; name: "contains" | "count"; arguments: Expression[] }
  | {
      kind: "quantifier";
      offset: number;
      object: Expression;
      name: "all" | "any" | "filter";
      variable: string;
      predicate: Expression;
    }
  | { kind: "function"; offset: number; name: "Timestamp" | "CronSpan"; arguments: Expression[] }
  | { kind: "not"; offset: number; operand: Expression }
  | { kind: "and" | "or"; offset: number; terms: Expression[] }
  | { kind: "compare"; offset: number; operator: CompareOperator; left: Expression; right: Expression };

export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in";

/** The direct parts of an expression. */
export function partsOf(node: Expression): Expression[] {
  switch (node.kind) {
    case "list":
      return node.elements;
    case "field":
      return [node.object];
    case "index":
      return [node.object, node.index];
    case "slice":
      return [node.object, node.start, node.end];
    case "method":
      return [node.object, ...node.arguments];
    case "quantifier":
      return [node.object, node.predicate];
    case "function":
      return node.arguments;
    case "not":
      return [node.operand];
    case "and":
    case "or":
      return node.terms;
    case "compare":
      return [node.left, node.right];
    default:
      return [];
  }
}
