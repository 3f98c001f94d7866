import type { Budget } from "../../policy/budget.ts";
import type { Actor } from "../parties.ts";
import { evaluateCondition } from "./conditions.ts";
import type { DecisionFacts } from "./facts.ts";

/** A session with a profile may only do what its user may do and the profile's scope allows. */

/**
 * Why the session's profile forbids the activity; undefined if it does not, or if there is no profile. A scope that cannot be evaluated
 * allows nothing.
 */
export function sessionScopeProblem(
  facts: Pick<DecisionFacts, "lookUps">,
  { credential }: Actor,
  steps: Budget,
): string | undefined {
  const { sessionProfileId } = credential;
  if (sessionProfileId === undefined) return undefined;
  const profile = facts.lookUps.sessionProfile(sessionProfileId);
  if (!profile) return `The session's profile ${sessionProfileId} does not exist.`;
  const allowed = evaluateCondition(facts, profile.scope, steps);
  if (allowed === true) return undefined;
  const why = allowed === false ? "does not allow this" : `cannot be evaluated here: ${allowed.description}`;
  return `The scope of the session's profile ${profile.name} (${sessionProfileId}) ${why}.`;
}
