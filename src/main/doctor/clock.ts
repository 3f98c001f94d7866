import { type Clock, systemClock } from "../../kernel/clock.ts";
import { MAX_CLOCKS_APART_MS } from "../../kernel/limits.ts";
import type { Inspection } from "../../storage/inspection.ts";
import { clockApartMs } from "../clock-apart.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Beyond it nobody keeps time, and whatever a server does before it has looked at the database's means something else elsewhere. */
const BAD_MS = 30_000;

/** This machine's clock against PostgreSQL's; a SQLite database has this machine's. */
export async function checkClock(inspection: Pick<Inspection, "all">, clock: Clock = systemClock): Promise<Finding> {
  const aheadMs = await clockApartMs((sql) => inspection.all(sql), clock);
  const apartMs = Math.abs(aheadMs);
  const seconds = (apartMs / 1000).toFixed(1);
  if (apartMs < MAX_CLOCKS_APART_MS) return ok("clock", "it agrees with the database's");
  const direction = aheadMs < 0 ? "ahead of" : "behind";
  const text = `this machine's is ${seconds} s ${direction} the database's; let NTP set both, such as: timedatectl set-ntp true`;
  return apartMs < BAD_MS ? warn("clock", text) : fail("clock", text);
}
