import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader, Transactor } from "../../../storage/engine.ts";
import { prepared, preparedWrite } from "../../../storage/prepared.ts";
import type { Followed } from "./queue.ts";

/**
 * The nonces of an account that are taken. Each has a row from the moment its signature is stored until a block that is deep enough includes
 * the nonce, or it is certain that nobody has the signature.
 */

/** A transaction with the state of its following job. */
interface Sent {
  id: string;
  progress: unknown;
}

/** The ids of transactions by the nonces that they hold. */
export async function takenNonces(
  read: Reader,
  { organizationId, caip2, from }: Followed,
): Promise<Map<number, string>> {
  const account = { organizationId, caip2, address: from };
  const rows = await (isOurs(account) ? selectOurNonces : selectNonces)(read, account);
  return new Map(rows.map(({ nonce, send_id }) => [nonce, send_id]));
}

/** Takes a nonce for a transaction; resolves to false if another holds it. */
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

/** Releases the nonces that a transaction holds: its own, and those of authorizations signed inside it. */
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
 * The nonce of the next transaction: the first from `pending` on that is not taken. `pending` is the account's count including waiting
 * transactions, so all nonces before it are used, by this server or by others. A gap starts at `pending`, so it is filled first.
 */
export function nextNonce(pending: number, taken: ReadonlyMap<number, string>): number {
  let nonce = pending;
  while (taken.has(nonce)) nonce++;
  return nonce;
}

/** The number of an account's transactions between these counts that this server did not send. */
export function strangersBetween(count: number, pending: number, taken: ReadonlyMap<number, string>): number {
  const ours = [...taken.keys()].filter((nonce) => nonce >= count && nonce < pending);
  return pending - count - ours.length;
}

/** Whether a taken nonce waits for an earlier one that no transaction has. */
export function hasGap(pending: number, taken: ReadonlyMap<number, string>): boolean {
  const next = nextNonce(pending, taken);
  return [...taken.keys()].some((nonce) => nonce > next);
}

type Account = { organizationId: string; caip2: string; address: string };

/** The sponsor's account belongs to no organization; its nonces are in a separate table. */
const isOurs = ({ organizationId }: Account): boolean => organizationId === INSTALLATION;

const selectNonces = prepared<Account>()((db, { organizationId, caip2, address }) =>
  db
    .selectFrom("send_nonces")
    .select(["nonce", "send_id"])
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address),
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
