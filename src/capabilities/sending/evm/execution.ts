import { delegateIn, NONCE_SLOT } from "../../../chains/evm/gas-station.ts";
import type { EvmChain } from "../../../chains/evm/networks.ts";
import { MAX_REMEMBERED_EXECUTIONS, NODE_BEHIND_MS } from "../../../kernel/limits.ts";
import { type RecentlyUsed, recentlyUsed } from "../../../kernel/recently-used.ts";
import { transactionCount } from "../../../nodes/evm-calls.ts";
import { codeAt, storageAt } from "../../../nodes/evm-state.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader, Transactor } from "../../../storage/engine.ts";
import { findOpenSends, type SentTransaction } from "../store.ts";
import { hasGap, takenNonces } from "./nonces.ts";
import { type Followed, laneOf } from "./queue.ts";
import type { Plan } from "./transaction.ts";

/** What an account signs inside a transaction: an authorization of code, and calls that another pays for. */

/**
 * Of accounts, the station's nonces that blocks had last, and when that was found. Of several nodes the one that is asked next may not have
 * that block yet, and what is signed by its word reverts at the cost of who pays. In this process alone: nodes are not behind for long.
 */
const executed = new WeakMap<EvmNodes, RecentlyUsed<{ nonce: bigint; at: number }>>();

const nameOf = ({ caip2, account }: { caip2: EvmChain; account: string }): string => `${caip2} ${account}`;

/** Notes that a block has an account's calls, which used up this nonce of the station's. */
export function noteExecuted(
  evm: EvmNodes,
  of: { caip2: EvmChain; account: string },
  nonce: bigint,
  now: number,
): void {
  const ofNodes =
    executed.get(evm) ?? recentlyUsed<{ nonce: bigint; at: number }>({ entries: MAX_REMEMBERED_EXECUTIONS });
  executed.set(evm, ofNodes);
  ofNodes.set(nameOf(of), { nonce, at: now });
}

/** Whether a node that says so does not have the account's last calls yet. */
function isBehind(evm: EvmNodes, of: { caip2: EvmChain; account: string }, nonce: bigint, now: number): boolean {
  const last = executed.get(evm)?.get(nameOf(of));
  return last !== undefined && nonce <= last.nonce && now - last.at < NODE_BEHIND_MS;
}

/** What is in the signature beside the transaction's own nonce and fees; the same where it is signed again with another fee. */
export interface Inner {
  /** Of the authorization: the account's own nonce after it is the next one. */
  authorizationNonce?: number;
  /** Digits: the gas station's nonce of the account. */
  stationNonce?: string;
}

/** A nonce of an account that a transaction uses up beside its own. */
export type AlsoTaken = Followed & { nonce: number };

/** It is another one's turn; what it needs is to be put there first; it can never be sent; or it can be signed now. */
export type Turn =
  /** `isBehindGap`: what others of the account fill first, so that they may go before it. */
  | { is: "later"; isBehindGap?: boolean }
  | { is: "without station"; station: string }
  | { is: "over"; error: { message: string } }
  | { is: "now"; inner: Inner; alsoTaken: AlsoTaken[]; isStillNow?: StillNow };

/**
 * Whether it is its turn even in the transaction that stores the signature. An account's own transactions and calls that the sponsor pays
 * for are signed in different lanes, and each may have been while the other was.
 */
export type StillNow = (tx: Transactor) => Promise<boolean>;

/**
 * How long calls that another pays for wait for their turn, and from then on may take to be executed, unless their caller says; in
 * seconds.
 */
export const EXECUTION_LIFETIME_S = 3600n;

const LATER = { is: "later" } as const;
const over = (message: string): Turn => ({ is: "over", error: { message } });

/** How an account's nonces are used as a transaction is to be signed. */
export interface Nonces {
  /** Its transactions in blocks, and with those that wait. */
  count: number;
  pending: number;
  taken: ReadonlyMap<number, string>;
  /** Of those, what authorizations on their way use up. */
  authorized: ReadonlySet<number>;
}

/**
 * Whether a transaction that its account pays for can be signed. None goes beyond a nonce that an authorization on its way is to use up:
 * where a stranger takes that authorization's place, nothing would ever fill the gap.
 */
export async function turnToSend(
  { read, evm }: { read: Reader; evm: EvmNodes },
  { plan, nonce }: { plan: Plan; nonce: number },
  followed: Followed,
  nonces: Nonces,
): Promise<Turn> {
  const { authorize, calls, caip2 } = plan;
  // A batch whose code is nowhere would do nothing, and succeed.
  if (authorize !== undefined && calls && !(await isThere(evm, caip2, authorize))) {
    return { is: "without station", station: authorize };
  }
  if (authorize !== undefined) return turnToAuthorize(read, nonce, followed, nonces);
  const { count, taken, authorized } = nonces;
  if ([...authorized].some((each) => each >= count && each < nonce)) return LATER;
  const isStillNow = async (tx: Transactor) =>
    [...(await takenNonces(tx, followed))].every(([each, id]) => taken.get(each) === id);
  // Nobody else takes nonces of the account that this installation pays from.
  const isOurs = followed.organizationId === INSTALLATION;
  return { is: "now", inner: {}, alsoTaken: [], ...(isOurs ? {} : { isStillNow }) };
}

const isThere = async (evm: EvmNodes, caip2: EvmChain, contract: string): Promise<boolean> =>
  (await codeAt(evm, caip2, contract)) !== "0x";

/** Nonces of an account that authorizations on their way are to use up, whoever pays for them. */
export async function authorizedNonces(read: Reader, { organizationId, caip2, from }: Followed): Promise<Set<number>> {
  const open = await findOpenSends(read, organizationId, caip2);
  const also = open.flatMap(
    ({ progress }) => (progress as { signed?: { alsoTaken?: AlsoTaken[] } }).signed?.alsoTaken ?? [],
  );
  return new Set(also.filter((other) => other.from === from).map(({ nonce }) => nonce));
}

/**
 * Whether a transaction that authorizes code for its own account can be signed. The authorization uses up the nonce after its own, so
 * nothing else of the account may be on its way, whoever pays for it.
 */
async function turnToAuthorize(
  read: Reader,
  nonce: number,
  followed: Followed,
  { count, pending, taken }: Nonces,
): Promise<Turn> {
  if (pending !== count || [...taken.keys()].some((each) => each >= count)) {
    return { is: "later", isBehindGap: hasGap(pending, taken) };
  }
  // Whoever stores calls of the account that the sponsor pays for holds the lane in which this is stored.
  const isStillNow = async (reader: Reader) => !(await hasSponsoredOnTheWay(reader, followed));
  if (!(await isStillNow(read))) return LATER;
  const authorizationNonce = nonce + 1;
  return {
    is: "now",
    inner: { authorizationNonce },
    alsoTaken: [{ ...followed, nonce: authorizationNonce }],
    isStillNow,
  };
}

/** Calls that the sponsor has on their way need the code that is there. */
async function hasSponsoredOnTheWay(read: Reader, { organizationId, caip2, from }: Followed): Promise<boolean> {
  const open = await findOpenSends(read, organizationId, caip2);
  return open.some(({ isSponsored, progress }) => isSponsored && isSignedFor(progress, from));
}

const isSignedFor = (progress: unknown, account: string): boolean => {
  const { account: of, signed } = progress as { account?: string; signed?: object };
  return of === account && signed !== undefined;
};

/**
 * Whether an account's calls can be signed that the sponsor pays for: one transaction after the other of each account, as the station's
 * nonces follow each other. An account that runs other code, or none, authorizes the station's when nothing of its own is on its way.
 */
export async function turnToExecute(
  { read, evm, clock }: { read: Reader; evm: EvmNodes; clock: () => number },
  { organizationId, caip2, createdAt }: Pick<SentTransaction, "organizationId" | "createdAt"> & { caip2: EvmChain },
  { to: station, execution }: Plan & { execution: NonNullable<Plan["execution"]> },
): Promise<Turn> {
  const { account, deadline, nonce } = execution;
  const now = BigInt(clock());
  if (deadline === undefined && BigInt(createdAt) + EXECUTION_LIFETIME_S * 1000n <= now) {
    return over("its turn did not come within an hour; the account may have other transactions on their way");
  }
  if (deadline !== undefined && BigInt(deadline) * 1000n <= now) return over("the deadline has passed");
  if (!(await isThere(evm, caip2, station))) return { is: "without station", station };
  const next = await storageAt(evm, caip2, account, NONCE_SLOT);
  if (isBehind(evm, { caip2, account }, next, clock())) return LATER;
  const stationNonce = String(next);
  if (nonce !== undefined && nonce !== stationNonce) {
    return over(`the gas station nonce is ${nonce}, and the account's next is ${stationNonce}`);
  }
  const own: Followed = { organizationId, caip2, from: account };
  const taken = await takenNonces(read, own);
  const authorizationNonce = await transactionCount(evm, caip2, account, "latest");
  // What is on its way may be what takes the code away.
  const isFree = (nonces: ReadonlyMap<number, string>) => [...nonces.keys()].every((each) => each < authorizationNonce);
  if (!isFree(taken)) return LATER;
  const isStillNow = async (tx: Transactor) => {
    await tx.lock(laneOf(own));
    return isFree(await takenNonces(tx, own));
  };
  if (delegateIn(await codeAt(evm, caip2, account)) === station) {
    return { is: "now", inner: { stationNonce }, alsoTaken: [], isStillNow };
  }
  if ((await transactionCount(evm, caip2, account, "pending")) !== authorizationNonce) return LATER;
  return {
    is: "now",
    inner: { stationNonce, authorizationNonce },
    alsoTaken: [{ ...own, nonce: authorizationNonce }],
    isStillNow,
  };
}
