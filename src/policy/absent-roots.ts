import { MAX_POLICY_STEPS } from "../kernel/limits.ts";
import { type Budget, OutOfBudget } from "./budget.ts";
import type { FactsOf, Part, Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import { followPath, rootPathOf } from "./roots.ts";
import type { Scope } from "./schema.ts";
import { type TypedNode, typedPartsOf } from "./typed-tree.ts";

/**
 * The roots that an expression needs and the activity does not have, if their absence is the only problem; undefined if anything else in
 * the expression also fails. Call it for expressions that ended in ABSENT_ROOT. It finds all errors, because parts that do not depend on an
 * absent root are evaluated separately.
 *
 * @throws OutOfBudget
 */
export function absentRootsOf<S extends Scope>(
  program: Program<S>,
  facts: FactsOf[S],
  budget: Budget,
): string[] | undefined {
  const evaluation = budget.part(MAX_POLICY_STEPS);
  const search: Search = { program: program as unknown as Program, facts, budget: evaluation, found: new Set() };
  try {
    errs(program.tree, [], search);
    return [...search.found];
  } catch (error) {
    const isCostly = error instanceof OutOfBudget && !evaluation.isCut;
    if (error instanceof PolicyError || isCostly) return undefined;
    throw error;
  }
}

interface Search {
  program: Program;
  facts: FactsOf[Scope];
  budget: Budget;
  found: Set<string>;
}

/**
 * Whether a part fails because a root is absent. `elements` are the current elements of the surrounding quantifiers.
 *
 * @throws PolicyError for any other error
 */
function errs(node: TypedNode, elements: unknown[], search: Search): boolean {
  const { found, facts, budget } = search;
  const paths = rootsIn(node);
  budget.spend(1 + paths.length);
  if (!paths.some((path) => isAbsent(facts, path))) {
    partOf(node, search)(facts, budget, elements);
    return false;
  }
  const path = rootPathOf(node);
  if (path !== undefined) {
    found.add(path.join("."));
    return true;
  }
  if (partsErr(node, elements, search)) return true;
  // The root is needed only in a test that was applied to no element, so the rest is evaluated as usual.
  partOf(node, search)(facts, budget, elements);
  return false;
}

function partsErr(node: TypedNode, elements: unknown[], search: Search): boolean {
  if (node.kind !== "all" && node.kind !== "any" && node.kind !== "filter") {
    return typedPartsOf(node).filter((part) => errs(part, elements, search)).length > 0;
  }
  if (errs(node.object, elements, search)) return true;
  const { program, facts, budget } = search;
  const list = program.elements(node)(facts, budget, elements) as readonly unknown[];
  const outer = elements.slice(0, node.slot);
  return list.filter((element) => errs(node.predicate, [...outer, element], search)).length > 0;
}

function isAbsent(facts: object, path: readonly string[]): boolean {
  try {
    return followPath(facts, path) === undefined;
  } catch {
    // The root exists but its value is unavailable; evaluating it reports that.
    return false;
  }
}

const roots = new WeakMap<TypedNode, readonly (readonly string[])[]>();

/** The paths of the roots that a part needs. */
export function rootsIn(node: TypedNode): readonly (readonly string[])[] {
  const known = roots.get(node);
  if (known) return known;
  const own = rootPathOf(node);
  const found = new Map<string, readonly string[]>();
  for (const path of own ? [own] : typedPartsOf(node).flatMap(rootsIn)) found.set(path.join("."), path);
  const paths = [...found.values()];
  roots.set(node, paths);
  return paths;
}

const parts = new WeakMap<TypedNode, Part>();

function partOf(node: TypedNode, { program }: Search): Part {
  const known = parts.get(node);
  if (known) return known;
  const part = program.part(node);
  parts.set(node, part);
  return part;
}
