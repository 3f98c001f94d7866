import type { ActivityRecord, VoteRecord } from "../../engine/activities/records.ts";
import { viewActivityAs } from "../../engine/activities/view.ts";
import type { Electorate } from "../../engine/decisions/electorate.ts";
import { factsOfStored, proposalOf } from "../../engine/decisions/facts.ts";
import type { QueryContext } from "../../engine/declare.ts";

/** The activity as the caller of a query sees it. `electorate` is shared by the activities of one answer. */
export async function viewFor(
  { read, organization, actor, now, registry, budget }: QueryContext<unknown, "registry">,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
  electorate: Electorate,
): Promise<never> {
  const view = await viewActivityAs({ actor, budget, now }, read, activity, votes, async () => {
    budget.spend(stepsToRead(activity));
    return factsOfStored(read, proposalOf(registry, activity, organization, now, electorate), votes);
  });
  // The wire rules give the times the form that the response schema states.
  return view as never;
}

/** What it is worth to make facts of an activity: what it is about may be a long transaction. */
function stepsToRead({ intent }: ActivityRecord): number {
  let characters = 0;
  for (const parameters of Object.values(intent)) {
    for (const value of Object.values(parameters as object)) {
      if (typeof value === "string") characters += value.length;
      else if (Array.isArray(value))
        for (const each of value) characters += typeof each === "string" ? each.length : 64;
    }
  }
  return 1000 + (characters >> 2);
}
