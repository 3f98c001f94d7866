import type { Secret } from "../../../authority/state.ts";
import { byId, byStatement, countOf, type Loaders } from "./loaders.ts";

interface KeyRow {
  id: string;
  name: string;
  imported: number;
  exported: number;
  created_at: number;
  updated_at: number;
}

/** The members that private keys and wallets share. */
const shownKey = ({ id, name, imported, exported, created_at, updated_at }: KeyRow) => ({
  id,
  name,
  imported: imported === 1,
  exported: exported === 1,
  createdAt: created_at,
  updatedAt: updated_at,
});

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
      byId((row) => ({ curve: row.curve, ...shownKey(row) })),
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
      byId(shownKey),
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
      byId(({ id, name, static_properties, exported, created_at }) => ({
        id,
        name,
        staticProperties: JSON.parse(static_properties) as Secret["staticProperties"],
        exported: exported === 1,
        createdAt: created_at,
      })),
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
