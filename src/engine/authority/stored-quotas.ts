import { sql } from "kysely";
import { type QuotaName, type Quotas, quotaNames, refuseOver, USUAL_QUOTAS } from "../../authority/quotas.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { storeInstallationRow } from "../../storage/installation-rows.ts";
import { prepared } from "../../storage/prepared.ts";

/** Stored quotas: those of the installation, which servers write when they start, and those of single organizations. */

/** The name of the row in `installation`; quotas that are not in it have their defaults. */
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

/** The effective quotas of an organization. */
export async function findQuotas(read: Reader, organizationId: string): Promise<Quotas> {
  const { usual, own } = await findQuotaSettings(read, organizationId);
  return { ...usual, ...own };
}

/** The quotas of the installation, and those that an operator set for the organization. */
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

/** False for a quota that only a later version knows. */
const isQuotaName = (name: string): name is QuotaName => quotaNames.some((each) => each === name);

/** Stores the quotas that all servers of the database apply to organizations without their own; resolves to whether they changed. */
export async function storeQuotasOfInstallation(database: Database, quotas: Quotas): Promise<boolean> {
  const value = JSON.stringify(quotas);
  const stored = await database.read
    .selectFrom("installation")
    .select("value")
    .where("name", "=", OF_INSTALLATION)
    .executeTakeFirst();
  if ((stored?.value ?? JSON.stringify(USUAL_QUOTAS)) === value) return false;
  await database.transact(OF_INSTALLATION, (tx) => storeInstallationRow(tx, OF_INSTALLATION, value));
  return true;
}

/** Sets a quota of an organization; `undefined` resets it to the installation's. */
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
 * Checks the quota after a sub-organization of `parentId` was added, in the same transaction.
 *
 * @throws KeysteadError QUOTA_EXCEEDED
 */
export async function enforceSubOrganizationQuota(tx: Transactor, parentId: string): Promise<void> {
  const quotas = await findQuotas(tx, parentId);
  const most = quotas.subOrganizations;
  // Usually there is no limit, and nothing to count.
  if (most !== null) refuseOver(quotas, "subOrganizations", await countSubOrganizations(tx, parentId, most + 1));
}

/** The number of sub-organizations of an organization, counted up to `most`. */
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
