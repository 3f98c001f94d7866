import { readFileSync } from "node:fs";
import { OPEN_FILES_BESIDE_CONNECTIONS } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";

/** If the process has too many open files, the system drops new connections, and the server does not notice. So warn of a low limit at the start. */
export function warnOfFewOpenFiles({ maxConnections }: { maxConnections: number }, log: Logger): void {
  const openFiles = maxOpenFiles();
  const needed = maxConnections + OPEN_FILES_BESIDE_CONNECTIONS;
  if (openFiles === undefined || openFiles >= needed) return;
  log.warn(
    { openFiles, maxConnections },
    `${openFiles} files can be open, including connections. Beyond that, clients are cut off, and nothing is logged: raise the limit to ${needed} (LimitNOFILE of systemd, ulimit -n), or lower KEYSTEAD_MAX_CONNECTIONS`,
  );
}

/** The limit of this process, which Node raises as far as it may. Undefined if the system does not report it, as on macOS. */
function maxOpenFiles(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
