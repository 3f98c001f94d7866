import type { Compilable, Selectable } from "kysely";
import type { Reader } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";

/** The rows of credentials. The tables of all kinds have the columns used here; the casts pick one for the compiler. */

export type AnyCredentialTable = "api_keys" | "authenticators" | "oauth_providers";
export type CredentialRow<Table extends AnyCredentialTable> = Selectable<Schema[Table]> & {
  id: string;
  created_at: number;
};
type Rows<Table extends AnyCredentialTable> = Compilable<CredentialRow<Table>> & {
  execute(): Promise<CredentialRow<Table>[]>;
};
type Db = Pick<Reader, "selectFrom">;

const all = (db: Db, table: AnyCredentialTable, organizationId: string) =>
  db
    .selectFrom(table as "api_keys")
    .selectAll()
    .where("organization_id", "=", organizationId);

/** The credentials of one kind of an organization. */
export const credentialsOf = <Table extends AnyCredentialTable>(db: Db, table: Table, organizationId: string) =>
  all(db, table, organizationId) as unknown as Rows<Table>;

/** The credentials of one kind of some users. */
export const credentialsOfUsers = <Table extends AnyCredentialTable>(
  db: Db,
  table: Table,
  organizationId: string,
  userIds: readonly string[],
) => all(db, table, organizationId).where("user_id", "in", userIds) as unknown as Rows<Table>;

/** The credential of one kind with this id, if there is one. */
export const credentialWithId = <Table extends AnyCredentialTable>(
  db: Db,
  table: Table,
  organizationId: string,
  id: string,
) => all(db, table, organizationId).where("id", "=", id) as unknown as Rows<Table>;
