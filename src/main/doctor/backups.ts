import { accessSync, constants, statSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { nearestThere } from "../../kernel/free-bytes.ts";
import { newestBackup } from "../backup/schedule.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK = "backup";

/** Checks the age of the newest scheduled backup. A backup in progress or being retried may be late without counting as missed. */
export function checkBackups({ backup }: Pick<Config, "backup">, clock: Clock): Finding {
  if (!backup) return ok(CHECK, "none is scheduled; make them with keystead backup, or set `backup`");
  const { every, directory } = backup;
  const now = clock();
  const newest = newestBackup(backup, now);
  const remedy = `is the server running, does its log tell of a failed backup, and is there room in ${directory}?`;
  const place = nearestThere(directory);
  const hindrance = hindranceIn(place);
  if (hindrance) {
    const missing = place === directory ? "" : `${directory} is not there and cannot be made: `;
    const text = `${missing}${place} ${hindrance}, and backups are to go to ${directory}; mount it if it is a disk, set \`backup.directory\`, or run this as the user of the server if it is another`;
    return fail(CHECK, text);
  }
  if (newest === 0) return warn(CHECK, `there is none in ${directory} yet; ${remedy}`);
  const ageMs = now - newest;
  const text = `the newest is of ${new Date(newest).toISOString()}`;
  if (ageMs > 2 * every * 1000) return fail(CHECK, `${text}, and there should be one every ${every} s; ${remedy}`);
  return ok(CHECK, text);
}

function hindranceIn(place: string): string | undefined {
  if (!statSync(place).isDirectory()) return "is no folder";
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    return undefined;
  } catch {
    return "cannot be written by this user";
  }
}
