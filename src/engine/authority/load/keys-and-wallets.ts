import type { Secret } from "../../../authority/state.ts";
import { byStatement, countOf, type Loaders } from "./loaders.ts";

export const keyAndWalletLoaders = {
  privateKey: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("private_keys")
          .select(["id", "name", "curve", "imported", "exported", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, curve, imported, exported, created_at, updated_at }) => {
            const flags = { imported: imported === 1, exported: exported === 1 };
            return [id, { id, name, curve, ...flags, createdAt: created_at, updatedAt: updated_at }];
          }),
        ),
    ),
  },
  privateKeyCount: countOf("private_keys"),
  wallet: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("wallets")
          .select(["id", "name", "imported", "exported", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, imported, exported, created_at, updated_at }) => {
            const flags = { imported: imported === 1, exported: exported === 1 };
            return [id, { id, name, ...flags, createdAt: created_at, updatedAt: updated_at }];
          }),
        ),
    ),
  },
  walletCount: countOf("wallets"),
  secret: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("secrets")
          .select(["id", "name", "static_properties", "exported", "created_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, static_properties, exported, created_at }) => {
            const staticProperties = JSON.parse(static_properties) as Secret["staticProperties"];
            return [id, { id, name, staticProperties, exported: exported === 1, createdAt: created_at }];
          }),
        ),
    ),
  },
  secretId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, names) =>
        db
          .selectFrom("secrets")
          .select(["id", "name"])
          .where("organization_id", "=", organizationId)
          .where("name", "in", names),
      (rows) => new Map(rows.map(({ id, name }) => [name as string, id])),
    ),
  },
  secretCount: countOf("secrets"),
} satisfies Partial<Loaders>;
