import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** Deletions that revoke a further stamp: of its credential, of its user, or of a contact that the user may have again. */
const takesBack = sql`r.organization_id = authentications.organization_id and (
  r.id in (authentications.credential_id, authentications.user_id)
  or (r.id = authentications.user_id || ' ' || authentications.credential_id and r.revoked_at >= authentications.created_at))`;

/**
 * When a further stamp was revoked while its activity was open, as for votes. For activities already decided, stamps that were revoked
 * before the decision are marked.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await db.schema
    .alterTable("authentications")
    .addColumn("revoked_at", kind === "postgres" ? "bigint" : "integer")
    .execute();
  await sql`update authentications set revoked_at = (select min(r.revoked_at) from revocations r where ${takesBack})
    where exists (select 1 from revocations r, activities a
      where a.organization_id = authentications.organization_id and a.id = authentications.activity_id
        and a.status not in ('ACTIVITY_STATUS_CONSENSUS_NEEDED', 'ACTIVITY_STATUS_AUTHENTICATORS_NEEDED')
        and r.revoked_at < a.updated_at and ${takesBack})`.execute(db);
}
