import type { Compilable } from "kysely";
import { ALL, type PartKind, type Parts } from "../../../authority/state.ts";
import type { Reader } from "../../../storage/engine.ts";
import { prepared } from "../../../storage/prepared.ts";
import { oldestFirst } from "../../paging.ts";

/** Loads parts of one kind. A part missing from the result has the value `absent`. */
export interface PartLoader<Kind extends PartKind> {
  absent: Parts[Kind];
  load: Load<Parts[Kind]>;
}

/** Loaders by kind of part. Each file of this folder has some of them; `load.ts` combines all. */
export type Loaders = { readonly [Kind in PartKind]: PartLoader<Kind> };

type Load<Part> = (read: Reader, organizationId: string, ids: readonly string[]) => Promise<Map<string, Part>>;

type Select<Row> = (
  db: Pick<Reader, "selectFrom">,
  organizationId: string,
  ids: readonly string[],
) => Compilable<Row> & { execute(): Promise<Row[]> };

/**
 * A loader with one statement. A single part is by far the most common case, so the statement for it is prepared once. `soughtBy` converts a
 * part's id into the value in the table.
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

/** A loader of the number of an organization's rows in a table. */
export function countOf(table: "users" | "private_keys" | "wallets" | "secrets") {
  return {
    absent: 0,
    load: byStatement(
      (db, organizationId: string) =>
        db
          // All these tables have the columns used here; the cast picks one for the compiler.
          .selectFrom(table as "users")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("organization_id", "=", organizationId),
      (rows) => new Map(rows.map(({ count }) => [ALL, count])),
    ),
  };
}

/** Converts all rows into the only part of a kind. */
export function whole<Row, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => new Map([[ALL, rows.map(shown)]]);
}

/** Converts each row into a part, by its id. */
export function byId<Row extends { id: string }, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value> => new Map(rows.map((row) => [row.id, shown(row)]));
}

/** Groups rows into parts by user, in the order of the rows. */
export function byUserInOrder<Row extends { user_id: string }, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => {
    const groups = Map.groupBy(rows, ({ user_id }) => user_id);
    return new Map([...groups].map(([userId, own]) => [userId, own.map(shown)]));
  };
}

/** Groups rows into parts by user, oldest first. */
export function byUser<Row extends { user_id: string; created_at: number; id: string }, Value>(
  shown: (row: Row) => Value,
) {
  const inOrder = byUserInOrder(shown);
  return (rows: readonly Row[]): Map<string, Value[]> => inOrder([...rows].sort(oldestFirst));
}
