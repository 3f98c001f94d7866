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

/** Activities of a month. */
export interface Use {
  count: number;
  /** Of their bodies and results, as they are stored. */
  bytes: number;
}

/** What is known of an organization's month, for a moment: what is stored, and what this server let in since. */
interface Known extends Use {
  quotas: Awaited<ReturnType<typeof findQuotas>>;
}

/**
 * Holds organizations to their activities a month, and to the bytes of those. Activities are counted by their rows, without a counter that all of an
 * organization's requests would have to wait for: the settled part of a month once, what came since each time, and both at most
 * once in a while. So an organization may be over its quota by what it sends to several servers
 * in that time, and by what is let in and not committed yet when rows are counted anew.
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
   * Counts an activity that is about to be made from a body of so many bytes; `isKnown` tells whether it was made already, and is
   * asked only above the quota. Below it one that was made already counts as well, and its result does not, until the rows are
   * counted anew.
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
    const look = this.#months.get(organizationId) ?? this.#begin(organizationId);
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

/** What activities an organization has had since the month began, in UTC. */
export class ActivitiesOfMonth {
  readonly #organizationId: string;
  /** Of the month that begins then: those that are settled, and the last of them. */
  #settled = { begin: Number.NaN, count: 0, bytes: 0, last: "", withBytes: false };

  constructor(organizationId: string) {
    this.#organizationId = organizationId;
  }

  /** @param withBytes without them `bytes` means nothing, and the database looks at its index alone */
  async count(read: Reader, now: number, { withBytes = true } = {}): Promise<Use> {
    const begin = beginOfMonth(now);
    if (this.#settled.begin !== begin || (withBytes && !this.#settled.withBytes))
      this.#settled = { begin, count: 0, bytes: 0, last: lowestIdAt(begin), withBytes };
    // Identifiers are in the order of time. One that was made a moment ago may be stored after another that was made later.
    const settles = lowestIdAt(Math.max(begin, now - SETTLED_ACTIVITY_MS));
    const settled = await this.#countAfter(read, withBytes, this.#settled.last, settles);
    this.#settled = { ...this.#settled, ...together(this.#settled, settled), last: settled.last };
    return together(this.#settled, await this.#countAfter(read, withBytes, settled.last));
  }

  /** In pieces, so that none of them keeps the database for long. */
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
