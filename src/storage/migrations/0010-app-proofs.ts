import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Which activities want proofs, the proofs, and the signers that made them. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await db.schema
    .alterTable("activities")
    .addColumn("wants_proofs", kind === "postgres" ? "bigint" : "integer", (column) => column.notNull().defaultTo(0))
    .execute();

  await create("boot_proofs")
    .text("id")
    .text("ephemeral_public_key")
    .text("manifest")
    .text("manifest_envelope")
    .text("attestation")
    .text("deployment_label")
    .integer("started_at")
    .integer("seen_at")
    .primaryKey("id")
    .unique("ephemeral_public_key")
    .index("started_at")
    .execute();

  await create("app_proofs")
    .text("organization_id")
    .text("activity_id")
    .integer("position")
    .text("boot_proof_id")
    .text("payload")
    .text("signature")
    .primaryKey("organization_id", "activity_id", "position")
    .references(["organization_id", "activity_id"], "activities", ["organization_id", "id"])
    .references(["boot_proof_id"], "boot_proofs", ["id"])
    .index("boot_proof_id")
    .execute();
}
