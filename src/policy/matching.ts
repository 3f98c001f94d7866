import { type ActivityClass, activityClass } from "./activities.ts";
import type { TypedNode } from "./typed-tree.ts";

/** A value as far as the activity's class determines it; undefined if it depends on more. */
type Known = boolean | bigint | string | undefined;

/**
 * Whether a condition can be true for an activity type, based only on `activity.type`, `.kind`, `.resource` and `.action`, and on the given
 * parameters. Uses three-valued logic: everything else is unknown.
 */
export function canBeTrueFor(
  condition: TypedNode,
  activityType: string,
  params: Readonly<Record<string, string>> = {},
): boolean {
  const known = activityClass(activityType);
  return known === undefined || knownOf(condition, { ...known, params }) !== false;
}

type KnownActivity = ActivityClass & { params: Readonly<Record<string, string>> };

function knownOf(node: TypedNode, activity: KnownActivity): Known {
  switch (node.kind) {
    case "constant":
      return node.value;
    case "field":
      return node.object.kind === "keyword" && node.object.name === "activity"
        ? classFact(activity, node.name)
        : undefined;
    case "param":
      return Object.hasOwn(activity.params, node.name) ? activity.params[node.name] : undefined;
    case "not":
      return negate(knownOf(node.operand, activity));
    case "and":
    case "or": {
      const decisive = node.kind === "or";
      const values = node.terms.map((term) => knownOf(term, activity));
      if (values.includes(decisive)) return decisive;
      return values.includes(undefined) ? undefined : !decisive;
    }
    case "compare": {
      if (node.operator !== "==" && node.operator !== "!=") return undefined;
      const equal = areEqual(knownOf(node.left, activity), knownOf(node.right, activity));
      return node.operator === "==" ? equal : negate(equal);
    }
    case "contains":
      return node.object.kind === "list" ? isIn(node.element, node.object.elements, activity) : undefined;
    default:
      return undefined;
  }
}

function classFact(activity: KnownActivity, name: string): Known {
  return name === "params" ? undefined : activity[name as keyof ActivityClass];
}

const negate = (value: Known): boolean | undefined => (typeof value === "boolean" ? !value : undefined);

/** The facts compared here belong to the activity and are compared exactly. */
function areEqual(a: Known, b: Known): boolean | undefined {
  return a === undefined || b === undefined ? undefined : a === b;
}

function isIn(element: TypedNode, elements: TypedNode[], activity: KnownActivity): Known {
  const sought = knownOf(element, activity);
  const equal = elements.map((candidate) => areEqual(sought, knownOf(candidate, activity)));
  if (equal.includes(true)) return true;
  return equal.includes(undefined) ? undefined : false;
}
