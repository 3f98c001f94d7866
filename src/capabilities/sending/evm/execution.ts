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

/** What an account signs inside a transaction: an authorization of code, and calls that another account pays for. */

/**
 * The last nonce at the station that a block used, for each account, and when that was found. The next node to answer may not have that block
 * yet; calls signed with its outdated nonce would revert at the payer's cost. Kept only in this process, because nodes are not behind for
 * long.
 */
const executed = new WeakMap<EvmNodes, RecentlyUsed<{ nonce: bigint; at: number }>>();

const nameOf = ({ caip2, account }: { caip2: EvmChain; account: string }): string => `${caip2} ${account}`;

/** Notes that a block includes an account's calls, which used this nonce at the station. */
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

/** Whether a node that reports this nonce does not know the account's last calls yet. */
function isBehind(evm: EvmNodes, of: { caip2: EvmChain; account: string }, nonce: bigint, now: number): boolean {
  const last = executed.get(evm)?.get(nameOf(of));
  return last !== undefined && nonce <= last.nonce && now - last.at < NODE_BEHIND_MS;
}

/** Further values that are signed besides the transaction's nonce and fees. They stay the same when it is signed again with other fees. */
export interface Inner {
  /** The nonce of the account that the authorization uses. */
  authorizationNonce?: number;
  /** The account's nonce at the gas station, in digits. */
  stationNonce?: string;
}

/** A nonce of an account that a transaction uses in addition to its own. */
export type AlsoTaken = Followed & { nonce: number };

/** Whether a transaction can be signed: not yet; not before the gas station is deployed; never; or now. */
export type Turn =
  /** `isBehindGap`: it waits for a gap of nonces, which later transactions of the account may fill first. */
  | { is: "later"; isBehindGap?: boolean }
  | { is: "without station"; station: string }
  | { is: "over"; error: { message: string } }
  | { is: "now"; inner: Inner; alsoTaken: AlsoTaken[]; isStillNow?: StillNow };

/**
 * Checks again, in the database transaction that stores the signature, whether the transaction can be signed. An account's own transactions
 * and its sponsored calls are signed in different lanes, so both may be signed at the same time.
 */
export type StillNow = (tx: Transactor) => Promise<boolean>;

/**
 * How long sponsored calls may wait until they are signed, and then how long they may take until they are executed, unless the caller names a
 * deadline; in seconds.
 */
export const EXECUTION_LIFETIME_S = 3600n;

const LATER = { is: "later" } as const;
const over = (message: string): Turn => ({ is: "over", error: { message } });

/** The state of an account's nonces when a transaction is to be signed. */
export interface Nonces {
  /** The number of its transactions in blocks, and including waiting ones. */
  count: number;
  pending: number;
  taken: ReadonlyMap<number, string>;
  /** Those that authorizations in flight use. */
  authorized: ReadonlySet<number>;
}

/**
 * Whether a transaction that its account pays for can be signed. It may not get a nonce beyond one that an authorization in flight is to use: if
 * the authorization's transaction is displaced by one from elsewhere, nothing would ever fill the gap.
 */
export async function turnToSend(
  { read, evm }: { read: Reader; evm: EvmNodes },
  { plan, nonce }: { plan: Plan; nonce: number },
  followed: Followed,
  nonces: Nonces,
): Promise<Turn> {
  const { authorize, calls, caip2 } = plan;
  // A batch whose code is not deployed would succeed without doing anything.
  if (authorize !== undefined && calls && !(await isThere(evm, caip2, authorize))) {
    return { is: "without station", station: authorize };
  }
  if (authorize !== undefined) return turnToAuthorize(read, nonce, followed, nonces);
  const { count, taken, authorized } = nonces;
  if ([...authorized].some((each) => each >= count && each < nonce)) return LATER;
  const isStillNow = async (tx: Transactor) =>
    [...(await takenNonces(tx, followed))].every(([each, id]) => taken.get(each) === id);
  // Only this lane takes nonces of the sponsor's account, so there is nothing to check again.
  const isOurs = followed.organizationId === INSTALLATION;
  return { is: "now", inner: {}, alsoTaken: [], ...(isOurs ? {} : { isStillNow }) };
}

const isThere = async (evm: EvmNodes, caip2: EvmChain, contract: string): Promise<boolean> =>
  (await codeAt(evm, caip2, contract)) !== "0x";

/** The nonces of an account that authorizations in flight will use, no matter who pays. */
export async function authorizedNonces(read: Reader, { organizationId, caip2, from }: Followed): Promise<Set<number>> {
  const open = await findOpenSends(read, organizationId, caip2);
  const also = open.flatMap(
    ({ progress }) => (progress as { signed?: { alsoTaken?: AlsoTaken[] } }).signed?.alsoTaken ?? [],
  );
  return new Set(also.filter((other) => other.from === from).map(({ nonce }) => nonce));
}

/**
 * Whether a transaction that authorizes code for its own account can be signed. The authorization uses the nonce after the transaction's own,
 * so nothing else of the account may be in flight, no matter who pays.
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
  // Storing sponsored calls of the account locks this lane too, so this check is reliable in the transaction that stores the signature.
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

/** Whether sponsored calls of the account are in flight, which need its current code. */
async function hasSponsoredOnTheWay(read: Reader, { organizationId, caip2, from }: Followed): Promise<boolean> {
  const open = await findOpenSends(read, organizationId, caip2);
  return open.some(({ isSponsored, progress }) => isSponsored && isSignedFor(progress, from));
}

const isSignedFor = (progress: unknown, account: string): boolean => {
  const { account: of, signed } = progress as { account?: string; signed?: object };
  return of === account && signed !== undefined;
};

/**
 * Whether an account's sponsored calls can be signed. Each account has only one such transaction in flight, because the station's nonces are
 * sequential. An account with other code, or none, authorizes the station's code once nothing of its own is in flight.
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
  // A transaction in flight may remove the code.
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
