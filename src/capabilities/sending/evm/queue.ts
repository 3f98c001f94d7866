import type { EvmChain } from "../../../chains/evm/networks.ts";
import { enqueue, isQueued } from "../../../engine/jobs/jobs.ts";
import { HOUR_MS } from "../../../kernel/durations.ts";
import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader, Transactor } from "../../../storage/engine.ts";

/** The job kinds that follow transactions of an account; `follow.ts` and `settle.ts` declare them. */
export const FOLLOW_EVM_SENDS = "follow_evm_sends";
export const SETTLE_EVM_SEND = "settle_evm_send";

export interface Followed {
  /** The account's organization; INSTALLATION for the sponsor's account. */
  organizationId: string;
  caip2: EvmChain;
  /** The account's address; lowercase. */
  from: string;
}

/** How long to wait for a transaction to settle; on a chain that produces no further blocks it never does. */
export const LONGEST_SETTLING_MS = HOUR_MS;

/** An account's transactions are signed and followed in one round at a time, which serves as the lock on its nonces. */
export const laneOf = ({ caip2, organizationId, from }: Followed): string => `sends:${caip2}:${organizationId}:${from}`;

/** Queues the job that signs and follows an account's transactions, to run now. One job handles all of them. */
export function enqueueFollowing(tx: Transactor, followed: Followed, now: number): Promise<void> {
  const { caip2, from } = followed;
  const organizationId = followed.organizationId === INSTALLATION ? null : followed.organizationId;
  const lane = laneOf(followed);
  const payload = { organizationId: followed.organizationId, caip2, from };
  const gate = `sends:${caip2}`;
  return enqueue(tx, { kind: FOLLOW_EVM_SENDS, payload, lane, gate, organizationId, runAt: now, now, key: lane });
}

/**
 * Queues the job that looks for a transaction in blocks until nothing can change its outcome any more: one in a block, until the block can no
 * longer be reorganized, and one that nodes rejected or whose fate a restore has lost, as long as it is looked for.
 */
export function enqueueSettling(
  tx: Transactor,
  { organizationId, caip2, id }: { organizationId: string; caip2: string; id: string },
  runAt: number,
  now: number,
): Promise<void> {
  const lane = `settles:${caip2}:${organizationId}`;
  const payload = { organizationId, id, until: now + LONGEST_SETTLING_MS };
  const gate = `settles:${caip2}`;
  return enqueue(tx, { kind: SETTLE_EVM_SEND, payload, lane, gate, organizationId, runAt, now, key: settlingKey(id) });
}

/** Whether that job is still at work on a transaction that has ended. */
export const isSettling = (read: Reader, id: string): Promise<boolean> => isQueued(read, settlingKey(id));

const settlingKey = (id: string): string => `settle:${id}`;
