import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Quorum keys of apps with their shares, the shares that operators submitted for deployments, and secrets for pulling images. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "tvc_quorum_keys")
    .text("organization_id")
    .text("id")
    .text("public_key")
    .integer("threshold")
    .times()
    .primaryKey("organization_id", "id")
    .unique("organization_id", "public_key")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "tvc_quorum_key_shares")
    .text("organization_id")
    .text("id")
    .text("quorum_key_id")
    .integer("position")
    .text("operator_id")
    .text("encrypted_share")
    .text("digest")
    .primaryKey("organization_id", "id")
    .unique("organization_id", "quorum_key_id", "operator_id")
    .references(["organization_id", "quorum_key_id"], "tvc_quorum_keys", ["organization_id", "id"])
    .execute();
  await table(db, kind, "tvc_provisioning_shares")
    .text("organization_id")
    .text("id")
    .text("deployment_id")
    .text("operator_id")
    .text("ephemeral_public_key")
    .text("share")
    .text("signature")
    .times()
    .primaryKey("organization_id", "id")
    .unique("organization_id", "deployment_id", "operator_id")
    .references(["organization_id", "deployment_id"], "tvc_deployments", ["organization_id", "id"])
    .execute();
  const type = kind === "postgres" ? "bigint" : "integer";
  await db.schema.alterTable("tvc_apps").addColumn("quorum_key_id", "text").execute();
  await db.schema.alterTable("tvc_deployments").addColumn("sealed_pull_secret", "text").execute();
  await db.schema.alterTable("tvc_runs").addColumn("provisioning", "text").execute();
  await db.schema
    .alterTable("tvc_runs")
    .addColumn("is_provisioned", type, (column) => column.notNull().defaultTo(0))
    .execute();
}
