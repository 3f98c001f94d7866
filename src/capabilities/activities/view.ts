import { type ActivityRecord, isOpen, type VoteRecord } from "../../engine/activities/records.ts";
import { viewActivity } from "../../engine/activities/view.ts";
import { owesAuthenticators, voteRights } from "../../engine/decisions/authorize.ts";
import { factsOfStored, proposalOf } from "../../engine/decisions/facts.ts";
import type { QueryContext } from "../../engine/declare.ts";

/** The activity as the caller of a query sees it. */
export async function viewFor(
  { read, organization, actor, now, registry }: QueryContext<unknown, "registry">,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
): Promise<never> {
  if (!isOpen(activity)) return (await viewActivity(read, activity, votes, { actor, now })) as never;
  const facts = await factsOfStored(read, proposalOf(registry, activity, organization, now), votes);
  const rights = await voteRights(read, facts, actor);
  const owes = await owesAuthenticators(read, facts, actor);
  // The wire rules give the times the form that the response schema states.
  return (await viewActivity(read, activity, votes, { actor, rights, owes, now })) as never;
}
