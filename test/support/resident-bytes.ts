import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const KIB = 1024;

/** Memory that a process has in RAM. Small Linux images have no `ps`, other systems no /proc. */
export function residentBytes(pid: number): number {
  if (!existsSync("/proc/self/status")) {
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * KIB;
  }
  const [, kib] = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * KIB;
}
