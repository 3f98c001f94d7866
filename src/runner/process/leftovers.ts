import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Ends programs that a killed runner left behind. Each program is recorded in a file named after its process id, which contains the
 * kernel's start time of the process. So the next runner ends these programs and no other process that has got the same id since. Processes
 * that a program starts may leave its process group. If programs have their own users, the users are recorded too, and all their processes
 * are ended.
 */

const LOOK_AGAIN_MS = 20;

type Folder = "processes" | "users";

const fileOf = (directory: string, folder: Folder, id: number): string => join(directory, folder, String(id));

function write(directory: string, folder: Folder, id: number, content: string): void {
  mkdirSync(join(directory, folder), { recursive: true, mode: 0o700 });
  writeFileSync(fileOf(directory, folder, id), content);
}

function noted(directory: string, folder: Folder): number[] {
  mkdirSync(join(directory, folder), { recursive: true, mode: 0o700 });
  return readdirSync(join(directory, folder)).map(Number);
}

export const note = (directory: string, pid: number): void => write(directory, "processes", pid, startOf(pid) ?? "");

export const forget = (directory: string, pid: number): void =>
  rmSync(fileOf(directory, "processes", pid), { force: true });

/** Call this before the first program of this user starts. */
export const noteUser = (directory: string, uid: number): void => write(directory, "users", uid, "");

/** Ends the programs that an earlier runner left behind. Resolves when their addresses are free. */
export async function endLeftovers(directory: string): Promise<void> {
  for (const pid of noted(directory, "processes")) {
    const start = readFileSync(fileOf(directory, "processes", pid), "utf8");
    while (start !== "" && startOf(pid) === start) {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {
        break;
      }
      await lookAgain();
    }
    forget(directory, pid);
  }
  for (const uid of noted(directory, "users")) await endUser(directory, uid);
}

/** Ends all processes of a user. Resolves when none is left. */
export async function endUser(directory: string, uid: number): Promise<void> {
  do await killAllOf(uid);
  while (isBusy(uid) && (await lookAgain()));
  rmSync(fileOf(directory, "users", uid), { force: true });
}

const lookAgain = (): Promise<true> => new Promise((resolve) => setTimeout(() => resolve(true), LOOK_AGAIN_MS));

/** Kills all processes of the user at once, as that user. Killing them one by one could not keep up with those that start new ones. */
function killAllOf(uid: number): Promise<void> {
  return new Promise((resolve) => {
    const options = { uid, gid: uid, cwd: "/", env: {}, stdio: "ignore" } as const;
    const child = spawn("/bin/sh", ["-c", "kill -9 -1"], options);
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
}

/** Whether a user has a process that has not exited. False if the system does not report it. */
function isBusy(uid: number): boolean {
  try {
    return readdirSync("/proc").some((name) => /^[0-9]+$/.test(name) && isLiving(name, uid));
  } catch {
    return false;
  }
}

function isLiving(pid: string, uid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const [, users = ""] = /^Uid:\s+(.*)$/m.exec(status) ?? [];
    return users.split("\t").includes(String(uid)) && !/^State:\s+[ZX]/m.test(status);
  } catch {
    return false;
  }
}

/** When a process started, in clock ticks since boot. Undefined if there is no such process, or if the system does not report it. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may contain anything. A zombie process has exited.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
