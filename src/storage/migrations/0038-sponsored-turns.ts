import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/**
 * The queue in which each transaction waits that the installation pays for, whether it paid for transactions in histories, and the block at
 * which positions were read from their chain.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema
    .alterTable("sponsored_sends")
    .addColumn("queue", "text", (column) => column.notNull().defaultTo(""))
    .execute();
  await db.schema
    .alterTable("sponsored_sends")
    .addColumn("put_off_at", integer, (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.dropIndex("sponsored_sends_caip2_payer_ended_at_index").execute();
  await db.schema
    .createIndex("sponsored_sends_queue_index")
    .on("sponsored_sends")
    .columns(["caip2", "payer", "ended_at", "queue", "created_at", "id"])
    .execute();
  await db.schema
    .createIndex("sponsored_sends_purpose_index")
    .on("sponsored_sends")
    .columns(["caip2", "payer", "purpose", "created_at"])
    .execute();
  const account =
    kind === "postgres" ? sql`plan::json -> 'execution' ->> 'account'` : sql`json_extract(plan, '$.execution.account')`;
  await sql`update sponsored_sends set queue = coalesce(${account}, id) where ended_at is null`.execute(db);
  await db.schema
    .alterTable("earn_positions")
    .addColumn("read_at_block", integer, (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable("own_transactions")
    .addColumn("sponsored", integer, (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update own_transactions set sponsored = 1
    where activity_id in (select activity_id from send_transactions where sponsored = 1)`.execute(db);
}
