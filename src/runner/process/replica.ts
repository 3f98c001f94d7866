import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import {
  HEALTH_CHECK_EVERY_MS,
  PROGRAM_FILE_BYTES,
  PROGRAM_OPEN_FILES,
  PROGRAM_PROCESSES,
} from "../../kernel/limits.ts";
import type { Program, Replica } from "../runner.ts";
import { isHealthy } from "./health.ts";
import { forget, note } from "./leftovers.ts";
import { ReplicaLog } from "./log.ts";
import { excessIn, type FolderBound, removeFolder } from "./program-folder.ts";

export interface ReplicaOptions {
  program: Program;
  number: number;
  address: string;
  directory: string;
  uid: number | undefined;
  /** What the program may keep in its folder. */
  folderBound: FolderBound;
  /** The key that the program reads from its descriptor 3. Undefined for a program without a quorum key. */
  quorumKey: () => Uint8Array | undefined;
  onChange: () => void;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** A program that has run this long counts as stable. After that, the pause before a restart is short again. */
const SETTLED_MS = 30_000;
/** How long a program may take to exit before it is killed. */
const STOP_MS = 5000;
const FILE_BLOCK_BYTES = 512;
const QUORUM_KEY_DESCRIPTOR = 3;

/**
 * Limits that only a shell can set, before it executes the program. Shells use different options for the number of processes, and none
 * supports all limits. A limit that the shell does not support does not apply.
 */
const limitsFor = (uid: number | undefined): string =>
  [
    "ulimit -c 0",
    // If memory runs out, the kernel kills programs before the server.
    "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null || true",
    `ulimit -n ${PROGRAM_OPEN_FILES}`,
    `ulimit -f ${PROGRAM_FILE_BYTES / FILE_BLOCK_BYTES}`,
    // The kernel counts processes per user, and without its own user the program runs as the server's.
    ...(uid === undefined
      ? []
      : [`ulimit -u ${PROGRAM_PROCESSES} 2>/dev/null || ulimit -p ${PROGRAM_PROCESSES} 2>/dev/null || true`]),
    'exec "$0" "$@"',
  ].join("; ");

/** One replica of a program. It restarts the program when it exits, checks its health, and keeps its output. */
export class SupervisedReplica {
  readonly log: ReplicaLog;
  readonly #options: ReplicaOptions;
  #launching: Promise<void> | undefined;
  #child: ChildProcess | undefined;
  #isReady = false;
  #restarts = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #health: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Whether the next start must empty the folder, because the program kept too much in it. */
  #isFolderFull = false;

  constructor(options: ReplicaOptions) {
    this.log = new ReplicaLog(options.number);
    this.#options = options;
  }

  get state(): Replica {
    const { number, address } = this.#options;
    return { number, address, isReady: this.#isReady, pid: this.#child?.pid, restarts: this.#restarts };
  }

  start(): void {
    this.#launching = this.#launch().catch((error: Error) => {
      this.log.write(`[runner] the program cannot be started: ${error.message}`);
      this.#again();
    });
  }

  /** Stops the replica. It is not restarted. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#launching;
    const child = this.#child;
    if (child?.pid !== undefined) {
      const exit = new Promise((resolve) => child.once("exit", resolve));
      endGroup(child.pid, "SIGTERM");
      const late = setTimeout(() => endGroup(child.pid as number, "SIGKILL"), STOP_MS);
      await exit;
      clearTimeout(late);
    }
  }

  /** Kills the program if it keeps more in its folder than allowed. It starts again with an empty folder. */
  async checkFolder(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const excess = await excessIn(this.#home, this.#options.folderBound);
    if (excess === undefined || this.#child !== child) return;
    this.log.write(`[runner] the program is ended and its folder emptied: it holds ${excess}`);
    this.#isFolderFull = true;
    endGroup(child.pid, "SIGKILL");
  }

  /** Deletes its folder, after all its processes have exited. */
  async clear(): Promise<void> {
    await removeFolder(this.#home);
  }

  get #home(): string {
    const { directory, program, number } = this.#options;
    return join(directory, "work", `${program.deploymentId}-${number}`);
  }

  async #launch(): Promise<void> {
    const { program, address, directory, uid, number, quorumKey } = this.#options;
    if ((await digestOf(program.file)) !== program.digest) {
      throw new Error("its digest is not the one that was approved");
    }
    if (this.#stopped) return;
    if (this.#isFolderFull) await this.clear();
    this.#isFolderFull = false;
    await mkdir(this.#home, { recursive: true, mode: 0o711 });
    if (uid !== undefined) await chown(this.#home, uid, uid);
    if (this.#stopped) return;
    const startedAt = Date.now();
    const key = quorumKey();
    const child = spawn("/bin/sh", ["-c", limitsFor(uid), program.file, ...program.args], {
      stdio: ["ignore", "pipe", "pipe", ...(key ? (["pipe"] as const) : [])],
      cwd: this.#home,
      env: {
        HOST: address,
        PORT: String(program.publicIngressPort),
        HOME: this.#home,
        TMPDIR: this.#home,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        TVC_REPLICA: String(number),
        ...(key ? { TVC_QUORUM_KEY_FD: String(QUORUM_KEY_DESCRIPTOR) } : {}),
      },
      // Its own process group, so that everything it starts is stopped with it.
      detached: true,
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#child = child;
    if (child.stdout) this.log.keep(child.stdout);
    if (child.stderr) this.log.keep(child.stderr);
    child.on("error", (error) => {
      this.log.write(`[runner] the program cannot be started: ${error.message}`);
      if (child.pid === undefined) this.#ended(child, startedAt);
    });
    if (key) handOver(child, key);
    child.on("exit", (code, signal) => {
      this.log.write(`[runner] the program ended ${signal ? `by ${signal}` : `with ${code}`}`);
      endGroup(child.pid as number, "SIGKILL");
      forget(directory, child.pid as number);
      this.#ended(child, startedAt);
    });
    if (child.pid !== undefined) note(directory, child.pid);
    this.#watch();
    this.#options.onChange();
  }

  #ended(child: ChildProcess, startedAt: number): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    clearTimeout(this.#health);
    this.#isReady = false;
    if (Date.now() - startedAt > SETTLED_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#options.onChange();
    this.#again();
  }

  #again(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#restarts++;
      this.start();
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  /** Another program may answer at the address, so a health check counts only while this program is running. */
  #watch(): void {
    const child = this.#child;
    const { program, address, onChange } = this.#options;
    const look = async () => {
      const healthy = await isHealthy(program.healthCheck, address);
      if (this.#child !== child) return;
      if (healthy !== this.#isReady) {
        this.#isReady = healthy;
        onChange();
      }
      this.#health = setTimeout(look, HEALTH_CHECK_EVERY_MS);
    };
    this.#health = setTimeout(look, FIRST_PAUSE_MS);
  }
}

/** Passes the key over a pipe, so that it is never on a disk, nor in an environment that others may read. */
function handOver(child: ChildProcess, key: Uint8Array): void {
  // There is no pipe if the system had no file descriptors left for it.
  const descriptor = child.stdio?.[QUORUM_KEY_DESCRIPTOR] as Writable | undefined;
  // The program need not read it.
  descriptor?.on("error", () => {});
  descriptor?.end(key);
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

function endGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The process has exited.
  }
}
