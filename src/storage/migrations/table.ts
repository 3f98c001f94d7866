import { type CreateTableBuilder, type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

type OnDelete = "cascade" | "restrict";

/**
 * Builds a table with the column types that both engines share: text, 64-bit integers and bytes. SQLite tables are STRICT, so that wrong
 * types are rejected there as in PostgreSQL.
 */
export class TableBuilder {
  readonly #db: Kysely<unknown>;
  readonly #name: string;
  readonly #types: { text: "text"; integer: "bigint" | "integer"; bytes: "bytea" | "blob" };
  readonly #indexes: string[][] = [];
  #builder: CreateTableBuilder<string, string>;

  constructor(db: Kysely<unknown>, kind: DatabaseKind, name: string) {
    this.#db = db;
    this.#name = name;
    this.#types =
      kind === "postgres"
        ? { text: "text", integer: "bigint", bytes: "bytea" }
        : { text: "text", integer: "integer", bytes: "blob" };
    this.#builder = db.schema.createTable(name);
    if (kind === "sqlite") this.#builder = this.#builder.modifyEnd(sql`strict`);
  }

  text(column: string): this {
    return this.#column(column, this.#types.text, true);
  }

  optionalText(column: string): this {
    return this.#column(column, this.#types.text, false);
  }

  integer(column: string): this {
    return this.#column(column, this.#types.integer, true);
  }

  optionalInteger(column: string): this {
    return this.#column(column, this.#types.integer, false);
  }

  bytes(column: string): this {
    return this.#column(column, this.#types.bytes, true);
  }

  /** `created_at` and `updated_at`. */
  times(): this {
    return this.integer("created_at").integer("updated_at");
  }

  primaryKey(...columns: string[]): this {
    this.#builder = this.#builder.addPrimaryKeyConstraint(`${this.#name}_pk`, columns);
    return this;
  }

  unique(...columns: string[]): this {
    this.#builder = this.#builder.addUniqueConstraint(`${this.#name}_${columns.at(-1)}_unique`, columns);
    return this;
  }

  references(columns: string[], target: string, targetColumns: string[], onDelete: OnDelete = "restrict"): this {
    const name = `${this.#name}_${columns.at(-1)}_fk`;
    this.#builder = this.#builder.addForeignKeyConstraint(name, columns, target, targetColumns, (key) =>
      key.onDelete(onDelete),
    );
    return this;
  }

  index(...columns: string[]): this {
    this.#indexes.push(columns);
    return this;
  }

  async execute(): Promise<void> {
    await this.#builder.execute();
    for (const columns of this.#indexes) {
      const name = `${this.#name}_${columns.filter((column) => column !== "organization_id").join("_")}_index`;
      await this.#db.schema.createIndex(name).on(this.#name).columns(columns).execute();
    }
  }

  #column(name: string, type: "text" | "bigint" | "integer" | "bytea" | "blob", required: boolean): this {
    const dataType = type === "blob" ? sql`blob` : type;
    this.#builder = this.#builder.addColumn(name, dataType, (column) => (required ? column.notNull() : column));
    return this;
  }
}

export function table(db: Kysely<unknown>, kind: DatabaseKind, name: string): TableBuilder {
  return new TableBuilder(db, kind, name);
}
