import { type Fact, goneFact } from "./facts.ts";

/** How rows of a table are read, and their claims, which activities must account for. */

/** A claim is met if an activity contains one of its facts. If it `isRefuted` by them, it is met if none does. */
export interface Claim {
  /** What is wrong with rows whose claim is not met, in the plural. */
  what: string;
  facts: readonly Fact[];
  isRefuted?: boolean;
}

/** A row with its claims, or a row that does not exist any more. */
export interface ClaimingRow {
  organizationId: string;
  id: string;
  /** The time before which no activity can be about it, in milliseconds. */
  since: number;
  claims: readonly Claim[];
  /** The fact that it exists, if its absence would give somebody power. */
  there?: Fact;
}

/** Rows of one table, with facts of their organization. */
export interface Source {
  /** The columns and tables of the query; the rows' own table is `t`. */
  select: string;
  /** The columns of `t` that identify and order its rows; they are selected too. */
  key: readonly string[];
  /** True if a row may have hundreds of kilobytes. */
  areLarge?: true;
  claimsOf: (row: unknown) => ClaimingRow;
}

/** Ids are never reused, so a row that an activity removed cannot exist. */
export const isNotGone = (what: string, id: string): Claim => ({
  what: `${what} that an activity removed`,
  facts: [goneFact(id)],
  isRefuted: true,
});

export const source = <Row>(given: Omit<Source, "claimsOf"> & { claimsOf: (row: Row) => ClaimingRow }): Source => ({
  ...given,
  claimsOf: given.claimsOf as Source["claimsOf"],
});

export interface InOrganization {
  organization_id: string;
  parent_id: string | null;
  organization_created_at: number;
}
export const ORGANIZATION = "o.parent_id, o.created_at as organization_created_at";
export const joined = (table: string): string => `from ${table} t join organizations o on o.id = t.organization_id`;

export const claiming = (
  row: Pick<ClaimingRow, "organizationId" | "id" | "since">,
  what: string,
  facts: readonly Fact[],
): ClaimingRow => ({ ...row, claims: [{ what, facts }] });

/** The strings in a JSON column. A value that cannot be parsed is returned as it is, because no activity contains it. */
export function textsIn<Value>(json: string, textsOf: (value: Value) => string[]): string[] {
  try {
    return textsOf(JSON.parse(json) as Value);
  } catch {
    return [json];
  }
}
