import { MAX_REMEMBERED_VALUES } from "../kernel/limits.ts";
import { recentlyUsed } from "../kernel/recently-used.ts";
import type { Program } from "./compile.ts";
import type { Approval } from "./consensus.ts";
import { PolicyError } from "./errors.ts";
import type { ConditionFacts } from "./facts.ts";
import { type TypedNode, typedPartsOf } from "./typed-tree.ts";

/**
 * Most policies are about other activities and other users than the one that is decided on, and every expression is
 * evaluated all the same. What depends on nothing but the class of the activity, or on nothing but who approves, comes out
 * the same the next time, and is kept here.
 */

/** Values of one kind of expression, in the order of the policies. Empty where a value is not known, or never is. */
export type Column = (boolean | PolicyError | undefined)[];

/** There is none for times: they change with the clock. */
export interface Columns {
  consensus?: Column;
  condition?: Column;
  time?: undefined;
}

/** Values that were found before. */
export interface ValueMemory {
  /**
   * The columns that hold for a request; a decision adds to them. Policies, users and credentials are known again as the
   * objects they are, so whoever changes one makes another object of it.
   */
  columnsOf(request: RememberedRequest): Columns;
}

/** What a value can depend on. */
interface RememberedRequest {
  policies: readonly object[];
  facts: ConditionFacts;
  approvals: readonly Approval[];
}

export function createValueMemory(maxColumns = MAX_REMEMBERED_VALUES): ValueMemory {
  const columns = recentlyUsed<Column>(maxColumns);
  const numbers = new WeakMap<object, number>();
  let lastNumber = 0;
  const numberOf = (object: object): number => {
    const known = numbers.get(object);
    if (known !== undefined) return known;
    numbers.set(object, ++lastNumber);
    return lastNumber;
  };
  const columnOf = (key: string): Column => {
    const known = columns.get(key);
    if (known) return known;
    const column: Column = [];
    columns.set(key, column);
    return column;
  };
  return {
    columnsOf({ policies, facts, approvals }) {
      const { type, kind, resource, action } = facts.activity;
      // Which facts there are is told beside the class: an expression on one that is absent is an error.
      const activityClass = JSON.stringify([type, kind, resource, action, ...Object.keys(facts)]);
      const approvers = approvals.map(
        ({ user, credential }) => `${numberOf(user)}/${credential ? numberOf(credential) : ""}`,
      );
      const list = numberOf(policies);
      return {
        condition: columnOf(`${list} condition ${activityClass}`),
        consensus: columnOf(`${list} consensus ${approvers.join(" ")}`),
      };
    },
  };
}

/**
 * Whether the value is the same for every request that shares the column. A consensus looks at approvals alone, and what
 * does not compile is always the same error. A condition must look at nothing of the activity but its class, and at no
 * other fact that there is.
 */
export function isSettled(program: Tree | PolicyError, facts: ConditionFacts): boolean {
  if (program instanceof PolicyError || program.scope === "consensus") return true;
  const { ofClassAlone, facts: names } = readsOf(program);
  return ofClassAlone && names.every((name) => !(name in facts));
}

type Tree = Pick<Program, "scope" | "tree">;

/** What a condition looks at. */
interface Reads {
  /** Of the activity: only its class. */
  ofClassAlone: boolean;
  /** The other facts, by their keywords. */
  facts: string[];
}

const CLASS_FIELDS = new Set(["type", "kind", "resource", "action"]);
const reads = new WeakMap<Tree, Reads>();

function readsOf(program: Tree): Reads {
  const known = reads.get(program);
  if (known) return known;
  const found: Reads = { ofClassAlone: true, facts: [] };
  collectReads(program.tree, found);
  reads.set(program, found);
  return found;
}

function collectReads(node: TypedNode, found: Reads): void {
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
