import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

let clockTicks: number | undefined;

function ticksPerSecond(): number {
  clockTicks ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return clockTicks;
}

/**
 * CPU seconds, user and system, that this process and its living descendants have used; of those that ended, what their
 * parents have been told (proc_pid_stat(5): utime, stime, cutime, cstime). 0 where there is no /proc.
 */
export function cpuSeconds(pid: number): number {
  const processes = readProcesses();
  const ticks = treeOf(processes, pid).reduce((sum, member) => sum + (processes.get(member)?.ticks ?? 0), 0);
  return ticks / ticksPerSecond();
}

/** This process and its living descendants. */
export const processTree = (pid: number): number[] => treeOf(readProcesses(), pid);

function treeOf(processes: ReadonlyMap<number, { parentPid: number }>, pid: number): number[] {
  if (!processes.has(pid)) return [];
  const tree = [pid];
  for (const parent of tree) {
    for (const [child, { parentPid }] of processes) if (parentPid === parent) tree.push(child);
  }
  return tree;
}

/**
 * CPU seconds that all processes of the machine have used, ours and others (proc_stat(5): user, nice, system, irq, softirq,
 * steal). 0 where there is no /proc.
 */
export function machineCpuSeconds(): number {
  try {
    return parseMachineStat(readFileSync("/proc/stat", "utf8")) / ticksPerSecond();
  } catch {
    return 0;
  }
}

/** Busy ticks in /proc/stat; guests are counted in user time already. */
export function parseMachineStat(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = stat
    .slice(0, stat.indexOf("\n"))
    .split(/ +/)
    .slice(1)
    .map(Number);
  return user + nice + system + irq + softirq + steal;
}

function readProcesses(): Map<number, { parentPid: number; ticks: number }> {
  const found = new Map<number, { parentPid: number; ticks: number }>();
  for (const name of entriesOfProc()) {
    if (!/^[0-9]+$/.test(name)) continue;
    try {
      found.set(Number(name), parseStat(readFileSync(`/proc/${name}/stat`, "utf8")));
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

function entriesOfProc(): string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}

/** The fields of /proc/<pid>/stat; the second, the command, may hold blanks and parentheses. */
export function parseStat(stat: string): { parentPid: number; ticks: number } {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parentPid: field(4), ticks: field(14) + field(15) + field(16) + field(17) };
}
