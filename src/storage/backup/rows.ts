import { createHash } from "node:crypto";

/** The content of backups and copies: rows of tables, in a form that both engines share. */

export type Value = string | number | null | Uint8Array;
/** Values in the order of the table's columns. */
export type Row = readonly Value[];

export type ColumnType = "text" | "integer" | "bytes";
export interface Column {
  name: string;
  type: ColumnType;
}
export interface Table {
  name: string;
  /** In the order of their names, because the engines store them in different orders. */
  columns: readonly Column[];
  /**
   * Positions of the primary key's columns, in key order, as SQLite has it. In PostgreSQL a table may have a longer primary key with
   * another first column.
   */
  key: readonly number[];
}

/** Tables one after the other: a piece that begins a table, then its rows in batches. */
export type Piece = { table: Table } | { rows: readonly Row[] };

export const keyOf = ({ key }: Table, row: Row): Row => key.map((index) => row[index] as Value);

export const isSameRow = (one: Row, other: Row): boolean =>
  one.every((value, index) => {
    const otherValue = other[index];
    if (!(value instanceof Uint8Array)) return value === otherValue;
    return otherValue instanceof Uint8Array && Buffer.compare(value, otherValue) === 0;
  });

/** Approximate size of the row in memory. */
export const bytesOf = (row: Row): number =>
  row.reduce<number>((sum, value) => sum + (typeof value === "number" || value === null ? 8 : value.length), 0);

/** A portion that is read or written at once ends after this many rows, or with the row that reaches the limit in bytes. */
export const PORTION_ROWS = 1000;
export const PORTION_BYTES = 4 * 1024 * 1024;

/** A line of JSON, without its end: a list of values, with bytes in base64. */
export const encodeRow = (row: Row): string =>
  JSON.stringify(row.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value)));

/** The row of a parsed line; undefined if it is not a row of this table. */
export function decodeRow({ columns }: Table, parsed: unknown): Row | undefined {
  if (!Array.isArray(parsed) || parsed.length !== columns.length) return undefined;
  const row: Value[] = [];
  for (const [index, { type }] of columns.entries()) {
    const value = decodedValue(type, parsed[index]);
    if (value === undefined) return undefined;
    row.push(value);
  }
  return row;
}

function decodedValue(type: ColumnType, parsed: unknown): Value | undefined {
  if (parsed === null) return null;
  if (type === "integer") return Number.isSafeInteger(parsed) ? (parsed as number) : undefined;
  if (typeof parsed !== "string") return undefined;
  return type === "bytes" ? Buffer.from(parsed, "base64") : parsed;
}

const MODULUS = 1n << 256n;

/**
 * The number of rows and the sum of their hashes, in any order. It detects errors of software or disks, and does not protect against forged
 * rows.
 */
export class Tally {
  count = 0;
  #sum = 0n;

  add(row: Row): void {
    this.count++;
    const hash = createHash("sha256").update(encodeRow(row)).digest("hex");
    this.#sum = (this.#sum + BigInt(`0x${hash}`)) % MODULUS;
  }

  equals(other: Tally): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}
