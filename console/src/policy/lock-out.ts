/** What of a policy says whether somebody is left who may act. */
export interface Rule {
  effect: "EFFECT_ALLOW" | "EFFECT_DENY";
  condition: string;
  consensus: string;
  time: string;
}

const isAlways = (expression: string): boolean => ["", "true"].includes(expression.trim());
const deniesAll = ({ effect, condition, consensus, time }: Rule): boolean =>
  effect === "EFFECT_DENY" && [condition, consensus, time].every(isAlways);
const allows = ({ effect }: Rule): boolean => effect === "EFFECT_ALLOW";

/**
 * Why nobody but the root quorum could do what policies decide on any more; undefined where the change leaves somebody who may. It is told of
 * what can be seen without asking who approves: a denial of everything, and the loss of the last allowance.
 */
export function lockOut(before: readonly Rule[], after: readonly Rule[]): string | undefined {
  if (after.some(deniesAll) && !before.some(deniesAll))
    return "This denies everything, and no other policy can allow it again: whatever policies decide on, only the root quorum could still do, and take this back.";
  if (before.some(allows) && !after.some(allows))
    return "No policy is left then that allows anything: whatever policies decide on, only the root quorum could still do.";
  return undefined;
}
