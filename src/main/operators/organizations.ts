import { type QuotaName, quotaNames } from "../../authority/quotas.ts";
import { ALL, type RootQuorum } from "../../authority/state.ts";
import { ActivitiesOfMonth } from "../../engine/activities/monthly-quota.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import { findRootQuorum } from "../../engine/authority/root-quorum.ts";
import { countSubOrganizations, findQuotaSettings } from "../../engine/authority/stored-quotas.ts";
import { HIGHEST_SUB_ORGANIZATIONS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { requireOrganization } from "./operator.ts";

/** Shows organizations to operators, without a stamp. */

export interface ShownOrganization {
  organizationId: string;
  name: string;
  parentId: string | null;
  /** RFC 3339. */
  createdAt: string;
}

export interface ShownQuota {
  /** Null means no limit. */
  figure: number | null;
  used: number;
  /** Whether an operator set it for this organization. */
  isOwn: boolean;
}

export interface OrganizationDetails extends ShownOrganization {
  rootQuorum: RootQuorum;
  quotas: Record<QuotaName, ShownQuota>;
}

/**
 * Organizations without a parent, or those below one, the oldest first, starting after `after`.
 *
 * @throws StartProblem if there is no such parent
 */
export async function listOrganizations(
  read: Reader,
  { parentId, after, limit }: { parentId: string | undefined; after: string | undefined; limit: number },
): Promise<ShownOrganization[]> {
  if (parentId !== undefined) await requireOrganization(read, parentId);
  const rows = await read
    .selectFrom("organizations")
    .select(["id", "name", "parent_id", "created_at"])
    .where("parent_id", parentId === undefined ? "is" : "=", parentId ?? null)
    .where("deleted_at", "is", null)
    .$if(after !== undefined, (organizations) => organizations.where("id", ">", after as string))
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(({ id, name, parent_id, created_at }) => ({
    organizationId: id,
    name,
    parentId: parent_id,
    createdAt: new Date(created_at).toISOString(),
  }));
}

/** @throws StartProblem if there is no such organization */
export async function showOrganization(
  read: Reader,
  organizationId: string,
  now: number,
): Promise<OrganizationDetails> {
  const { name, parentId } = await requireOrganization(read, organizationId);
  const [{ created_at: createdAt }, rootQuorum, quotas] = await Promise.all([
    read.selectFrom("organizations").select("created_at").where("id", "=", organizationId).executeTakeFirstOrThrow(),
    findRootQuorum(read, organizationId),
    showQuotas(read, organizationId, now),
  ]);
  return { organizationId, name, parentId, createdAt: new Date(createdAt).toISOString(), rootQuorum, quotas };
}

async function showQuotas(read: Reader, organizationId: string, now: number): Promise<Record<QuotaName, ShownQuota>> {
  const { usual, own } = await findQuotaSettings(read, organizationId);
  const month = await new ActivitiesOfMonth(organizationId).count(read, now);
  const used: Record<QuotaName, number> = {
    ...(await onAuthority(read, organizationId, (view) => ({
      users: view.part("userCount", ALL),
      privateKeys: view.part("privateKeyCount", ALL),
      wallets: view.part("walletCount", ALL),
      interfaceBytes: view.part("interfaceTotals", ALL).bytes,
    }))),
    subOrganizations: await countSubOrganizations(read, organizationId, HIGHEST_SUB_ORGANIZATIONS),
    activitiesPerMonth: month.count,
    activityBytesPerMonth: month.bytes,
  };
  const entries = quotaNames.map((quota): [QuotaName, ShownQuota] => {
    const figure = quota in own ? own[quota] : usual[quota];
    return [quota, { figure: figure ?? null, used: used[quota], isOwn: quota in own }];
  });
  return Object.fromEntries(entries) as Record<QuotaName, ShownQuota>;
}
