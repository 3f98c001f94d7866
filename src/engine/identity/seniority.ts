import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from "kysely";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Page } from "../paging.ts";

/**
 * Anybody may register anybody's public key or credential ID: no proof is asked for. So several sub-organizations of a parent
 * may know the same credential, and which of them is meant, where a request does not say it, is told by what its holder did.
 * The senior of them are those in which it has stamped a request that names the organization, in the order in which it first
 * did; then those that were made with it; then the others.
 *
 * Seniority is one number, so that an index holds the order: the time of that first request in milliseconds, or one of these.
 */
const MADE_WITH = 1_000_000_000_000_000;
/** The default of the columns. */
const ADDED_LATER = 2_000_000_000_000_000;

export type CredentialTable = "api_keys" | "authenticators";
const keyColumns = { api_keys: "c.public_key", authenticators: "c.credential_id" } as const;

/** Whether the credential has stamped a request that names its organization. */
export const hasActed = (seniority: number): boolean => seniority < MADE_WITH;

/**
 * Organizations of the same rank have the same claim; the lowest goes first. Those in which the credential has acted are its holder's own, and
 * each has a rank by itself.
 *
 * @param place in the order of seniority
 */
export function rankOf(seniority: number, place: number): number {
  if (hasActed(seniority)) return place;
  return seniority < ADDED_LATER ? RANK_OF_MADE_WITH : RANK_OF_ADDED_LATER;
}

/** After every place that there can be. */
const RANK_OF_MADE_WITH = Number.MAX_SAFE_INTEGER - 1;
const RANK_OF_ADDED_LATER = Number.MAX_SAFE_INTEGER;

/** Notes that a credential has acted; only the first time counts. */
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

/** Notes that all credentials that the organization has now are those it was made with. */
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
 * The sub-organizations of a parent that know a credential, the senior ones first. A page `before` one of them holds what
 * comes after it in this order, as the pages of other lists hold what is older.
 *
 * @throws KeysteadError FIELD_INVALID for a cursor that is none of them
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
    // Asked of each row: a join may begin with all the sub-organizations that there are.
    .where((row) => row(parentOf(row.selectFrom), "=", parentId));

const parentOf = (selectFrom: ExpressionBuilder<Schema & { c: Schema["api_keys"] }, "c">["selectFrom"]) =>
  selectFrom("organizations as o")
    .select("o.parent_id")
    .whereRef("o.id", "=", "c.organization_id")
    .where("o.deleted_at", "is", null);

const PLACE = sql`(${sql.ref("c.seniority")}, ${sql.ref("c.id")})`;

/** Beyond which place the page starts; undefined for the first. */
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
