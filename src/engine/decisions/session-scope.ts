import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { rootIdOf } from "../identity/organizations.ts";
import type { Actor } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import type { DecisionFacts } from "./facts.ts";
import { evaluateCondition } from "./policies.ts";

/** A session that was issued with a profile may do what the profile's scope allows, of what its user may do. */

const selectScope = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("session_profiles")
    .select(["name", "scope"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", id),
);

/**
 * Why the session behind the request may not do this, or undefined if it may or is not limited. A scope that cannot be
 * evaluated allows nothing.
 */
export async function sessionScopeProblem(
  read: Reader,
  facts: DecisionFacts,
  { credential }: Actor,
  budget: DecisionBudget,
): Promise<string | undefined> {
  const { sessionProfileId } = credential;
  if (sessionProfileId === undefined) return undefined;
  // Profiles belong to parents.
  const [profile] = await selectScope(read, { organizationId: rootIdOf(facts.organization), id: sessionProfileId });
  if (!profile) return `The session's profile ${sessionProfileId} does not exist.`;
  const allowed = await evaluateCondition(read, facts, profile.scope, budget);
  if (allowed === true) return undefined;
  const why = allowed === false ? "does not allow this" : `cannot be evaluated here: ${allowed.description}`;
  return `The scope of the session's profile ${profile.name} (${sessionProfileId}) ${why}.`;
}
