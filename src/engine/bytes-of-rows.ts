import { sql } from "kysely";
import type { Reader } from "../storage/engine.ts";
import type { Schema } from "../storage/schema.ts";

/** The tables whose rows an answer lists, with the size of one row in the answer, in bytes. */
export type BytesOfEach = Partial<Record<keyof Schema, number>>;

/** The size of an answer that lists all of an organization's rows, in bytes, estimated from row counts before any row is read. */
export async function bytesOfRows(read: Reader, organizationId: string, each: BytesOfEach): Promise<number> {
  const counted = Object.entries(each).map(
    ([table, bytes]) =>
      sql`${bytes} * (select count(*) from ${sql.table(table)} where organization_id = ${organizationId})`,
  );
  const bytes = sql<number>`${sql.join(counted, sql` + `)}`.as("bytes");
  const row = await read.selectFrom("organizations").select(bytes).where("id", "=", organizationId).executeTakeFirst();
  return Number(row?.bytes ?? 0);
}
