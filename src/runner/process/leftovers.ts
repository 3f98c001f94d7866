import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Programs outlive a runner that is killed. Each is noted in a file that is named after its process, with the time when that
 * began as the kernel counts it, so that the next runner ends those and nothing else that has got the number since. What a program
 * has begun may leave its group; where programs have users of their own, these are noted as well, and all that they run is ended.
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

/** To be called before the first program of this user is started. */
export const noteUser = (directory: string, uid: number): void => write(directory, "users", uid, "");

/** Ends what an earlier runner left, and resolves when its addresses are free. */
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

/** Ends all that runs as a user, and resolves when nothing does any more. */
export async function endUser(directory: string, uid: number): Promise<void> {
  do await killAllOf(uid);
  while (isBusy(uid) && (await lookAgain()));
  rmSync(fileOf(directory, "users", uid), { force: true });
}

const lookAgain = (): Promise<true> => new Promise((resolve) => setTimeout(() => resolve(true), LOOK_AGAIN_MS));

/** What the user itself may end, at once: whoever looked for its processes one by one would be outrun by those that begin others. */
function killAllOf(uid: number): Promise<void> {
  return new Promise((resolve) => {
    const options = { uid, gid: uid, cwd: "/", env: {}, stdio: "ignore" } as const;
    const child = spawn("/bin/sh", ["-c", "kill -9 -1"], options);
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
}

/** Whether there is a process of a user that is not over; false where that is not told. */
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

/** When a process began, in ticks since the machine did; undefined where there is none, or it is not told. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may hold anything. A process that nobody has waited for yet is over.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
