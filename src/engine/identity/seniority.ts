import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from "kysely";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Page } from "../paging.ts";

/**
 * Anybody can register anybody's public key or credential ID, because no proof of possession is required. So several sub-organizations of a
 * parent may know the same credential. If a request does not say which one is meant, the credential's use decides: first the organizations
 * that it has stamped a request for, in the order of its first request; then those that were created with it; then the others.
 *
 * Seniority is a single number, so that an index provides the order: the time of that first request in milliseconds, or one of these values.
 */
const MADE_WITH = 1_000_000_000_000_000;
/** The default value of the columns. */
const ADDED_LATER = 2_000_000_000_000_000;

export type CredentialTable = "api_keys" | "authenticators";
const keyColumns = { api_keys: "c.public_key", authenticators: "c.credential_id" } as const;

/** Whether the credential has stamped a request that names its organization. */
export const hasActed = (seniority: number): boolean => seniority < MADE_WITH;

/**
 * The rank of an organization; the lowest comes first, and organizations of equal rank cannot be told apart. Organizations in which the
 * credential has acted belong to its holder, and each has a rank of its own.
 *
 * @param place in the order of seniority
 */
export function rankOf(seniority: number, place: number): number {
  if (hasActed(seniority)) return place;
  return seniority < ADDED_LATER ? RANK_OF_MADE_WITH : RANK_OF_ADDED_LATER;
}

/** Higher than every possible place. */
const RANK_OF_MADE_WITH = Number.MAX_SAFE_INTEGER - 1;
const RANK_OF_ADDED_LATER = Number.MAX_SAFE_INTEGER;

/** Records that a credential has acted. Only the first time counts. */
export const noteFirstUse = (table: CredentialTable) =>
  preparedWrite<{ organizationId: string; id: string; now: number }>()((db, { organizationId, id, now }) =>
    db
      .updateTable(table as "api_keys")
      .set({ seniority: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .where("seniority", ">=", MADE_WITH)
      .returning("id"),
  );

/** Records that the organization was created with its present credentials. */
export async function noteMadeWith(tx: Transactor, organizationId: string): Promise<void> {
  for (const table of ["api_keys", "authenticators"] as const) {
    await tx
      .updateTable(table as "api_keys")
      .set({ seniority: MADE_WITH })
      .where("organization_id", "=", organizationId)
      .execute();
  }
}

/** A sub-organization that knows a credential. */
export interface Knowing {
  organizationId: string;
  seniority: number;
}

/**
 * The sub-organizations of a parent that know a credential, in order of seniority. A page `before` one of them contains those that follow it
 * in this order, just as pages of other lists contain older objects.
 *
 * @throws KeysteadError FIELD_INVALID if the cursor is not one of them
 */
export async function subOrganizationsKnowing(
  read: Reader,
  table: CredentialTable,
  key: string,
  parentId: string,
  page: Page,
): Promise<Knowing[]> {
  const upwards = page.after !== undefined;
  const order = upwards ? "desc" : "asc";
  const holding = holdersBelow(read, table, key, parentId);
  const start = await startOf(holding, page);
  const rows = await holding
    .$if(start !== undefined, (rows) => rows.where(sql<SqlBool>`${PLACE} ${sql.raw(upwards ? "<" : ">")} ${start}`))
    .orderBy("c.seniority", order)
    .orderBy("c.id", order)
    .limit(page.limit)
    .execute();
  const knowing = rows.map(({ organization_id: organizationId, seniority }) => ({ organizationId, seniority }));
  return upwards ? knowing.reverse() : knowing;
}

const holdersBelow = (read: Reader, table: CredentialTable, key: string, parentId: string) =>
  read
    .selectFrom(`${table} as c` as "api_keys as c")
    .select(["c.organization_id", "c.id", "c.seniority"])
    .where(sql.ref(keyColumns[table]), "=", key)
    // A condition per row, because the planner might start a join with all sub-organizations.
    .where((row) => row(parentOf(row.selectFrom), "=", parentId));

const parentOf = (selectFrom: ExpressionBuilder<Schema & { c: Schema["api_keys"] }, "c">["selectFrom"]) =>
  selectFrom("organizations as o")
    .select("o.parent_id")
    .whereRef("o.id", "=", "c.organization_id")
    .where("o.deleted_at", "is", null);

const PLACE = sql`(${sql.ref("c.seniority")}, ${sql.ref("c.id")})`;

/** The place after which the page starts; undefined for the first page. */
async function startOf(
  holding: ReturnType<typeof holdersBelow>,
  { before, after }: Page,
): Promise<RawBuilder<unknown> | undefined> {
  const organizationId = before ?? after;
  if (organizationId === undefined) return undefined;
  const row = await holding.where("c.organization_id", "=", organizationId).executeTakeFirst();
  if (!row) {
    const field = `paginationOptions.${before === undefined ? "after" : "before"}`;
    return fail("FIELD_INVALID", { field, reason: "must be one of the sub-organizations that know this credential" });
  }
  return sql`(${row.seniority}, ${row.id})`;
}
