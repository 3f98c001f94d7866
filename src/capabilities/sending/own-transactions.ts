import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";

/** Records which transactions the organizations themselves sent, by their hashes on chain. */

/** A transaction that an activity of the organization sent. */
export interface OwnSend {
  /** Whether the service paid its fee. */
  sponsored: boolean;
  activityFingerprint: string;
  /** Milliseconds. */
  submittedAt: number;
}

/** The owner of a transaction hash. */
export interface OwnTransaction {
  organizationId: string;
  caip2: string;
  transactionHash: string;
  activityId: string;
  isSponsored: boolean;
}

/**
 * Records a transaction's owner, in the database transaction that stores the activity or its signature. If several activities send the same
 * one, only the first is recorded. Resolves to whether this is the first.
 */
export async function noteOwner(tx: Transactor, { isSponsored, ...own }: OwnTransaction): Promise<boolean> {
  const noted = await insertOwn(tx, { ...own, sponsored: isSponsored ? 1 : 0 });
  return noted.length > 0;
}

/** Whether an activity of the organization sent a transaction. */
export async function isOwnSend(
  read: Reader,
  own: Pick<OwnTransaction, "organizationId" | "caip2" | "transactionHash">,
): Promise<boolean> {
  return (await selectOwn(read, { ...own })).length > 0;
}

const selectOwn = prepared<Pick<OwnTransaction, "organizationId" | "caip2" | "transactionHash">>()((db, own) =>
  db
    .selectFrom("own_transactions")
    .select("activity_id")
    .where("organization_id", "=", own.organizationId)
    .where("caip2", "=", own.caip2)
    .where("transaction_hash", "=", own.transactionHash),
);

const insertOwn = preparedWrite<Omit<OwnTransaction, "isSponsored"> & { sponsored: number }>()((db, row) =>
  db
    .insertInto("own_transactions")
    .values({
      organization_id: row.organizationId,
      caip2: row.caip2,
      transaction_hash: row.transactionHash,
      activity_id: row.activityId,
      sponsored: row.sponsored,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("activity_id"),
);

/** Which of these transactions the organization itself sent, by their hashes. */
export async function findOwnSends(
  read: Reader,
  organizationId: string,
  caip2: string,
  transactionHashes: readonly string[],
): Promise<Map<string, OwnSend>> {
  if (transactionHashes.length === 0) return new Map();
  const rows = await read
    .selectFrom("own_transactions as s")
    // When an activity is archived, both columns are copied to the row itself.
    .leftJoin("activities as a", (join) =>
      join.onRef("a.organization_id", "=", "s.organization_id").onRef("a.id", "=", "s.activity_id"),
    )
    .select((row) => [
      "s.transaction_hash",
      "s.sponsored",
      row.fn.coalesce("a.fingerprint", "s.fingerprint").$castTo<string>().as("fingerprint"),
      row.fn.coalesce("a.created_at", "s.submitted_at").$castTo<number>().as("created_at"),
    ])
    .where("s.organization_id", "=", organizationId)
    .where("s.caip2", "=", caip2)
    .where("s.transaction_hash", "in", [...transactionHashes])
    .execute();
  return new Map(
    rows.map((row) => [
      row.transaction_hash,
      { sponsored: row.sponsored === 1, activityFingerprint: row.fingerprint, submittedAt: row.created_at },
    ]),
  );
}
