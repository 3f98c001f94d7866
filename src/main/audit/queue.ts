import { sql } from "kysely";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { laterInsert, prepared, preparedWrite } from "../../storage/prepared.ts";
import type { SinkName } from "./settings.ts";

/**
 * Lines that wait for a sink: a row for each, stored in the transaction of what it tells, and deleted once the sink has it. What is
 * there is what the sink does not have, so that a transaction that commits late is passed over by nobody.
 */

/** They are looked for after the commit alone, so all lines of a transaction may be written together, in their order. */
const newLines = laterInsert("audit_lines", {
  sink: "text",
  organization_id: "text",
  line: "text",
  created_at: "integer",
});

export const addLine = (
  tx: Transactor,
  { sink, organizationId, line, now }: { sink: SinkName; organizationId: string; line: string; now: number },
): Promise<unknown> => tx.later(newLines, { sink, organization_id: organizationId, line, created_at: now });

/** In the order in which they go to the sink. */
export const nextLines = prepared<{ sink: SinkName; limit: number }>()((db, { sink, limit }) =>
  db
    .selectFrom("audit_lines")
    .select(["seq", "line", "created_at"])
    .where("sink", "=", sink)
    .orderBy("seq")
    .limit(limit),
);

/** How many wait, counted up to the limit, and since when the first of them does. */
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
 * Those alone that were read. PostgreSQL may have committed rows with numbers between theirs since; SQLite, which writes one transaction after
 * the other, has numbered later ones above all that are still there.
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
 * Has a server take lines to a sink until a time, in milliseconds; false where another one does. One server at a time does,
 * so that an organization's lines come in their order.
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
