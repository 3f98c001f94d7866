import { sql } from "kysely";
import type { Reader } from "../storage/engine.ts";
import type { Schema } from "../storage/schema.ts";

/** Tables of which an organization's rows are in an answer, with the bytes that one of them takes there. */
export type BytesOfEach = Partial<Record<keyof Schema, number>>;

/** What a list of all of an organization's rows takes in an answer, by their numbers: to be known before they are read. */
export async function bytesOfRows(read: Reader, organizationId: string, each: BytesOfEach): Promise<number> {
  const counted = Object.entries(each).map(
    ([table, bytes]) =>
      sql`${bytes} * (select count(*) from ${sql.table(table)} where organization_id = ${organizationId})`,
  );
  const bytes = sql<number>`${sql.join(counted, sql` + `)}`.as("bytes");
  const row = await read.selectFrom("organizations").select(bytes).where("id", "=", organizationId).executeTakeFirst();
  return Number(row?.bytes ?? 0);
}
