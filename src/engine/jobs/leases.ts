import { type Expression, type SqlBool, sql } from "kysely";
import { LONGEST_LEASE_MS } from "../../kernel/limits.ts";

/**
 * When a lease counts. One that ends later than any lease can was granted before the clock was set back; it belongs to nobody, or what it is on
 * would stand still until that time comes.
 */

/** A time in milliseconds, and the latest end of a lease that is granted at that time. */
export type LeaseTimes = { now: number; latest: number };

export const leaseTimesAt = (now: number): LeaseTimes => ({ now, latest: now + LONGEST_LEASE_MS });

/** Whether a lease with this end is in effect. */
export function isLeased(until: number, at: number): boolean {
  const { now, latest } = leaseTimesAt(at);
  return until > now && until <= latest;
}

/** The opposite as a condition on the column with the end. */
export const isFree = (until: Expression<number | null>, { now, latest }: LeaseTimes): Expression<SqlBool> =>
  sql<SqlBool>`(${until} <= ${now} or ${until} > ${latest})`;
