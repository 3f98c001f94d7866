import { type ActivityRecord, type VoteRecord, viewActivity } from "../../engine/activities.ts";
import type { QueryContext } from "../../engine/declare.ts";

/** The activity as the caller of a query sees it. */
export async function viewFor(
  { read, actor, now, mayVote }: QueryContext<unknown>,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
): Promise<never> {
  const viewer = { actor, mayVote: await mayVote(activity, votes), now };
  // The wire rules give the times the form that the response schema states.
  return (await viewActivity(read, activity, votes, viewer)) as never;
}
