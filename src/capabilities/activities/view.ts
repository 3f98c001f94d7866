import { type ActivityRecord, type VoteRecord, viewActivity } from "../../engine/activities.ts";
import { couldCount } from "../../engine/authorize.ts";
import type { QueryContext } from "../../engine/declare.ts";

/** The activity as the caller of a query sees it. */
export async function viewFor(
  { read, organization, actor, now }: QueryContext<unknown>,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
): Promise<never> {
  const viewer = { actor, mayVote: couldCount(organization, actor), now };
  // The wire rules give the times the form that the response schema states.
  return (await viewActivity(read, activity, votes, viewer)) as never;
}
