import { sql } from "kysely";
import { refuseOver } from "../../authority/quotas.ts";
import type { Clock } from "../../kernel/clock.ts";
import { lowestIdAt } from "../../kernel/ids.ts";
import {
  COUNTED_ACTIVITIES_AT_ONCE,
  MAX_RATE_BUCKETS,
  QUOTA_KEPT_MS,
  SETTLED_ACTIVITY_MS,
  SIZED_ACTIVITIES_AT_ONCE,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { sharedAnswer } from "../../kernel/shared-answer.ts";
import type { Reader } from "../../storage/engine.ts";
import { findQuotas } from "../authority/stored-quotas.ts";
import { storedBytes } from "./size.ts";

/** An organization's activities in a month. */
export interface Use {
  count: number;
  /** The stored bytes of their bodies and results. */
  bytes: number;
}

/** A short-lived count of an organization's month: the stored activities, and those that this server admitted since. */
interface Known extends Use {
  quotas: Awaited<ReturnType<typeof findQuotas>>;
}

/**
 * Enforces the quotas of activities per month and of their bytes. It counts rows, because a counter would serialize all requests of an
 * organization: the settled part of a month once, later rows each time, and at most one count per interval. An organization can therefore
 * exceed its quota by what it sends to other servers within that interval, and by what is admitted but not committed yet when rows are
 * counted again.
 */
export class MonthlyQuota {
  readonly #read: Reader;
  readonly #clock: Clock;
  readonly #months = recentlyUsed<() => Promise<Known>>({ entries: MAX_RATE_BUCKETS });

  constructor(read: Reader, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /**
   * Counts a new activity with a body of this many bytes. `isKnown` tells whether the body was submitted before; it is called only above
   * the quota. Below it, a repeated submission counts too, and results do not, until the rows are counted again.
   *
   * @throws KeysteadError QUOTA_EXCEEDED
   */
  async take(organizationId: string, bytes: number, isKnown: () => Promise<boolean>): Promise<void> {
    const known = await this.#look(organizationId)();
    const { quotas } = known;
    if (!isCounted(quotas)) return;
    try {
      refuseOver(quotas, "activitiesPerMonth", known.count + 1);
      refuseOver(quotas, "activityBytesPerMonth", known.bytes + bytes);
    } catch (error) {
      if (await isKnown()) return;
      throw error;
    }
    known.count++;
    known.bytes += bytes;
  }

  #look(organizationId: string): () => Promise<Known> {
    const known = this.#months.get(organizationId);
    if (known) return known;
    const look = this.#begin(organizationId);
    this.#months.set(organizationId, look);
    return look;
  }

  #begin(organizationId: string): () => Promise<Known> {
    const month = new ActivitiesOfMonth(organizationId);
    return sharedAnswer(async () => {
      const quotas = await findQuotas(this.#read, organizationId);
      if (!isCounted(quotas)) return { quotas, count: 0, bytes: 0 };
      const withBytes = quotas.activityBytesPerMonth !== null;
      return { quotas, ...(await month.count(this.#read, this.#clock(), { withBytes })) };
    }, QUOTA_KEPT_MS);
  }
}

const isCounted = ({ activitiesPerMonth, activityBytesPerMonth }: Known["quotas"]): boolean =>
  activitiesPerMonth !== null || activityBytesPerMonth !== null;

/** Counts the activities of an organization since the start of the month, in UTC. */
export class ActivitiesOfMonth {
  readonly #organizationId: string;
  /** The settled activities of the month that starts at `begin`, and the id of the last one. */
  #settled = { begin: Number.NaN, count: 0, bytes: 0, last: "", withBytes: false };

  constructor(organizationId: string) {
    this.#organizationId = organizationId;
  }

  /** @param withBytes if false, `bytes` is meaningless and the database only scans the index */
  async count(read: Reader, now: number, { withBytes = true } = {}): Promise<Use> {
    const begin = beginOfMonth(now);
    if (this.#settled.begin !== begin || (withBytes && !this.#settled.withBytes))
      this.#settled = { begin, count: 0, bytes: 0, last: lowestIdAt(begin), withBytes };
    // Identifiers are ordered by time, but an older one may be committed a moment after a newer one.
    const settles = lowestIdAt(Math.max(begin, now - SETTLED_ACTIVITY_MS));
    const settled = await this.#countAfter(read, withBytes, this.#settled.last, settles);
    this.#settled = { ...this.#settled, ...together(this.#settled, settled), last: settled.last };
    return together(this.#settled, await this.#countAfter(read, withBytes, settled.last));
  }

  /** Counts in batches, so that no statement occupies the database for long. */
  async #countAfter(read: Reader, withBytes: boolean, after: string, before?: string): Promise<Use & { last: string }> {
    let found = { count: 0, bytes: 0, last: after };
    for (;;) {
      const piece = await this.#countPiece(read, withBytes, found.last, before);
      found = { ...together(found, piece), last: piece.last ?? found.last };
      if (piece.count < atOnce(withBytes)) return found;
    }
  }

  async #countPiece(read: Reader, withBytes: boolean, after: string, before: string | undefined) {
    const { bytes, ...piece } = await read
      .selectFrom((from) =>
        from
          .selectFrom("activities")
          .select(["id", (withBytes ? storedBytes : sql<number>`0`).as("bytes")])
          .where("organization_id", "=", this.#organizationId)
          .where("id", ">", after)
          .$if(before !== undefined, (rows) => rows.where("id", "<", before as string))
          .orderBy("id")
          .limit(atOnce(withBytes))
          .as("piece"),
      )
      .select((row) => [
        row.fn.countAll<number>().as("count"),
        row.fn.max("id").as("last"),
        row.fn.sum("bytes").as("bytes"),
      ])
      .executeTakeFirstOrThrow();
    return { ...piece, bytes: Number(bytes ?? 0) };
  }
}

const atOnce = (withBytes: boolean): number => (withBytes ? SIZED_ACTIVITIES_AT_ONCE : COUNTED_ACTIVITIES_AT_ONCE);

const together = (one: Use, other: Use): Use => ({ count: one.count + other.count, bytes: one.bytes + other.bytes });

function beginOfMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}
