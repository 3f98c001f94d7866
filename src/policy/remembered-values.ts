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
 * Most policies are about other activities and other users than the one that is decided on, and every expression is
 * evaluated all the same. What depends on nothing but the class of the activity, or on nothing but who approves, comes out
 * the same the next time, and is kept here. It goes with the list of policies that it is about.
 */

/** What an expression came to. */
export type Value = boolean | Pick<PolicyFault, "cause" | "absentRoots">;

/** Values of one kind of expression, in the order of the policies. Empty where a value is not known, or never is. */
export type Column = (Value | undefined)[];

/** There is none for times: they change with the clock. */
export interface Columns {
  consensus?: Column;
  condition?: Column;
  /** Of conditions that look at more: what they came to on the very same facts, as one request asks about them more than once. */
  onTheseFacts?: Column;
  time?: undefined;
  /** What whole policies came to, where both of these columns had their values. */
  settled?: SettledEvaluations;
}

export interface SettledEvaluations {
  /** In the order of the policies. Empty where a policy asks for more than the columns have. */
  evaluations: (PolicyEvaluation | undefined)[];
  /** Once all policies are there. */
  result?: PolicyResult;
}

/** Values that were found before. */
export interface ValueMemory {
  /**
   * The columns that hold for a request; a decision adds to them. Policies, users and credentials are known again as the
   * objects they are, so whoever changes one makes another object of it.
   */
  columnsOf(request: { policies: readonly Policy[]; facts: ConditionFacts; approvals: readonly Approval[] }): Columns;
}

/** It goes with its list. */
interface ListMemory {
  columns: RecentlyUsed<Column>;
  settled: RecentlyUsed<SettledEvaluations>;
  ofFacts: WeakMap<ConditionFacts, Column>;
}

/** @param maxColumns columns kept for a list of policies */
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
      // Which facts there are is told beside the class: an expression on one that is absent is an error.
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
 * Whether the value is the same for every request that shares the column. A consensus looks at approvals alone, and what
 * does not compile is always the same error. A condition must look at nothing of the activity but its class, and at no
 * other fact that there is.
 */
export function isSettled(program: Tree | PolicyError, facts: ConditionFacts): boolean {
  if (program instanceof PolicyError || program.scope === "consensus") return true;
  const { ofClassAlone, facts: names, params } = readsOf(program);
  const { params: ofActivity = {} } = facts.activity;
  return ofClassAlone && names.every((name) => !(name in facts)) && params.every((name) => !(name in ofActivity));
}

type Tree = Pick<Program, "scope" | "tree">;

/** What a condition looks at. */
interface Reads {
  /** Of the activity: only its class, and parameters. */
  ofClassAlone: boolean;
  /** The other facts, by their keywords. */
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
