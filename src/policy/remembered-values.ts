import { MAX_REMEMBERED_COLUMNS, MAX_REMEMBERED_DECISIONS } from "../kernel/limits.ts";
import { type RecentlyUsed, recentlyUsed } from "../kernel/recently-used.ts";
import type { Approval } from "./approvals.ts";
import type { Program } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { PolicyEvaluation, PolicyResult } from "./evaluation.ts";
import type { ConditionFacts } from "./facts.ts";
import type { Policy, PolicyFault } from "./policy.ts";
import { type TypedNode, typedPartsOf } from "./typed-tree.ts";

/**
 * Most policies are about other activities and users than the current ones, but every expression has to be evaluated. The value of an
 * expression that depends only on the activity's class, or only on who approves, is the same the next time and is cached here. The cache
 * lives as long as the list of policies that it belongs to.
 */

/** The value of an expression, or its error. */
export type Value = boolean | Pick<PolicyFault, "cause" | "absentRoots">;

/** Values of one kind of expression, in the order of the policies. Empty if a value is not known yet, or cannot be cached. */
export type Column = (Value | undefined)[];

/** There is no column for times, because they change with the clock. */
export interface Columns {
  consensus?: Column;
  condition?: Column;
  /** Values of conditions that depend on more, for exactly the same facts, because one request evaluates them more than once. */
  onTheseFacts?: Column;
  time?: undefined;
  /** Evaluations of whole policies, if both of these columns had their values. */
  settled?: SettledEvaluations;
}

export interface SettledEvaluations {
  /** In the order of the policies. Empty if a policy depends on more than the columns have. */
  evaluations: (PolicyEvaluation | undefined)[];
  /** Set once all policies are evaluated. */
  result?: PolicyResult;
}

/** Caches values of expressions. */
export interface ValueMemory {
  /**
   * The columns that apply to a request; a decision adds values to them. Policies, users and credentials are identified by object identity,
   * so a change must create a new object.
   */
  columnsOf(request: { policies: readonly Policy[]; facts: ConditionFacts; approvals: readonly Approval[] }): Columns;
}

/** Garbage-collected together with its list. */
interface ListMemory {
  columns: RecentlyUsed<Column>;
  settled: RecentlyUsed<SettledEvaluations>;
  ofFacts: WeakMap<ConditionFacts, Column>;
}

/** @param maxColumns the maximum number of columns per list of policies */
export function createValueMemory(maxColumns = MAX_REMEMBERED_COLUMNS): ValueMemory {
  const lists = new WeakMap<readonly Policy[], ListMemory>();
  const numbers = new WeakMap<object, number>();
  let lastNumber = 0;
  const numberOf = (object: object): number => {
    const known = numbers.get(object);
    if (known !== undefined) return known;
    numbers.set(object, ++lastNumber);
    return lastNumber;
  };
  const emptyMemory = (): ListMemory => ({
    columns: recentlyUsed({ entries: maxColumns }),
    settled: recentlyUsed({ entries: MAX_REMEMBERED_DECISIONS }),
    ofFacts: new WeakMap(),
  });
  return {
    columnsOf({ policies, facts, approvals }) {
      const { type, kind, resource, action, params = {} } = facts.activity;
      // The names of the existing facts are part of the key, because an expression that uses an absent one is an error.
      const activityClass = [type, kind, resource, action, ...Object.keys(params), "", ...Object.keys(facts)];
      const approvers = approvals.map(
        ({ user, credential }) => `${numberOf(user)}/${credential ? numberOf(credential) : ""}`,
      );
      const list = lists.get(policies) ?? emptyMemory();
      lists.set(policies, list);
      const { columns, settled, ofFacts } = list;
      const onTheseFacts = ofFacts.get(facts) ?? new Array<Value | undefined>(policies.length);
      ofFacts.set(facts, onTheseFacts);
      const ofClass = `condition ${JSON.stringify(activityClass)}`;
      const ofApprovers = `consensus ${approvers.join(" ")}`;
      return {
        condition: keptIn(columns, ofClass, () => []),
        consensus: keptIn(columns, ofApprovers, () => []),
        onTheseFacts,
        settled: keptIn(settled, `${ofApprovers} ${ofClass}`, () => ({ evaluations: [] })),
      };
    },
  };
}

function keptIn<Value>(kept: RecentlyUsed<Value>, key: string, make: () => Value): Value {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  kept.set(key, made);
  return made;
}

/**
 * Whether the value is the same for every request that shares the column. A consensus depends on approvals only, and an expression that
 * does not compile always has the same error. A condition must depend on nothing of the activity but its class, and on no other fact that
 * exists.
 */
export function isSettled(program: Tree | PolicyError, facts: ConditionFacts): boolean {
  if (program instanceof PolicyError || program.scope === "consensus") return true;
  const { ofClassAlone, facts: names, params } = readsOf(program);
  const { params: ofActivity = {} } = facts.activity;
  return ofClassAlone && names.every((name) => !(name in facts)) && params.every((name) => !(name in ofActivity));
}

type Tree = Pick<Program, "scope" | "tree">;

/** The facts that a condition reads. */
interface Reads {
  /** Of the activity, only its class and parameters. */
  ofClassAlone: boolean;
  /** Other facts, by their keywords. */
  facts: string[];
  /** Parameters of the activity. */
  params: string[];
}

const CLASS_FIELDS = new Set(["type", "kind", "resource", "action"]);
const reads = new WeakMap<Tree, Reads>();

function readsOf(program: Tree): Reads {
  const known = reads.get(program);
  if (known) return known;
  const found: Reads = { ofClassAlone: true, facts: [], params: [] };
  collectReads(program.tree, found);
  reads.set(program, found);
  return found;
}

function collectReads(node: TypedNode, found: Reads): void {
  if (node.kind === "param") {
    if (!found.params.includes(node.name)) found.params.push(node.name);
    return;
  }
  if (node.kind === "field" && node.object.kind === "keyword" && node.object.name === "activity") {
    if (!CLASS_FIELDS.has(node.name)) found.ofClassAlone = false;
    return;
  }
  if (node.kind === "keyword") {
    if (node.name === "activity") found.ofClassAlone = false;
    else if (!found.facts.includes(node.name)) found.facts.push(node.name);
  }
  for (const part of typedPartsOf(node)) collectReads(part, found);
}
