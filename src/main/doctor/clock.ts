import { type Clock, systemClock } from "../../kernel/clock.ts";
import { MAX_CLOCKS_APART_MS } from "../../kernel/limits.ts";
import type { Inspection } from "../../storage/inspection.ts";
import { clockApartMs } from "../clock-apart.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/**
 * A larger difference means that one of the clocks is not synchronized. Times that a server uses before it first reads the database's clock
 * are then wrong for the other servers.
 */
const BAD_MS = 30_000;

/** Compares this machine's clock with PostgreSQL's. A SQLite database has no clock of its own. */
export async function checkClock(inspection: Pick<Inspection, "all">, clock: Clock = systemClock): Promise<Finding> {
  const aheadMs = await clockApartMs((sql) => inspection.all(sql), clock);
  const apartMs = Math.abs(aheadMs);
  const seconds = (apartMs / 1000).toFixed(1);
  if (apartMs < MAX_CLOCKS_APART_MS) return ok("clock", "it agrees with the database's");
  const direction = aheadMs < 0 ? "ahead of" : "behind";
  const text = `this machine's clock is ${seconds} s ${direction} the database's; let NTP set both, for example with: timedatectl set-ntp true`;
  return apartMs < BAD_MS ? warn("clock", text) : fail("clock", text);
}
