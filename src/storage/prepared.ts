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
import type { DatabaseKind, Reader, Transactor } from "./engine.ts";
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
 * gets a stand-in for each named parameter and must use them as plain values.
 */
export function prepared<Parameters extends Record<string, unknown>>() {
  return <Query extends Compilable<unknown>>(
    build: (db: Pick<Kysely<Schema>, "selectFrom">, parameters: Parameters) => Query,
  ): ((reader: Reader, values: Parameters) => Promise<RowOf<Query>[]>) => statementOf(build as Build);
}

/** The same for a statement that writes; it asks for a transaction. */
export function preparedWrite<Parameters extends Record<string, unknown>>() {
  return <Query extends Compilable<unknown>>(
    build: (db: Kysely<Schema>, parameters: Parameters) => Query,
  ): ((tx: Transactor, values: Parameters) => Promise<RowOf<Query>[]>) => statementOf(build as Build);
}

function statementOf<Row>(build: Build): (reader: Reader, values: Record<string, unknown>) => Promise<Row[]> {
  const statements: Partial<Record<DatabaseKind, Statement>> = {};
  return (reader, values) => {
    statements[reader.kind] ??= compileStatement(reader.kind, build);
    const statement = statements[reader.kind] as Statement;
    return reader.all<Row>({ sql: statement.sql, parameters: statement.bind(values) });
  };
}

function compileStatement(kind: DatabaseKind, build: Build): Statement {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) });
  const { sql, parameters } = build(compilers[kind], placeholders).compile();
  return {
    sql,
    bind: (values) => parameters.map((value) => (value instanceof Placeholder ? values[value.name] : value)),
  };
}
