import { readFileSync } from "node:fs";
import { OPEN_FILES_BESIDE_CONNECTIONS } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";

/** Whoever connects when no further file can be opened is cut off by the system, and nothing here hears of it. */
export function warnOfFewOpenFiles({ maxConnections }: { maxConnections: number }, log: Logger): void {
  const openFiles = maxOpenFiles();
  const needed = maxConnections + OPEN_FILES_BESIDE_CONNECTIONS;
  if (openFiles === undefined || openFiles >= needed) return;
  log.warn(
    { openFiles, maxConnections },
    `${openFiles} files can be open, and connections count among them: past that, clients are cut off and nothing tells of it; raise the limit to ${needed} (LimitNOFILE of systemd, ulimit -n), or lower KEYSTEAD_MAX_CONNECTIONS`,
  );
}

/** Of this process. Node raises it to what it may have. Undefined where the system does not tell, as on macOS. */
function maxOpenFiles(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
