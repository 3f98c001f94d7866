import { sql } from "kysely";
import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/durations.ts";
import {
  COUNTED_ROWS_AT_ONCE,
  DAYS_COUNTED,
  ORGANIZATIONS_LOOKED_AT_AT_ONCE,
  SETTLED_ACTIVITY_MS,
} from "../../kernel/limits.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import type { Database } from "../../storage/database.ts";
import type { DatabaseKind, Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";

/**
 * Counts decided activities and webhook deliveries per day, a few seconds after they end, so that no request waits for the counting. New rows
 * are found by the time at which they ended. One transaction counts a piece and stores the time up to which everything is counted.
 */

export type Source = Schema["counted_sources"]["source"];

const TABLES = { ACTIVITY: "activities", DELIVERY: "webhook_deliveries" } as const;

/** An activity ends once in one of these; a pending one is counted when it ends. */
const DECIDED = ["ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_FAILED", "ACTIVITY_STATUS_REJECTED"];
/** A delivery that is sent again is counted again when it ends. */
const DELIVERED = ["DELIVERED", "FAILED", "CANCELLED"];

const COUNT_EVERY_MS = 10_000;
/** The pieces of one run. The bound keeps a large backlog, such as everything from before this feature, from holding up other jobs. */
const PIECES_AT_ONCE = 50;

export const countByDay = reconciler({
  name: "count_by_day",
  everyMs: COUNT_EVERY_MS,
  async run({ database, clock }) {
    const before = clock() - SETTLED_ACTIVITY_MS;
    let isOver = true;
    for (const source of ["ACTIVITY", "DELIVERY"] as const) {
      let pieces = 0;
      while (pieces < PIECES_AT_ONCE && (await countPiece(database, source, before))) pieces++;
      if (pieces === PIECES_AT_ONCE) isOver = false;
    }
    return isOver ? undefined : { next: { do: "retry", inMs: 0 } };
  },
});

export const pruneCounts = reconciler({
  name: "prune_counts",
  everyMs: HOUR_MS,
  async run({ database, clock }) {
    const before = dayOf(clock()) - DAYS_COUNTED;
    await deleteInPortions(database, (tx, limit) => deleteSomeDays(tx, before, limit));
    await deleteOfDeleted(database);
  },
});

export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** Resolves to whether there was anything to count. */
async function countPiece(database: Pick<Database, "read" | "transact">, source: Source, before: number) {
  const from = (await selectUntil(database.read, { source }))[0]?.counted_until ?? 0;
  const to = await endOfPiece(database.read, source, { from, before });
  if (to === undefined) return false;
  const since = Math.max(from, before - DAYS_COUNTED * DAY_MS);
  await database.transact(undefined, async (tx) => {
    // If another server has counted this piece meanwhile, `moveOn` returns no row.
    await insertSource(tx, { source });
    if ((await moveOn(tx, { source, from, to })).length === 0) return;
    await (source === "ACTIVITY" ? addActivities[tx.kind] : addDeliveries)(tx, { since, to });
  });
  return true;
}

/** The millisecond at which a piece of bounded size ends; undefined if there is nothing new. */
async function endOfPiece(
  read: Reader,
  source: Source,
  { from, before }: { from: number; before: number },
): Promise<number | undefined> {
  const last = await lastOfPiece[source](read, { from, before });
  const end = last[0]?.last;
  if (end === undefined || end === null) return undefined;
  // All rows of one millisecond belong to the same piece.
  return end + 1;
}

const selectUntil = prepared<{ source: Source }>()((db, { source }) =>
  db.selectFrom("counted_sources").select("counted_until").where("source", "=", source),
);

const selectLast = (table: (typeof TABLES)[Source]) =>
  prepared<{ from: number; before: number }>()((db, { from, before }) =>
    db
      .selectFrom((piece) =>
        piece
          .selectFrom(table)
          .select("updated_at")
          .where("updated_at", ">=", from)
          .where("updated_at", "<", before)
          .orderBy("updated_at")
          .limit(sql.lit(COUNTED_ROWS_AT_ONCE))
          .as("piece"),
      )
      .select((row) => row.fn.max("updated_at").as("last")),
  );

const lastOfPiece = { ACTIVITY: selectLast(TABLES.ACTIVITY), DELIVERY: selectLast(TABLES.DELIVERY) };

const insertSource = preparedWrite<{ source: Source }>()((db, { source }) =>
  db
    .insertInto("counted_sources")
    .values({ source, counted_until: 0 })
    .onConflict((conflict) => conflict.column("source").doNothing())
    .returning("source"),
);

const moveOn = preparedWrite<{ source: Source; from: number; to: number }>()((db, { source, from, to }) =>
  db
    .updateTable("counted_sources")
    .set({ counted_until: to })
    .where("source", "=", source)
    .where("counted_until", "=", from)
    .returning("source"),
);

interface Piece extends Record<string, unknown> {
  since: number;
  to: number;
}

const COLUMNS = ["organization_id", "day", "source", "type", "outcome", "detail", "count"] as const;
const dayThen = sql<number>`happened.updated_at / ${sql.lit(DAY_MS)}`;

/** The type of a signed transaction, read from the request body if that is still stored. */
const transactionType: Record<DatabaseKind, ReturnType<typeof sql<string>>> = {
  sqlite: sql`json_extract(happened.body, '$.parameters.type')`,
  postgres: sql`happened.body::json #>> '{parameters,type}'`,
};

const selectActivities = (kind: DatabaseKind) =>
  preparedWrite<Piece>()((db, { since, to }) =>
    db
      .insertInto("daily_counts")
      .columns([...COLUMNS])
      .expression((from) =>
        from
          .selectFrom("activities as happened")
          .innerJoin("organizations as o", "o.id", "happened.organization_id")
          .select([
            "happened.organization_id",
            dayThen.as("day"),
            sql.lit<Source>("ACTIVITY").as("source"),
            "happened.type",
            "happened.status",
            sql<string>`case when happened.type like 'ACTIVITY_TYPE_SIGN_TRANSACTION%' and happened.status = 'ACTIVITY_STATUS_COMPLETED'
              then coalesce(${transactionType[kind]}, '') else '' end`.as("detail"),
            (row) => row.fn.countAll<number>().as("count"),
          ])
          .where("happened.updated_at", ">=", since)
          .where("happened.updated_at", "<", to)
          .where("happened.status", "in", DECIDED)
          .where("o.deleted_at", "is", null)
          .groupBy(sql`1, 2, 4, 5, 6`),
      )
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "day", "source", "type", "outcome", "detail"]).doUpdateSet((row) => ({
          count: sql<number>`${row.ref("daily_counts.count")} + ${row.ref("excluded.count")}`,
        })),
      )
      .returning("day"),
  );

const addActivities = { sqlite: selectActivities("sqlite"), postgres: selectActivities("postgres") };

const addDeliveries = preparedWrite<Piece>()((db, { since, to }) =>
  db
    .insertInto("daily_counts")
    .columns([...COLUMNS])
    .expression((from) =>
      from
        .selectFrom("webhook_deliveries as happened")
        .innerJoin("organizations as o", "o.id", "happened.organization_id")
        .select([
          "happened.organization_id",
          dayThen.as("day"),
          sql.lit<Source>("DELIVERY").as("source"),
          sql.lit("").as("type"),
          "happened.status",
          sql.lit("").as("detail"),
          (row) => row.fn.countAll<number>().as("count"),
        ])
        .where("happened.updated_at", ">=", since)
        .where("happened.updated_at", "<", to)
        .where("happened.status", "in", DELIVERED as never)
        .where("o.deleted_at", "is", null)
        .groupBy(sql`1, 2, 5`),
    )
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "day", "source", "type", "outcome", "detail"]).doUpdateSet((row) => ({
        count: sql<number>`${row.ref("daily_counts.count")} + ${row.ref("excluded.count")}`,
      })),
    )
    .returning("day"),
);

async function deleteSomeDays(tx: Transactor, before: number, limit: number): Promise<number> {
  const old = await tx
    .selectFrom("daily_counts")
    .select(["organization_id", "day"])
    .distinct()
    .where("day", "<", before)
    .limit(limit)
    .execute();
  for (const { organization_id, day } of old) {
    await tx.deleteFrom("daily_counts").where("organization_id", "=", organization_id).where("day", "=", day).execute();
  }
  return old.length;
}

/**
 * Deletes the counts of organizations that were deleted while one of their pieces was being counted. They are searched for outside any
 * transaction and in bounded pages, however many organizations have been deleted.
 */
async function deleteOfDeleted(database: Pick<Database, "read" | "transact">): Promise<void> {
  for (let after: string | undefined = ""; after !== undefined; ) {
    const page: Looked[] = await selectLooked(database.read, { after });
    for (const { id } of page.filter(({ left_over }) => left_over === 1)) {
      await database.transact(undefined, (tx) =>
        tx.deleteFrom("daily_counts").where("organization_id", "=", id).execute(),
      );
    }
    after = page.length === ORGANIZATIONS_LOOKED_AT_AT_ONCE ? page.at(-1)?.id : undefined;
    await nextTurn();
  }
}

interface Looked {
  id: string;
  left_over: number;
}

const selectLooked = prepared<{ after: string }>()((db, { after }) =>
  db
    .selectFrom("organizations as o")
    .select([
      "o.id",
      sql<number>`case when o.deleted_at is not null and exists (select 1 from daily_counts as d where d.organization_id = o.id)
        then 1 else 0 end`.as("left_over"),
    ])
    .where("o.id", ">", after)
    .orderBy("o.id")
    .limit(sql.lit(ORGANIZATIONS_LOOKED_AT_AT_ONCE)),
);
