import { type Kysely, sql } from "kysely";

/**
 * Details of Solana in histories, the activities of transactions sent there so far, and an index that shows whether there are any accounts
 * on Solana.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("eth_history").addColumn("solana", "text").execute();
  await db.schema
    .createIndex("wallet_accounts_solana_index")
    .on("wallet_accounts")
    .column("address_format")
    .where(sql.ref("address_format"), "=", sql.lit("ADDRESS_FORMAT_SOLANA"))
    .execute();
  await sql`insert into own_transactions (organization_id, caip2, transaction_hash, activity_id)
    select organization_id, caip2, transaction_hash, min(activity_id) from send_transactions
    where caip2 like 'solana:%' group by organization_id, caip2, transaction_hash
    on conflict do nothing`.execute(db);
}
