import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fail } from "../kernel/errors.ts";
import { SIGNER_DEADLINE_MS } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import { readFrames, writeFrame } from "./frames.ts";
import {
  type OpenResponse,
  PROTOCOL_VERSION,
  type ResponseFrame,
  type Responses,
  type SignerFault,
  type SignerRequest,
} from "./protocol.ts";

/** `sealed`: the root key needs a passphrase. `failed`: the process is down and being restarted. */
export type SignerState = "starting" | "ready" | "sealed" | "failed" | "closed";

/** What the engine and the capabilities may ask of the signer. */
export interface Signer {
  readonly state: SignerState;
  /** @throws KeysteadError SIGNER_UNAVAILABLE or SIGNER_SEALED; the request can be sent again. */
  ask<R extends Exclude<SignerRequest, { verb: "open" }>>(request: R): Promise<Responses[R["verb"]]>;
}

export interface SignerOptions {
  rootKeyFile: string;
  passphrase?: string | undefined;
  mayCreateRootKey: boolean;
  /** How many secrets of wallets the process keeps open, and how long each; 0 of either keeps none. */
  seedCache: { entries: number; lifetimeMs: number };
  /** Where compiled code is kept between starts; none if absent. */
  compileCacheDirectory?: string | undefined;
  log: Logger;
}

/** The signer refused to open: the text tells the operator why. */
export class SignerRefused extends Error {}

interface Pending {
  resolve: (response: never) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
}

const MAIN = join(import.meta.dirname, "process", `main${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`);
const MIN_RESTART_MS = 100;
const MAX_RESTART_MS = 10_000;

/**
 * Owns the signer process: starts it, speaks to it over an inherited socket pair that no other process can reach, gives
 * every message a deadline, and starts it again with a growing pause when it dies.
 */
export class SignerProcess implements Signer {
  readonly #options: SignerOptions;
  readonly #pending = new Map<number, Pending>();
  #state: SignerState = "starting";
  #child: ChildProcess | undefined;
  #socket: Duplex | undefined;
  #nextId = 1;
  #restartMs = MIN_RESTART_MS;
  #restartTimer: NodeJS.Timeout | undefined;
  #rootKeyId: string | undefined;
  #onRestart: () => void = () => {};

  private constructor(options: SignerOptions) {
    this.#options = options;
  }

  /**
   * Starts the process and opens the root key.
   *
   * @throws SignerRefused with a text for the operator
   */
  static async start(options: SignerOptions): Promise<{ signer: SignerProcess; opened: OpenResponse }> {
    const signer = new SignerProcess(options);
    try {
      return { signer, opened: await signer.#open(options.mayCreateRootKey) };
    } catch (error) {
      await signer.close();
      throw error;
    }
  }

  get state(): SignerState {
    return this.#state;
  }

  /** Which root key is open; undefined while sealed. */
  get rootKeyId(): string | undefined {
    return this.#rootKeyId;
  }

  /** Has `listener` called whenever the process was replaced and the new one is open. */
  onRestart(listener: () => void): void {
    this.#onRestart = listener;
  }

  /** For operators and tests: the process id while there is a process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async ask<R extends Exclude<SignerRequest, { verb: "open" }>>(request: R): Promise<Responses[R["verb"]]> {
    if (this.#state === "sealed") fail("SIGNER_SEALED", {});
    if (this.#state !== "ready") fail("SIGNER_UNAVAILABLE", { reason: "it is being restarted" });
    return this.#send(request);
  }

  /** Ends the process; requests in flight are told so. */
  async close(): Promise<void> {
    this.#state = "closed";
    clearTimeout(this.#restartTimer);
    const child = this.#child;
    const ended = child && child.exitCode === null && child.signalCode === null;
    const exit = ended ? new Promise((resolve) => child.once("exit", resolve)) : undefined;
    this.#socket?.destroy();
    await exit;
  }

  async #open(mayCreate: boolean): Promise<OpenResponse> {
    this.#spawn();
    const { rootKeyFile, passphrase, seedCache } = this.#options;
    const opened = await this.#send({
      verb: "open",
      protocolVersion: PROTOCOL_VERSION,
      rootKeyFile,
      ...(passphrase === undefined ? {} : { passphrase }),
      mayCreate,
      seedCache,
    });
    if (opened.state === "open") {
      if (this.#rootKeyId !== undefined && this.#rootKeyId !== opened.rootKeyId) {
        throw new SignerRefused(`the root key in ${rootKeyFile} was replaced while the server was running`);
      }
      this.#rootKeyId = opened.rootKeyId;
    }
    this.#state = opened.state === "open" ? "ready" : "sealed";
    this.#restartMs = MIN_RESTART_MS;
    return opened;
  }

  #spawn(): void {
    const { compileCacheDirectory } = this.#options;
    // A core dump would hold plaintext keys; only a shell can switch it off for the process that replaces it.
    const child = spawn("/bin/sh", ["-c", 'ulimit -c 0; exec "$0" "$@"', process.execPath, MAIN], {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
      cwd: "/",
      // Nothing of the server's environment, passwords among it, reaches the signer.
      env: compileCacheDirectory === undefined ? {} : { NODE_COMPILE_CACHE: compileCacheDirectory },
    });
    const socket = child.stdio[3] as Duplex;
    readFrames(socket, (frame) => this.#receive(frame as ResponseFrame));
    socket.on("error", () => {});
    child.on("error", (error) => this.#lost(child, error.message));
    child.on("exit", (code, signal) =>
      this.#lost(child, signal ? `it was ended by ${signal}` : `it exited with ${code}`),
    );
    this.#child = child;
    this.#socket = socket;
  }

  #send<R extends SignerRequest>(request: R): Promise<Responses[R["verb"]]> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const timer = setTimeout(() => {
        // A signer that does not answer is no signer; its successor gets the next request.
        this.#options.log.error({ verb: request.verb }, "the signer missed its deadline and is ended");
        this.#child?.kill("SIGKILL");
      }, SIGNER_DEADLINE_MS);
      this.#pending.set(id, { resolve: resolve as Pending["resolve"], reject, timer });
      try {
        writeFrame(this.#socket as Duplex, { id, request });
      } catch (error) {
        clearTimeout(timer);
        this.#pending.delete(id);
        reject(error);
      }
    });
  }

  #receive(frame: ResponseFrame): void {
    const pending = this.#pending.get(frame.id);
    if (!pending) return;
    this.#pending.delete(frame.id);
    clearTimeout(pending.timer);
    if ("fault" in frame) pending.reject(this.#errorOf(frame.fault));
    else pending.resolve(frame.response as never);
  }

  #errorOf(fault: SignerFault): unknown {
    if (fault.kind === "refused") return new SignerRefused(fault.message);
    this.#options.log.error({ fault }, "the signer could not answer");
    return unavailable("it failed over this request");
  }

  #lost(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(unavailable("it stopped while working on this request and is being restarted"));
    }
    this.#pending.clear();
    if (this.#state === "closed") return;
    const first = this.#state === "starting";
    this.#state = "failed";
    this.#options.log.error({ reason }, "the signer is down");
    if (!first) this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    // A child that dies while it opens is noticed twice; two restarts would leave a second signer that nobody speaks to.
    if (this.#restartTimer) return;
    this.#restartTimer = setTimeout(async () => {
      this.#restartTimer = undefined;
      try {
        await this.#open(false);
        this.#options.log.info("the signer is back");
        this.#onRestart();
      } catch (error) {
        this.#options.log.error({ reason: (error as Error).message }, "the signer could not be restarted");
        if (this.#state === "closed") return;
        this.#state = "failed";
        // A process that came up but refused its root key stays of no use.
        this.#child?.kill("SIGKILL");
        if (!this.#child) this.#scheduleRestart();
      }
    }, this.#restartMs);
    this.#restartMs = Math.min(this.#restartMs * 2, MAX_RESTART_MS);
  }
}

function unavailable(reason: string): unknown {
  try {
    fail("SIGNER_UNAVAILABLE", { reason });
  } catch (error) {
    return error;
  }
}
