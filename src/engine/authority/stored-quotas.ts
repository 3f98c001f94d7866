import { sql } from "kysely";
import { type QuotaName, type Quotas, quotaNames, refuseOver, USUAL_QUOTAS } from "../../authority/quotas.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** Quotas as they are stored: those of the installation, which its servers write at their start, and an organization's own. */

/** The row of `installation`; what is not in it is as usual. */
const OF_INSTALLATION = "quotas";

const selectQuotas = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("installation")
    .select(["name", sql<string | null>`value`.as("figure")])
    .where("name", "=", OF_INSTALLATION)
    .unionAll(
      db
        .selectFrom("organization_quotas")
        .select(["name", sql<string | null>`cast(figure as text)`.as("figure")])
        .where("organization_id", "=", organizationId),
    ),
);

/** What holds for an organization. */
export async function findQuotas(read: Reader, organizationId: string): Promise<Quotas> {
  const { usual, own } = await findQuotaSettings(read, organizationId);
  return { ...usual, ...own };
}

/** The same in its parts: what holds for all, and what an operator set in its place. */
export async function findQuotaSettings(
  read: Reader,
  organizationId: string,
): Promise<{ usual: Quotas; own: Partial<Quotas> }> {
  const rows = await selectQuotas(read, { organizationId });
  const ofInstallation = rows.find(({ name }) => name === OF_INSTALLATION)?.figure;
  const own = rows.filter(({ name }) => isQuotaName(name));
  return {
    usual: { ...USUAL_QUOTAS, ...(ofInstallation ? (JSON.parse(ofInstallation) as Partial<Quotas>) : {}) },
    own: Object.fromEntries(own.map(({ name, figure }) => [name, figure === null ? null : Number(figure)])),
  };
}

/** A row that a later version wrote is none of ours. */
const isQuotaName = (name: string): name is QuotaName => quotaNames.some((each) => each === name);

/** Has all servers of the database go by these quotas where an organization has none of its own; resolves to whether that is new. */
export async function storeQuotasOfInstallation(database: Database, quotas: Quotas): Promise<boolean> {
  const value = JSON.stringify(quotas);
  const stored = await database.read
    .selectFrom("installation")
    .select("value")
    .where("name", "=", OF_INSTALLATION)
    .executeTakeFirst();
  if ((stored?.value ?? JSON.stringify(USUAL_QUOTAS)) === value) return false;
  await database.transact(OF_INSTALLATION, async (tx) => {
    await tx
      .insertInto("installation")
      .values({ name: OF_INSTALLATION, value })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
      .execute();
  });
  return true;
}

/** Gives an organization a quota of its own, or with `undefined` that of the installation again. */
export async function storeQuota(
  tx: Transactor,
  organizationId: string,
  name: QuotaName,
  figure: number | null | undefined,
  now: number,
): Promise<void> {
  if (figure === undefined) {
    await tx
      .deleteFrom("organization_quotas")
      .where("organization_id", "=", organizationId)
      .where("name", "=", name)
      .execute();
    return;
  }
  await tx
    .insertInto("organization_quotas")
    .values({ organization_id: organizationId, name, figure, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.columns(["organization_id", "name"]).doUpdateSet({ figure, updated_at: now }))
    .execute();
}

/**
 * Asked after a sub-organization was added below `parentId`, in the transaction that adds it.
 *
 * @throws KeysteadError QUOTA_EXCEEDED
 */
export async function enforceSubOrganizationQuota(tx: Transactor, parentId: string): Promise<void> {
  const quotas = await findQuotas(tx, parentId);
  const most = quotas.subOrganizations;
  // As a rule there is none, and nothing to count.
  if (most !== null) refuseOver(quotas, "subOrganizations", await countSubOrganizations(tx, parentId, most + 1));
}

/** How many there are below an organization, counted up to `most`. */
export async function countSubOrganizations(read: Reader, parentId: string, most: number): Promise<number> {
  const counted = await read
    .selectFrom((from) =>
      from
        .selectFrom("organizations")
        .select("id")
        .where("parent_id", "=", parentId)
        .where("deleted_at", "is", null)
        .limit(most)
        .as("below"),
    )
    .select((row) => row.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return counted.count;
}
