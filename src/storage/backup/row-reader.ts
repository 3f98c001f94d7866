import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { bytesOf, keyOf, PORTION_BYTES, PORTION_ROWS, type Row, type Table, type Value } from "./rows.ts";
import { keyNamesOf, namesOf, postgresTypeOf, quoted } from "./tables.ts";

/** Reads rows in small batches, to use little memory and not to block others. */
export interface RowReader {
  all(sql: string): Promise<Row[]>;
  /** How many rows there are. */
  count(table: Table): Promise<number>;
  /** Rows in the order that is fastest, all from one transaction. */
  rowsOf(table: Table): AsyncGenerator<readonly Row[]>;
  /** Rows in the order of their keys as this database sorts them, in portions that are not read in one transaction. */
  portionsOf(table: Table): AsyncGenerator<readonly Row[]>;
  /** The rows with these keys, in the order of the keys, in portions; undefined for a key without a row. */
  find(table: Table, keys: readonly Row[]): AsyncGenerator<readonly (Row | undefined)[]>;
}

const selectionOf = (table: Table): string => `select ${namesOf(table.columns).join(", ")} from ${quoted(table.name)}`;

const ROWS_AT_ONCE = 256;
const COUNTED_AT_ONCE = 2000;
/** A batch ends with the row that reaches this size; a few rows of an organization may contain megabytes. */
const BATCH_BYTES = 256 * 1024;

/** Reads portions one after the other, each starting after the last key of the previous one. */
async function* portionsBy(
  table: Table,
  after: (key: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let rows = await after(undefined); rows.length > 0; rows = await after(keyOf(table, rows.at(-1) as Row))) {
    yield rows;
  }
}

/** Finds rows for all keys by repeatedly looking up as many of the first keys as make a portion. */
async function* foundBy(
  keys: readonly Row[],
  first: (keys: readonly Row[]) => Promise<readonly (Row | undefined)[]>,
): AsyncGenerator<readonly (Row | undefined)[]> {
  for (let at = 0; at < keys.length; ) {
    const found = await first(keys.slice(at, at + PORTION_ROWS));
    at += found.length;
    yield found;
  }
}

export function sqliteReader(database: DatabaseSync): RowReader {
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  return {
    all: async (sql) => prepare(sql).all(...([] as SQLInputValue[])) as unknown as Row[],
    async count({ name }) {
      const portion = prepare(
        `select count(*), max(id) from (select rowid as id from ${quoted(name)} where rowid > ? order by rowid limit ${COUNTED_AT_ONCE})`,
      );
      let count = 0;
      for (let last = Number.MIN_SAFE_INTEGER; ; ) {
        const [found, highest] = portion.get(last) as unknown as [number, number | null];
        count += found;
        if (found < COUNTED_AT_ONCE || highest === null) return count;
        last = highest;
        // In a server, lets requests run in between.
        await setImmediate();
      }
    },
    async *rowsOf(table) {
      let batch: Row[] = [];
      let bytes = 0;
      for (const row of prepare(selectionOf(table)).iterate() as unknown as Iterable<Row>) {
        batch.push(row);
        bytes += bytesOf(row);
        if (batch.length < ROWS_AT_ONCE && bytes < BATCH_BYTES) continue;
        yield batch;
        [batch, bytes] = [[], 0];
        // In a server, lets requests run in between.
        await setImmediate();
      }
      if (batch.length > 0) yield batch;
    },
    portionsOf: (table) => {
      const key = keyNamesOf(table).join(", ");
      const marks = table.key.map(() => "?").join(", ");
      return portionsBy(table, async (after) => {
        const from = after === undefined ? "" : ` where (${key}) > (${marks})`;
        const statement = prepare(`${selectionOf(table)}${from} order by ${key} limit ${PORTION_ROWS}`);
        const rows: Row[] = [];
        let bytes = 0;
        for (const row of statement.iterate(...((after ?? []) as SQLInputValue[])) as unknown as Iterable<Row>) {
          rows.push(row);
          bytes += bytesOf(row);
          if (bytes >= PORTION_BYTES) break;
        }
        return rows;
      });
    },
    find: (table, keys) => {
      const statement = prepare(`${selectionOf(table)} where ${keyNamesOf(table).join(" = ? and ")} = ?`);
      return foundBy(keys, async (asked) => {
        const found: (Row | undefined)[] = [];
        let bytes = 0;
        for (const key of asked) {
          const row = statement.get(...(key as SQLInputValue[])) as unknown as Row | undefined;
          found.push(row);
          if (row) bytes += bytesOf(row);
          if (bytes >= PORTION_BYTES) break;
        }
        return found;
      });
    },
  };
}

/** PostgreSQL fetches by number of rows, not bytes; fewer are fetched if there are large ones. */
const FETCHED_ROWS = 32;
const FETCHED_BYTES = 4 * 1024 * 1024;

export function postgresReader(client: pg.Client): RowReader {
  const all = async (text: string, values: unknown[] = []) => {
    const { rows } = await client.query<Value[]>({ text, values, rowMode: "array" });
    return rows as Row[];
  };
  return {
    all,
    count: async ({ name }) => (await all(`select count(*) from ${quoted(name)}`))[0]?.[0] as number,
    async *rowsOf(table) {
      await client.query(`declare backup_rows no scroll cursor for ${selectionOf(table)}`);
      let largest = 1;
      for (;;) {
        const count = Math.max(1, Math.min(FETCHED_ROWS, Math.floor(FETCHED_BYTES / largest)));
        const rows = await all(`fetch ${count} from backup_rows`);
        if (rows.length === 0) break;
        for (const row of rows) largest = Math.max(largest, bytesOf(row));
        yield rows;
      }
      await client.query("close backup_rows");
    },
    portionsOf: (table) => {
      const key = keyNamesOf(table).join(", ");
      const marks = table.key.map((index, at) => `$${at + 1}::${typeAt(table, index)}`).join(", ");
      const names = namesOf(table.columns).join(", ");
      return portionsBy(table, (after) => {
        const from = after === undefined ? "" : `where (${key}) > (${marks})`;
        const sized = `select ${names}, ${sizeBefore(table, key)} from ${quoted(table.name)} ${from} order by ${key} limit ${PORTION_ROWS}`;
        return all(`select ${names} from (${sized}) as sized where ${IS_WITHIN} order by ${key}`, [...(after ?? [])]);
      });
    },
    find: (table, keys) => {
      const names = namesOf(table.columns).join(", ");
      const lists = table.key.map((index, at) => `$${at + 1}::${typeAt(table, index)}[]`).join(", ");
      const aliases = table.key.map((_, at) => `asked_${at}`);
      const fits = keyNamesOf(table).map((name, at) => `${name} = ${aliases[at]}`);
      const sized = `select ${names}, asked_at, ${sizeBefore(table, "asked_at")}
        from unnest(${lists}) with ordinality as asked (${aliases.join(", ")}, asked_at)
        left join ${quoted(table.name)} on ${fits.join(" and ")}`;
      return foundBy(keys, async (asked) => {
        const values = table.key.map((_, at) => asked.map((key) => key[at]));
        const rows = await all(`select ${names} from (${sized}) as sized where ${IS_WITHIN} order by asked_at`, values);
        return rows.map((row) => (keyOf(table, row)[0] === null ? undefined : row));
      });
    },
  };
}

const typeAt = (table: Table, index: number): string => postgresTypeOf(table.columns[index]?.type ?? "text");

/** The total size of the rows before this one. PostgreSQL computes it without reading large values. */
function sizeBefore({ columns }: Table, order: string): string {
  const sized = columns.filter(({ type }) => type !== "integer");
  const size = ["8", ...namesOf(sized).map((name) => `coalesce(octet_length(${name}), 0)`)].join(" + ");
  return `sum(${size}) over (order by ${order} rows unbounded preceding) - (${size}) as bytes_before`;
}

const IS_WITHIN = `bytes_before < ${PORTION_BYTES}`;
