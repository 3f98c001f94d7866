import { maskedActivity } from "../../engine/activities/masks.ts";
import type { ActivityRecord, VoteRecord } from "../../engine/activities/rows.ts";
import { viewActivityAs } from "../../engine/activities/view.ts";
import type { Electorate } from "../../engine/decisions/electorate.ts";
import { factsOfStored, proposalOf } from "../../engine/decisions/facts.ts";
import type { QueryContext } from "../../engine/declare.ts";

/** The activity as the caller of a query sees it. `electorate` is shared by the activities of one response. */
export async function viewFor(
  { read, organization, actor, now, registry, budget }: QueryContext<unknown, "registry">,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
  electorate: Electorate,
): Promise<never> {
  const view = await viewActivityAs(read, activity, votes, { actor, budget, now }, async () =>
    factsOfStored(read, proposalOf(registry, activity, organization, now, electorate), activity, votes),
  );
  // The wire rules convert the times to the form that the response schema declares.
  return maskedActivity(view) as never;
}
