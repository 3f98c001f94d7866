import type { SolanaChain } from "../../../chains/solana/networks.ts";
import { enqueue } from "../../../engine/jobs/jobs.ts";
import type { Transactor } from "../../../storage/engine.ts";

/** The job kind that follows an organization's transactions; `follow.ts` declares it. */
export const FOLLOW_SOLANA_SENDS = "follow_solana_sends";

export interface Followed {
  organizationId: string;
  caip2: SolanaChain;
}

/** Each organization's transactions on a cluster are followed separately, one round at a time. */
export const laneOf = ({ caip2, organizationId }: Followed): string => `sends:${caip2}:${organizationId}`;

/** Queues the job that follows an organization's transactions on a cluster, to run now. One job follows all of them. */
export function enqueueFollowing(tx: Transactor, followed: Followed, now: number): Promise<void> {
  const { organizationId, caip2 } = followed;
  const gate = `sends:${caip2}`;
  const lane = laneOf(followed);
  const payload = { organizationId, caip2 };
  return enqueue(tx, { kind: FOLLOW_SOLANA_SENDS, payload, lane, gate, organizationId, runAt: now, now, key: lane });
}
