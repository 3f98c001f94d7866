import { sql } from "kysely";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { laterInsert, prepared, preparedWrite } from "../../storage/prepared.ts";
import type { SinkName } from "./settings.ts";

/**
 * The queue of lines for a sink. Each line is a row, stored in the transaction that it reports, and deleted once the sink has it. The table
 * therefore contains exactly the undelivered lines, and lines of a transaction that commits late cannot be missed.
 */

/** Nobody reads them before the commit, so all lines of a transaction can be written together, in order, at its end. */
const newLines = laterInsert("audit_lines", {
  sink: "text",
  organization_id: "text",
  line: "text",
  created_at: "integer",
});

export interface QueuedLine {
  sink: SinkName;
  organizationId: string;
  line: string;
  /** In milliseconds. */
  now: number;
}

export const addLine = (tx: Transactor, { sink, organizationId, line, now }: QueuedLine): Promise<unknown> =>
  tx.later(newLines, { sink, organization_id: organizationId, line, created_at: now });

/** The next lines, in the order of delivery. */
export const nextLines = prepared<{ sink: SinkName; limit: number }>()((db, { sink, limit }) =>
  db
    .selectFrom("audit_lines")
    .select(["seq", "line", "created_at"])
    .where("sink", "=", sink)
    .orderBy("seq")
    .limit(limit),
);

/** The number of waiting lines, up to the limit, and the time of the first. */
export async function countLines(
  read: Reader,
  sink: SinkName,
  limit: number,
): Promise<{ count: number; oldest: number | undefined }> {
  const [[counted], [first]] = await Promise.all([
    selectCount(read, { sink, limit }),
    nextLines(read, { sink, limit: 1 }),
  ]);
  return { count: counted?.count ?? 0, oldest: first?.created_at };
}

const selectCount = prepared<{ sink: SinkName; limit: number }>()((db, { sink, limit }) =>
  db
    .selectFrom(db.selectFrom("audit_lines").select("seq").where("sink", "=", sink).limit(limit).as("counted"))
    .select((count) => count.fn.countAll<number>().as("count")),
);

/**
 * Deletes exactly the lines that were read. On PostgreSQL, rows with numbers in between may have been committed since. SQLite runs one write
 * transaction at a time, so later rows always have higher numbers than all existing ones.
 */
export async function removeLines(tx: Transactor, sink: SinkName, seqs: readonly number[]): Promise<void> {
  if (tx.kind === "sqlite") await deleteUpTo(tx, { sink, last: Math.max(...seqs) });
  else await deleteEach(tx, { sink, seqs: `{${seqs.join(",")}}` });
}

const deleteUpTo = preparedWrite<{ sink: SinkName; last: number }>()((db, { sink, last }) =>
  db.deleteFrom("audit_lines").where("sink", "=", sink).where("seq", "<=", last),
);
const deleteEach = preparedWrite<{ sink: SinkName; seqs: string }>()((db, { sink, seqs }) =>
  db.deleteFrom("audit_lines").where("sink", "=", sink).where(sql<boolean>`seq = any(${seqs}::bigint[])`),
);

/**
 * Gives a server the lease on a sink until a time, in milliseconds; false if another server holds it. Only one server at a time delivers, so
 * that an organization's lines stay in order.
 */
export async function leaseSink(
  tx: Transactor,
  lease: { sink: SinkName; owner: string; until: number; now: number },
): Promise<boolean> {
  const rows = await upsertLease(tx, lease);
  return rows.length > 0;
}

const upsertLease = preparedWrite<{ sink: SinkName; owner: string; until: number; now: number }>()(
  (db, { sink, owner, until, now }) =>
    db
      .insertInto("audit_sinks")
      .values({ name: sink, owner, leased_until: until })
      .onConflict((conflict) =>
        conflict
          .column("name")
          .doUpdateSet((set) => ({ owner: set.ref("excluded.owner"), leased_until: set.ref("excluded.leased_until") }))
          .where((where) =>
            where.or([where("audit_sinks.owner", "=", owner), where("audit_sinks.leased_until", "<=", now)]),
          ),
      )
      .returning("name"),
);
