import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { DatabaseKind, LaterInsert, Query, Reader, Transactor } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** Stands where a parameter will be; never reaches a database. */
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
type Statement = { sql: string; bind: (values: Record<string, unknown>) => unknown[] };

/**
 * A statement that is built once for each kind of database and then only bound: building costs several times what running it does. `build`
 * gets a stand-in for each named parameter and must use them as plain values. `sees` says which rows that a transaction is still to write
 * it would find: any of a table that it names, unless said. `isLasting` asks that its answer be kept while it is known to be true (`KeptReads`): for
 * what each request asks and few change.
 */
export function prepared<Parameters extends Record<string, unknown>>() {
  return <Select extends Compilable<unknown>>(
    build: (db: Pick<Kysely<Schema>, "selectFrom">, parameters: Parameters) => Select,
    { sees, isLasting }: { sees?: (values: Parameters) => Query["sees"]; isLasting?: boolean } = {},
  ): ((reader: Reader, values: Parameters) => Promise<RowOf<Select>[]>) => {
    const statement = statementOf<RowOf<Select>>(build as Build);
    return (reader, values) =>
      reader.all({ ...statement(reader, values), isRead: true, isLasting, sees: sees?.(values) });
  };
}

/** The same for a statement that writes; it asks for a transaction. */
export function preparedWrite<Parameters extends Record<string, unknown>>() {
  return <Write extends Compilable<unknown>>(
    build: (db: Kysely<Schema>, parameters: Parameters) => Write,
  ): ((tx: Transactor, values: Parameters) => Promise<RowOf<Write>[]>) => {
    const statement = statementOf<RowOf<Write>>(build as Build);
    return (tx, values) => tx.all(statement(tx, values));
  };
}

function statementOf<Row>(build: Build): (reader: Pick<Reader, "kind">, values: Record<string, unknown>) => Query<Row> {
  const statements: Partial<Record<DatabaseKind, Statement>> = {};
  return ({ kind }, values) => {
    statements[kind] ??= compileStatement(kind, build);
    const { sql, bind } = statements[kind] as Statement;
    return { sql, parameters: bind(values) };
  };
}

function compileStatement(kind: DatabaseKind, build: Build): Statement {
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
  return { sql, bind };
}

/** What stands in a column of the type, as `Batch` writes it. */
interface ColumnTypes {
  text: string | null;
  integer: number | null;
}
const POSTGRES_TYPES = { text: "text", integer: "int8" } as const;

/**
 * A table into which a transaction writes rows together, where it can: see `Transactor.later`. `columns` are those of its rows,
 * `referredToBy` the tables whose rows cannot be there before them, and `mayBeTaken` says that another transaction may have stored the same one
 * meanwhile: whoever looks again finds it.
 */
export function laterInsert<const Columns extends Readonly<Record<string, keyof ColumnTypes>>>(
  table: keyof Schema,
  columns: Columns,
  { referredToBy = [], mayBeTaken = false }: { referredToBy?: readonly (keyof Schema)[]; mayBeTaken?: boolean } = {},
): LaterInsert<{ readonly [Name in keyof Columns]: ColumnTypes[Columns[Name]] }> {
  const names = Object.keys(columns);
  const into = `insert into "${table}" (${names.map((name) => `"${name}"`).join(", ")})`;
  const types = Object.values(columns).map((type) => POSTGRES_TYPES[type]);
  return {
    table,
    neededBy: [table, ...referredToBy],
    columns: names,
    mayBeTaken,
    insert: {
      one: {
        sqlite: `${into} values (${names.map(() => "?").join(", ")})`,
        postgres: `${into} values (${names.map((_, index) => `$${index + 1}`).join(", ")})`,
      },
      together: `${into} select * from unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")})`,
    },
  };
}
