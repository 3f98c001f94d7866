import { type Fact, goneFact } from "./facts.ts";

/** How rows of a table are read, and what they claim, to be accounted for by activities. */

/** It is met where an activity has said one of these facts; where it `isRefuted` by them, if none has. */
export interface Claim {
  /** In the plural: what is wrong with rows of which it was not, or was. */
  what: string;
  facts: readonly Fact[];
  isRefuted?: boolean;
}

/** A row, or what is no longer one. */
export interface ClaimingRow {
  organizationId: string;
  id: string;
  /** Milliseconds: nothing was said of it before. */
  since: number;
  claims: readonly Claim[];
  /** That it is there, where its being gone would give somebody power. */
  there?: Fact;
}

/** Rows of one table, with what is known of their organization. */
export interface Source {
  /** Its columns and tables, of which the rows' own is `t`. */
  select: string;
  /** The columns of `t` that tell its rows apart and order them; they are selected too. */
  key: readonly string[];
  /** Whether one may take hundreds of kilobytes. */
  areLarge?: true;
  claimsOf: (row: unknown) => ClaimingRow;
}

/** No id is given twice: what an activity removed cannot be there. */
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

/** What a column of JSON comes to; what is none of the kind stands for itself, as no activity says it. */
export function textsIn<Value>(json: string, textsOf: (value: Value) => string[]): string[] {
  try {
    return textsOf(JSON.parse(json) as Value);
  } catch {
    return [json];
  }
}
