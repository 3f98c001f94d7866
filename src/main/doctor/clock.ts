import { type Clock, systemClock } from "../../kernel/clock.ts";
import type { Inspection } from "../../storage/inspection.ts";
import { clockApartMs } from "../clock-apart.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const NOTED_MS = 2_000;
/** Beyond it leases, one-time codes and the ages of requests mean something else on each machine. */
const BAD_MS = 30_000;

/** This machine's clock against PostgreSQL's; a SQLite database has this machine's. */
export async function checkClock(inspection: Pick<Inspection, "all">, clock: Clock = systemClock): Promise<Finding> {
  const aheadMs = await clockApartMs((sql) => inspection.all(sql), clock);
  const apartMs = Math.abs(aheadMs);
  const seconds = (apartMs / 1000).toFixed(1);
  if (apartMs < NOTED_MS) return ok("clock", "it agrees with the database's");
  const direction = aheadMs < 0 ? "ahead of" : "behind";
  const text = `this machine's is ${seconds} s ${direction} the database's; let NTP set both, such as: timedatectl set-ntp true`;
  return apartMs < BAD_MS ? warn("clock", text) : fail("clock", text);
}
