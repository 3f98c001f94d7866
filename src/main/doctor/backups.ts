import { accessSync, constants, statSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { nearestThere } from "../../kernel/free-bytes.ts";
import { newestBackup } from "../backup/schedule.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK = "backup";

/** Checks the age of the newest scheduled backup. A backup in progress or being retried may be late without counting as missed. */
export function checkBackups({ backup }: Pick<Config, "backup">, clock: Clock): Finding {
  if (!backup) return ok(CHECK, "none are scheduled; make backups with `keystead backup`, or set `backup`");
  const { every, directory } = backup;
  const now = clock();
  const newest = newestBackup(backup, now);
  const remedy = `check that the server is running, whether its log reports a failed backup, and that there is room in ${directory}`;
  const place = nearestThere(directory);
  const hindrance = hindranceIn(place);
  if (hindrance) {
    const missing = place === directory ? "" : `${directory} does not exist and cannot be created: `;
    const text = `${missing}${place} ${hindrance}, but backups are written to ${directory}. Mount it if it is a disk, set \`backup.directory\` to another place, or, if the server has another user, run this command as that user`;
    return fail(CHECK, text);
  }
  if (newest === 0) return warn(CHECK, `there are none in ${directory} yet; ${remedy}`);
  const ageMs = now - newest;
  const text = `the newest is from ${new Date(newest).toISOString()}`;
  if (ageMs > 2 * every * 1000) return fail(CHECK, `${text}, and there should be one every ${every} s; ${remedy}`);
  return ok(CHECK, text);
}

function hindranceIn(place: string): string | undefined {
  if (!statSync(place).isDirectory()) return "is not a folder";
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    return undefined;
  } catch {
    return "cannot be written by this user";
  }
}
