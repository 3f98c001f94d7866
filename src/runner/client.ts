import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { readFrames, writeFrame } from "../kernel/frames.ts";
import type { Logger } from "../kernel/log.ts";
import type { FromRunner, ProcessSettings, ToRunner } from "./protocol.ts";
import type { LogEntry, Program, ProvisioningState, Replica, Runner } from "./runner.ts";

const MAIN = fileURLToPath(import.meta.resolve("./process/main.ts"));
const RESTART_MS = 500;
const LOGS_TIMEOUT_MS = 5000;

/**
 * Runs programs as processes on this machine. A separate process supervises them, so that neither their number nor anything they do affects
 * the server. It is restarted if it dies, and then ends what its predecessor left behind.
 */
export class LocalRunner implements Runner {
  readonly #settings: ProcessSettings;
  readonly #log: Logger;
  #child: ChildProcess | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #programs: readonly Program[] = [];
  #replicas: Record<string, readonly Replica[]> = {};
  #provisioning: Record<string, ProvisioningState> = {};
  readonly #asked = new Map<number, (entries: readonly LogEntry[]) => void>();
  #lastId = 0;

  constructor(settings: ProcessSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
  }

  /** The id of the runner's process while it is running, for operators and tests. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  run(programs: readonly Program[]): void {
    if (isDeepStrictEqual(programs, this.#programs)) return;
    // If sending fails, the list is not stored, so that the next call sends it again.
    if (this.#child) this.#tell({ say: "run", programs });
    this.#programs = programs;
    // The process is started with the first program.
    if (!this.#child && !this.#timer) this.#start();
  }

  replicasOf(deploymentId: string): readonly Replica[] | undefined {
    return this.#replicas[deploymentId];
  }

  provisioningOf(deploymentId: string): ProvisioningState | undefined {
    return this.#provisioning[deploymentId];
  }

  async logsOf(deploymentId: string, tailLines: number): Promise<readonly LogEntry[]> {
    if (!this.#child) return [];
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<readonly LogEntry[]>();
    this.#asked.set(id, resolve);
    const late = setTimeout(() => resolve([]), LOGS_TIMEOUT_MS);
    this.#tell({ say: "logs", id, deploymentId, tailLines });
    return promise.finally(() => {
      clearTimeout(late);
      this.#asked.delete(id);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = new Promise((resolve) => child.once("exit", resolve));
    // When the socket closes, the runner stops the programs and exits.
    (child.stdio[3] as Duplex).end();
    await exit;
  }

  #start(): void {
    const child = spawn(process.execPath, [MAIN], {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
      cwd: "/",
      // Programs get nothing of the server's environment, which contains passwords.
      env: {},
    });
    const socket = child.stdio[3] as Duplex;
    socket.on("error", () => {});
    readFrames(socket, (message) => this.#hear(message as FromRunner));
    child.on("error", (error) => this.#lost(child, error.message));
    child.on("exit", (code, signal) =>
      this.#lost(child, signal ? `it was ended by ${signal}` : `it exited with ${code}`),
    );
    this.#child = child;
    this.#tell({ say: "begin", settings: this.#settings });
    this.#tellAgain();
  }

  /** If sending fails, the next call of `run` sends the programs again and reports the error to its caller. */
  #tellAgain(): void {
    try {
      this.#tell({ say: "run", programs: this.#programs });
    } catch (error) {
      this.#programs = [];
      this.#log.error({ reason: (error as Error).message }, "the runner of deployments cannot be told what to run");
    }
  }

  #hear(message: FromRunner): void {
    if (message.say === "replicas") {
      this.#replicas = message.deployments;
      this.#provisioning = message.provisioning;
    } else this.#asked.get(message.id)?.(message.entries);
  }

  #tell(message: ToRunner): void {
    const socket = this.#child?.stdio[3] as Duplex | undefined;
    if (socket?.writable) writeFrame(socket, message);
  }

  #lost(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#replicas = {};
    this.#provisioning = {};
    for (const settle of this.#asked.values()) settle([]);
    if (this.#closed) return;
    this.#log.error({ reason }, "the runner of deployments is down");
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#start();
    }, RESTART_MS);
  }
}
