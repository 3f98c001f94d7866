import { fail } from "../../../kernel/errors.ts";
import { MAX_ACCOUNTS_WITH_WALLETS } from "../../../kernel/limits.ts";
import { deleteInTurns, rowId } from "../../../storage/deletion-in-turns.ts";
import type { Transactor } from "../../../storage/engine.ts";
import { laterInsert } from "../../../storage/prepared.ts";
import { deleteRows, timesOf, updateRows } from "./rows.ts";
import type { Writers } from "./writers.ts";

const newPrivateKeys = laterInsert(
  "private_keys",
  {
    id: "text",
    organization_id: "text",
    name: "text",
    curve: "text",
    public_key: "text",
    sealed_key: "bytes",
    exported: "integer",
    imported: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  { referredToBy: ["private_key_addresses", "private_key_tag_members"] },
);

export const keyAndWalletWriters = {
  async addPrivateKeys(tx, organizationId, { privateKeys }) {
    for (const key of privateKeys)
      await tx.later(newPrivateKeys, {
        id: key.id,
        organization_id: organizationId,
        name: key.name,
        curve: key.curve,
        public_key: key.publicKey,
        sealed_key: key.sealedKey,
        exported: key.exported ? 1 : 0,
        imported: key.imported ? 1 : 0,
        created_at: key.createdAt,
        updated_at: key.updatedAt,
      });
  },

  // Their addresses and tag assignments are deleted with the rows.
  removePrivateKeys: (tx, organizationId, { privateKeys }) =>
    deleteRows(tx, "private_keys", { organizationId, ids: privateKeys.map(({ id }) => id) }),

  markPrivateKeyExported: (tx, organizationId, { id, now }) =>
    updateRows(tx, "private_keys", { organizationId, id }, { exported: 1, updated_at: now }),

  async addWallet(tx, organizationId, { wallet }) {
    const { id, name, sealedWallet, imported, exported } = wallet;
    const row = { id, organization_id: organizationId, name, sealed_wallet: sealedWallet };
    const flags = { exported: exported ? 1 : 0, imported: imported ? 1 : 0 };
    await tx
      .insertInto("wallets")
      .values({ ...row, ...flags, ...timesOf(wallet) })
      .execute();
  },

  renameWallet: (tx, organizationId, { id, name, now }) =>
    updateRows(tx, "wallets", { organizationId, id }, { ...(name === undefined ? {} : { name }), updated_at: now }),

  markWalletExported: (tx, organizationId, { id, now }) =>
    updateRows(tx, "wallets", { organizationId, id }, { exported: 1, updated_at: now }),

  async removeWallets(tx, organizationId, { ids }) {
    // Their accounts are deleted with the rows, which takes long on SQLite if there are many.
    if (tx.kind === "sqlite") {
      await refuseTooMany(tx, organizationId, ids);
      for (const id of ids) await removeAccounts(tx, organizationId, id);
    }
    await deleteRows(tx, "wallets", { organizationId, ids });
  },

  async addSecrets(tx, organizationId, { secrets }) {
    const rows = secrets.map(({ id, name, staticProperties, sealedSecret, exported, createdAt }) => ({
      id,
      organization_id: organizationId,
      name,
      static_properties: JSON.stringify(staticProperties),
      sealed_secret: sealedSecret,
      exported: exported ? 1 : 0,
      created_at: createdAt,
    }));
    await tx.insertInto("secrets").values(rows).execute();
  },

  markSecretsExported: (tx, organizationId, { ids }) =>
    updateRows(tx, "secrets", { organizationId, ids }, { exported: 1 }),

  removeSecrets: (tx, organizationId, { secrets }) =>
    deleteRows(tx, "secrets", { organizationId, ids: secrets.map(({ id }) => id) }),
} satisfies Partial<Writers>;

/** @throws KeysteadError WALLETS_TOO_LARGE, because other writes wait for the whole transaction, and it is rolled back if it takes too long */
async function refuseTooMany(tx: Transactor, organizationId: string, walletIds: readonly string[]): Promise<void> {
  const further = await tx
    .selectFrom("wallet_accounts")
    .select("organization_id")
    .where("organization_id", "=", organizationId)
    .where("wallet_id", "in", walletIds)
    .offset(MAX_ACCOUNTS_WITH_WALLETS)
    .limit(1)
    .executeTakeFirst();
  if (further) fail("WALLETS_TOO_LARGE", { limit: MAX_ACCOUNTS_WITH_WALLETS });
}

async function removeAccounts(tx: Transactor, organizationId: string, walletId: string): Promise<void> {
  const accounts = tx
    .selectFrom("wallet_accounts")
    .select(rowId.as("row_id"))
    .where("organization_id", "=", organizationId)
    .where("wallet_id", "=", walletId)
    .orderBy("id");
  await deleteInTurns(organizationId, tx.deleteFrom("wallet_accounts"), accounts);
}
