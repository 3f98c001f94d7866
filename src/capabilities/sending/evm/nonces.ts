import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader, Transactor } from "../../../storage/engine.ts";
import { prepared, preparedWrite } from "../../../storage/prepared.ts";
import type { Followed } from "./queue.ts";

/**
 * Which nonces of an account are taken: one row each, from the transaction that stores the signature until a block deep down has the
 * nonce, or nobody can have the signature.
 */

/** A transaction with what is remembered of it. */
interface Sent {
  id: string;
  progress: unknown;
}

/** Whether a transaction has its nonce: one that a block has keeps it until nothing can take it out of there again. */
export async function hasNonce(
  read: Reader,
  { organizationId, caip2, from }: Followed,
  { id, progress }: Sent,
): Promise<boolean> {
  const { signed } = progress as { signed?: { nonce: number } };
  if (!signed) return false;
  const row = { organizationId, caip2, address: from, nonce: signed.nonce };
  const [holder] = await (isOurs(row) ? selectOurHolder : selectHolder)(read, row);
  return holder?.send_id === id;
}

/** By nonce, the id of the transaction that has it. */
export async function takenNonces(
  read: Reader,
  { organizationId, caip2, from }: Followed,
): Promise<Map<number, string>> {
  const account = { organizationId, caip2, address: from };
  const rows = await (isOurs(account) ? selectOurNonces : selectNonces)(read, account);
  return new Map(rows.map(({ nonce, send_id }) => [nonce, send_id]));
}

/** Takes a nonce for a transaction; resolves to false where another has it. */
export async function takeNonce(
  tx: Transactor,
  { organizationId, caip2, from }: Followed,
  nonce: number,
  sendId: string,
  now: number,
): Promise<boolean> {
  const row = { organizationId, caip2, address: from, nonce, sendId, now };
  const taken = await (isOurs(row) ? insertOurNonce : insertNonce)(tx, row);
  return taken.length > 0;
}

/** Gives back what a transaction has taken: its own nonce, and those of what is signed inside. */
export async function freeNonces(tx: Transactor, followed: Followed, { id, progress }: Sent) {
  const { signed } = progress as { signed?: { nonce: number; alsoTaken?: readonly (Followed & { nonce: number })[] } };
  if (!signed) return;
  await freeNonce(tx, followed, signed.nonce, id);
  for (const other of signed.alsoTaken ?? []) await freeNonce(tx, other, other.nonce, id);
}

async function freeNonce(
  tx: Transactor,
  { organizationId, caip2, from }: Followed,
  nonce: number,
  sendId: string,
): Promise<void> {
  const row = { organizationId, caip2, address: from, nonce, sendId };
  await (isOurs(row) ? deleteOurNonce : deleteNonce)(tx, row);
}

/**
 * The nonce of the next transaction: the first that is not taken, and not taken by a stranger either. What lies before `pending`, the
 * account's count with all that waits, is somebody's; a gap begins there, so that it is filled first.
 */
export function nextNonce(pending: number, taken: ReadonlyMap<number, string>): number {
  let nonce = pending;
  while (taken.has(nonce)) nonce++;
  return nonce;
}

/** How many transactions of an account there are between these counts that are none of ours. */
export function strangersBetween(count: number, pending: number, taken: ReadonlyMap<number, string>): number {
  const ours = [...taken.keys()].filter((nonce) => nonce >= count && nonce < pending);
  return pending - count - ours.length;
}

/** Whether a taken nonce waits for one before it that nobody has. */
export function hasGap(pending: number, taken: ReadonlyMap<number, string>): boolean {
  const next = nextNonce(pending, taken);
  return [...taken.keys()].some((nonce) => nonce > next);
}

type Account = { organizationId: string; caip2: string; address: string };

/** The account that this installation pays from belongs to no organization, and has its nonces apart. */
const isOurs = ({ organizationId }: Account): boolean => organizationId === INSTALLATION;

const selectNonces = prepared<Account>()((db, { organizationId, caip2, address }) =>
  db
    .selectFrom("send_nonces")
    .select(["nonce", "send_id"])
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address),
);

const selectHolder = prepared<Account & { nonce: number }>()((db, { organizationId, caip2, address, nonce }) =>
  db
    .selectFrom("send_nonces")
    .select("send_id")
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address)
    .where("nonce", "=", nonce),
);

const insertNonce = preparedWrite<Account & { nonce: number; sendId: string; now: number }>()((db, row) =>
  db
    .insertInto("send_nonces")
    .values({
      organization_id: row.organizationId,
      caip2: row.caip2,
      address: row.address,
      nonce: row.nonce,
      send_id: row.sendId,
      created_at: row.now,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "caip2", "address", "nonce"]).doNothing())
    .returning("send_id"),
);

const deleteNonce = preparedWrite<Account & { nonce: number; sendId: string }>()((db, row) =>
  db
    .deleteFrom("send_nonces")
    .where("organization_id", "=", row.organizationId)
    .where("caip2", "=", row.caip2)
    .where("address", "=", row.address)
    .where("nonce", "=", row.nonce)
    .where("send_id", "=", row.sendId)
    .returning("send_id"),
);

const selectOurNonces = prepared<Account>()((db, { caip2, address }) =>
  db
    .selectFrom("sponsor_nonces")
    .select(["nonce", "send_id"])
    .where("caip2", "=", caip2)
    .where("address", "=", address),
);

const selectOurHolder = prepared<Account & { nonce: number }>()((db, { caip2, address, nonce }) =>
  db
    .selectFrom("sponsor_nonces")
    .select("send_id")
    .where("caip2", "=", caip2)
    .where("address", "=", address)
    .where("nonce", "=", nonce),
);

const insertOurNonce = preparedWrite<Account & { nonce: number; sendId: string; now: number }>()((db, row) =>
  db
    .insertInto("sponsor_nonces")
    .values({ caip2: row.caip2, address: row.address, nonce: row.nonce, send_id: row.sendId, created_at: row.now })
    .onConflict((conflict) => conflict.columns(["caip2", "address", "nonce"]).doNothing())
    .returning("send_id"),
);

const deleteOurNonce = preparedWrite<Account & { nonce: number; sendId: string }>()((db, row) =>
  db
    .deleteFrom("sponsor_nonces")
    .where("caip2", "=", row.caip2)
    .where("address", "=", row.address)
    .where("nonce", "=", row.nonce)
    .where("send_id", "=", row.sendId)
    .returning("send_id"),
);
