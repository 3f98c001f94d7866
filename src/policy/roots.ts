import { namespaces } from "./schema.ts";
import type { TypedNode } from "./typed-tree.ts";

/**
 * A root is a fact that an activity has, or does not have, as a whole: `eth.tx`, `wallet`, `activity.params.hash_function`. Which roots
 * exist depends only on the kind of the activity.
 */

/** The path to a root in the facts, such as `["eth", "tx"]`; undefined if the node is not a root. */
export function rootPathOf(node: TypedNode): readonly string[] | undefined {
  if (node.kind === "keyword") return [node.name];
  if (node.kind === "param") return ["activity", "params", node.name];
  if (node.kind !== "field" || node.object.kind !== "keyword" || !namespaces.has(node.object.name)) return undefined;
  return [node.object.name, node.name];
}

/** The value at a path; undefined if any part of it is absent. */
export function followPath(facts: object, path: readonly string[]): unknown {
  let value: unknown = facts;
  for (const name of path) {
    if (value === undefined || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value ?? undefined;
}
