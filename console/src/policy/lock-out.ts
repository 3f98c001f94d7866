/** The part of a policy that decides whether anybody but the root quorum can still act. */
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
 * What to warn of before a change that leaves only the root quorum able to act; undefined where somebody else still can. It looks at the policies
 * alone, not at who would approve: it knows a denial of everything, and the loss of the last allowance.
 */
export function lockOut(before: readonly Rule[], after: readonly Rule[]): string | undefined {
  if (after.some(deniesAll) && !before.some(deniesAll))
    return "This denies everything, and no other policy can override it: only the root quorum could still act, and undo it.";
  if (before.some(allows) && !after.some(allows))
    return "No remaining policy would allow anything: apart from managing their own credentials, users could no longer act; only the root quorum could.";
  return undefined;
}
