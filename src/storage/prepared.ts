import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type Selectable,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { DatabaseKind, LaterWrite, Query, Reader, StoredRow, Transactor } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** Takes the position of a parameter while the statement is built; never reaches a database. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const compilers: Record<DatabaseKind, Kysely<Schema>> = {
  sqlite: new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  postgres: new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
};

type RowOf<Query> = Query extends Compilable<infer Row> ? Row : never;
type Build = (db: Kysely<Schema>, parameters: Record<string, unknown>) => Compilable<unknown>;
interface Statement {
  sql: string;
  bind: (values: Record<string, unknown>) => unknown[];
  /** The statement for many callers, on PostgreSQL, with a list for each parameter; only if requested. */
  together: string | undefined;
}

/**
 * A statement that is built once per kind of database and then only bound to parameters, because building costs several times more than
 * running. `build` gets a placeholder for each named parameter and must use them as plain values. `sees` says which rows that a transaction
 * is still to write the statement would find; if absent, any row of a table that it names. `isTogether` lets PostgreSQL answer simultaneous
 * look-ups of several callers with one query; each look-up must use an index and accept rows in any order. `isLasting` keeps the answer for
 * as long as it is known to be current (`KeptReads`); use it for queries that run with each request and whose answers rarely change.
 */
export function prepared<Parameters extends Record<string, unknown>>() {
  return <Select extends Compilable<unknown>>(
    build: (db: Pick<Kysely<Schema>, "selectFrom">, parameters: Parameters) => Select,
    {
      sees,
      isLasting,
      isTogether = false,
    }: { sees?: (values: Parameters) => Query["sees"]; isLasting?: boolean; isTogether?: boolean } = {},
  ): ((reader: Reader, values: Parameters) => Promise<RowOf<Select>[]>) => {
    const statement = statementOf<RowOf<Select>>(build as Build, isTogether);
    return (reader, values) =>
      reader.all({ ...statement(reader, values), isRead: true, isLasting, sees: sees?.(values) });
  };
}

/**
 * Finds the row of a table by texts that are unique in combination. Simultaneous look-ups of several callers are one query on PostgreSQL.
 *
 * @param by the columns, by the names of the parameters
 */
export function uniqueRow<Table extends keyof Schema & string, Name extends string>(
  table: Table,
  by: Readonly<Record<Name, keyof Schema[Table] & string>>,
): (reader: Reader, values: Readonly<Record<Name, string>>) => Promise<Selectable<Schema[Table]> | undefined> {
  const names = Object.keys(by) as Name[];
  const columns = Object.values<string>(by);
  const list = (of: (column: string, index: number) => string, separator = ", ") => columns.map(of).join(separator);
  const from = `select * from "${table}" where`;
  const sql: Record<DatabaseKind, string> = {
    sqlite: `${from} ${list((column) => `"${column}" = ?`, " and ")}`,
    postgres: `${from} ${list((column, index) => `"${column}" = $${index + 1}`, " and ")}`,
  };
  // The limit makes PostgreSQL look up one row after the other in the index, whatever its statistics say.
  const together = `select "k"."asked_as", "r".* from unnest(${list((_, index) => `$${index + 1}::text[]`)}) with ordinality as "k" (${list(
    (column) => `"${column}"`,
  )}, "asked_as") cross join lateral (${from} ${list((column) => `"${table}"."${column}" = "k"."${column}"`, " and ")} limit 1) as "r"`;
  return async (reader, values) => {
    const parameters = names.map((name) => values[name]);
    const sees = (written: string, row: StoredRow) => written === table && mayHave(row, columns, parameters);
    const [row] = await reader.all<Selectable<Schema[Table]>>({
      sql: sql[reader.kind],
      parameters,
      isRead: true,
      together,
      sees,
    });
    return row;
  };
}

/** Whether a row has these values, as far as it is known. A loop, because each row that is written is compared with each look-up. */
function mayHave(row: StoredRow, columns: readonly string[], values: readonly unknown[]): boolean {
  for (let index = 0; index < columns.length; index++) {
    const known = row[columns[index] as string];
    if (known !== undefined && known !== values[index]) return false;
  }
  return true;
}

/** Like `prepared`, for a statement that writes; runs in a transaction. */
export function preparedWrite<Parameters extends Record<string, unknown>>() {
  return <Write extends Compilable<unknown>>(
    build: (db: Kysely<Schema>, parameters: Parameters) => Write,
  ): ((tx: Transactor, values: Parameters) => Promise<RowOf<Write>[]>) => {
    const statement = statementOf<RowOf<Write>>(build as Build, false);
    return (tx, values) => tx.all(statement(tx, values));
  };
}

function statementOf<Row>(
  build: Build,
  isTogether: boolean,
): (reader: Pick<Reader, "kind">, values: Record<string, unknown>) => Query<Row> {
  const statements: Partial<Record<DatabaseKind, Statement>> = {};
  return ({ kind }, values) => {
    statements[kind] ??= compileStatement(kind, build, isTogether && kind === "postgres");
    const { sql, bind, together } = statements[kind] as Statement;
    return { sql, parameters: bind(values), together };
  };
}

function compileStatement(kind: DatabaseKind, build: Build, isTogether: boolean): Statement {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) });
  const { sql, parameters } = build(compilers[kind], placeholders).compile();
  const names = parameters.map((value) => (value instanceof Placeholder ? value.name : undefined));
  const bind = (values: Record<string, unknown>) => {
    const bound = parameters.slice();
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      if (name !== undefined) bound[index] = values[name];
    }
    return bound;
  };
  return { sql, bind, together: isTogether ? togetherOf(sql, parameters) : undefined };
}

/** The same statement with a list for each parameter; `asked_as` of each row is the position in the lists, from 1 on, that the row answers. */
function togetherOf(sql: string, parameters: readonly unknown[]): string {
  const lists = parameters.map((value, index) => `$${index + 1}::${typeof value === "number" ? "int8" : "text"}[]`);
  const names = parameters.map((_, index) => `"p${index + 1}"`);
  const one = sql.replace(/\$(\d+)/g, '"asked"."p$1"');
  // The offset makes PostgreSQL look up one after the other in the index, whatever its statistics say.
  return `select "asked"."asked_as", "r".* from unnest(${lists.join(", ")}) with ordinality as "asked" (${[...names, '"asked_as"'].join(", ")}) cross join lateral (${one} offset 0) as "r"`;
}

/** The values of each column type, as `Batch` writes them. */
interface ColumnTypes {
  text: string | null;
  integer: number | null;
  bytes: Uint8Array;
}
const POSTGRES_TYPES = { text: "text", integer: "int8", bytes: "bytea" } as const;
type Columns = Readonly<Record<string, keyof ColumnTypes>>;
type RowIn<Of extends Columns> = { readonly [Name in keyof Of]: ColumnTypes[Of[Name]] };

/**
 * A table into which a transaction can insert rows together: see `Transactor.later`. `columns` are those of its rows, `referredToBy` the
 * tables whose rows reference them, and `mayBeTaken` says that another transaction may have inserted the same row in the meantime; the
 * function finds it when it runs again.
 */
export function laterInsert<const Of extends Columns>(
  table: keyof Schema,
  columns: Of,
  { referredToBy = [], mayBeTaken = false }: { referredToBy?: readonly (keyof Schema)[]; mayBeTaken?: boolean } = {},
): LaterWrite<RowIn<Of>> {
  const names = Object.keys(columns);
  const into = `insert into "${table}" (${names.map((name) => `"${name}"`).join(", ")})`;
  const types = Object.values(columns).map((type) => POSTGRES_TYPES[type]);
  return {
    table,
    neededBy: [table, ...referredToBy],
    columns: names,
    mayBeTaken,
    statements: {
      one: {
        sqlite: `${into} values (${names.map(() => "?").join(", ")})`,
        postgres: `${into} values (${names.map((_, index) => `$${index + 1}`).join(", ")})`,
      },
      together: `${into} select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")})`,
    },
  };
}

/**
 * A table of which a transaction can update rows together: see `Transactor.later`. A row is found by the columns `by`. `set` has an SQL
 * expression for each column that changes, in which `"new"` is the given row and the table's own name is the current one. `merged` combines
 * two changes to one row.
 */
export function laterUpdate<const By extends Columns, const Given extends Columns>(
  table: keyof Schema,
  {
    by,
    given,
    set,
    merged,
  }: { by: By; given: Given; set: Readonly<Record<string, string>>; merged: Merged<By & Given> },
): LaterWrite<RowIn<By & Given>> {
  const columns: Columns = { ...by, ...given };
  const names = Object.keys(columns);
  const types = Object.values(columns).map((type) => POSTGRES_TYPES[type]);
  const keys = Object.keys(by);
  const assignments = Object.entries(set).map(([column, value]) => `"${column}" = ${value}`);
  const isMeant = keys.map((column) => `"${table}"."${column}" = "new"."${column}"`).join(" and ");
  const update = (from = "") => `update "${table}" set ${assignments.join(", ")}${from} where ${isMeant}`;
  const quoted = names.map((name) => `"${name}"`);
  return {
    table,
    neededBy: [table],
    columns: names,
    mayBeTaken: false,
    statements: {
      one: {
        // Without a one-row table this takes half the time.
        sqlite: update().replaceAll(/"new"\."(\w+)"/g, (_, name: string) => `?${names.indexOf(name) + 1}`),
        postgres: update(
          ` from (select ${quoted.map((name, index) => `$${index + 1}::${types[index]} as ${name}`).join(", ")}) as "new"`,
        ),
      },
      together: update(
        ` from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")}) as "new" (${quoted.join(", ")})`,
      ),
    },
    merge: { keyOf: (row: StoredRow) => JSON.stringify(keys.map((key) => row[key])), merged },
  };
}

type Merged<Of extends Columns> = (before: RowIn<Of>, after: RowIn<Of>) => RowIn<Of>;
