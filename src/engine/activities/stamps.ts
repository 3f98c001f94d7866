import type { RecordedEvaluation } from "../../authority/decisions/facts.ts";
import type { ShownCredential } from "../../authority/parties.ts";
import type { Reader } from "../../storage/engine.ts";
import type { LoadableFacts } from "../decisions/facts.ts";
import { nameOfCredential } from "../identity/shown-credentials.ts";
import { type ActivityRecord, findFurtherStamps, findVotes, isLive, type VoteRecord } from "./rows.ts";

/** The stamps on which an activity is carried out. */

/** An activity that is about to be carried out. */
export interface Execution {
  record: ActivityRecord;
  isNew: boolean;
  facts: LoadableFacts;
  evaluations: readonly RecordedEvaluation[];
  /** The stamp of the request that causes it to be carried out. */
  stamp: CastStamp;
}

/** A stamp as stored with a vote or as a further stamp, and as sent to the signer. */
export type CastStamp = Pick<
  VoteRecord,
  "userId" | "publicKey" | "scheme" | "message" | "signature" | "assertion" | "credential"
>;

/** All stamps of users who approve: those of votes first, then those of further credentials, the newest last. */
export async function approvingStamps(read: Reader, { record, isNew, facts, stamp }: Execution): Promise<CastStamp[]> {
  const nameOf = (userId: string, credential: ShownCredential) => `${userId} ${nameOfCredential(credential)}`;
  const counted = new Set(
    facts.approvals.flatMap(({ actor, credentials }) => credentials.map((each) => nameOf(actor.userId, each))),
  );
  const stamps = new Map<string, CastStamp>();
  for (const one of [...(isNew ? [] : await storedStamps(read, record, facts.now)), stamp]) {
    const name = nameOf(one.userId, { ...one.credential, publicKey: one.publicKey });
    if (counted.has(name)) stamps.set(name, one);
  }
  return [...stamps.values()];
}

/** Like `approvingStamps`, for a stored activity as of `now`. */
export async function storedStamps(read: Reader, record: ActivityRecord, now: number): Promise<CastStamp[]> {
  const votes = await findVotes(read, record);
  const further = await findFurtherStamps(read, record);
  return [
    ...votes.filter((vote) => vote.selection === "VOTE_SELECTION_APPROVED" && isLive(vote, now)),
    ...further.filter((stamp) => isLive(stamp, now)),
  ];
}
