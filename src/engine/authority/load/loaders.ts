import type { Compilable } from "kysely";
import { ALL, type PartKind, type Parts } from "../../../authority/state.ts";
import type { Reader } from "../../../storage/engine.ts";
import { prepared } from "../../../storage/prepared.ts";
import { oldestFirst } from "../../paging.ts";

/** Loads parts of one kind together; what is not there is left out of the answer, and then is `absent`. */
export interface PartLoader<Kind extends PartKind> {
  absent: Parts[Kind];
  load: Load<Parts[Kind]>;
}

/** By kind of part. A file of this folder has some of them, `load.ts` puts all of them together. */
export type Loaders = { readonly [Kind in PartKind]: PartLoader<Kind> };

type Load<Part> = (read: Reader, organizationId: string, ids: readonly string[]) => Promise<Map<string, Part>>;

type Select<Row> = (
  db: Pick<Reader, "selectFrom">,
  organizationId: string,
  ids: readonly string[],
) => Compilable<Row> & { execute(): Promise<Row[]> };

/**
 * Loads by one statement. What it looks for is nearly always one of a kind, so that statement is built once; `soughtBy` says
 * what stands in the table for the name of a part.
 */
export function byStatement<Row, Part>(
  select: Select<Row>,
  partsOf: (rows: readonly Row[]) => Map<string, Part>,
  soughtBy: (id: string) => string = (id) => id,
): Load<Part> {
  const selectOne = prepared<{ organizationId: string; id: string }>()(
    (db, { organizationId, id }): Compilable<Row> => select(db, organizationId, [id]),
  );
  return async (read, organizationId, ids) => {
    const sought = ids.map(soughtBy);
    const [id] = sought;
    const isOne = sought.length === 1 && id !== undefined;
    return partsOf(
      await (isOne ? selectOne(read, { organizationId, id }) : select(read, organizationId, sought).execute()),
    );
  };
}

/** How many rows of a table the organization has. */
export function countOf(table: "users" | "private_keys" | "wallets" | "secrets") {
  return {
    absent: 0,
    load: byStatement(
      (db, organizationId: string) =>
        db
          // One of several tables of one shape: what is asked of it is told by the type of the parameter.
          .selectFrom(table as "users")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("organization_id", "=", organizationId),
      (rows) => new Map(rows.map(({ count }) => [ALL, count])),
    ),
  };
}

/** Rows as the one part of a kind that is kept whole. */
export function whole<Row, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => new Map([[ALL, rows.map(shown)]]);
}

/** Rows as a part each, by their ids. */
export function byId<Row extends { id: string }, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value> => new Map(rows.map((row) => [row.id, shown(row)]));
}

/** What rows are about, by user, in the order of the rows. */
export function byUserInOrder<Row extends { user_id: string }, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => {
    const groups = Map.groupBy(rows, ({ user_id }) => user_id);
    return new Map([...groups].map(([userId, own]) => [userId, own.map(shown)]));
  };
}

/** The same, the oldest first. */
export function byUser<Row extends { user_id: string; created_at: number; id: string }, Value>(
  shown: (row: Row) => Value,
) {
  const inOrder = byUserInOrder(shown);
  return (rows: readonly Row[]): Map<string, Value[]> => inOrder([...rows].sort(oldestFirst));
}
