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
  /** What the program reads from its descriptor 3; undefined for one that is handed nothing. */
  quorumKey: () => Uint8Array | undefined;
  onChange: () => void;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** After so long a program counts as one that runs, and the next pause is short again. */
const SETTLED_MS = 30_000;
/** How long a program has to end by itself. */
const STOP_MS = 5000;
const FILE_BLOCK_BYTES = 512;
const QUORUM_KEY_DESCRIPTOR = 3;

/**
 * What only a shell can set for the program that takes its place. Shells differ in the letter for processes, and none has
 * all: what one does not know does not hold.
 */
const limitsFor = (uid: number | undefined): string =>
  [
    "ulimit -c 0",
    // Where memory runs out, programs go before the server does.
    "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null || true",
    `ulimit -n ${PROGRAM_OPEN_FILES}`,
    `ulimit -f ${PROGRAM_FILE_BYTES / FILE_BLOCK_BYTES}`,
    // They are counted by user, which may be the server's own.
    ...(uid === undefined
      ? []
      : [`ulimit -u ${PROGRAM_PROCESSES} 2>/dev/null || ulimit -p ${PROGRAM_PROCESSES} 2>/dev/null || true`]),
    'exec "$0" "$@"',
  ].join("; ");

/** One replica of a program: started again whenever it ends, asked for its health, its output kept. */
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
  /** Whether the next start has to empty the folder, because the program kept too much in it. */
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

  /** Ends it; it is not started again. */
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

  /** Ends the program if it keeps more in its folder than it may. It starts again with an empty folder. */
  async checkFolder(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const excess = await excessIn(this.#home, this.#options.folderBound);
    if (excess === undefined || this.#child !== child) return;
    this.log.write(`[runner] the program is ended and its folder emptied: it holds ${excess}`);
    this.#isFolderFull = true;
    endGroup(child.pid, "SIGKILL");
  }

  /** Removes what it left in its folder, once nothing of it runs any more. */
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
      // A group of its own: what it starts is ended with it.
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

  /** Whoever else answers at the address says nothing about a program that is not up. */
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

/** It is never on a disk, nor in an environment that others may read. */
function handOver(child: ChildProcess, key: Uint8Array): void {
  // There is none where the machine had no descriptors left to start it with.
  const descriptor = child.stdio?.[QUORUM_KEY_DESCRIPTOR] as Writable | undefined;
  // A program need not read it.
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
    // It has ended.
  }
}
