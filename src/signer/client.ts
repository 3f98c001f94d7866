import { type ChildProcess, spawn } from "node:child_process";
import { basename } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { KeysteadError } from "../kernel/errors.ts";
import {
  MAX_SIGNER_WAITING,
  MAX_SIGNER_WAITING_COST,
  MAX_SIGNER_WAITING_COST_IN_ALL,
  MAX_SIGNER_WINDOW,
  MAX_SIGNER_WINDOW_COST,
} from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import { inSpan } from "../kernel/spans.ts";
import { costOf, secondsOf } from "./cost.ts";
import { Exchange } from "./exchange.ts";
import { FairQueue, type Queued } from "./fair-queue.ts";
import {
  type AnswerFrame,
  type Occasion,
  type OpenRequest,
  type OpenResponse,
  PROTOCOL_VERSION,
  type Responses,
  type SignerFault,
  type SignerRequest,
} from "./protocol.ts";

/** `sealed`: the root key needs a passphrase. `failed`: the process is down and is being restarted. */
export type SignerState = "starting" | "ready" | "sealed" | "failed" | "closed";

/** Every request except the one that opens the signer. */
type Question = Exclude<SignerRequest, { verb: "open" }>;

/** What the engine and the capabilities may request of the signer. */
export interface Signer {
  readonly state: SignerState;
  /**
   * @throws KeysteadError SIGNER_UNAVAILABLE or SIGNER_SEALED; SIGNER_BUSY if the asking organization has too much waiting; CLIENT_GONE if
   *   nobody wants the answer any more. The request had no effect and can be sent again.
   */
  ask<R extends Question>(request: R, asker?: Asker): Promise<Responses[R["verb"]]>;
}

/** On whose behalf a request is made. */
export interface Asker {
  /** The organization that the work counts for; by default that of the request. */
  organizationId?: string;
  /** The reason for the request; keys of organizations are used for activities only. */
  occasion?: Occasion;
  /** Whether somebody still waits for the answer. */
  isWanted?: () => boolean;
}

/** A signer whose requests are all made on behalf of `asker`. */
export const askedBy = (signer: Pick<Signer, "ask">, asker: Asker): Pick<Signer, "ask"> => ({
  ask: (request) => signer.ask(request, asker),
});

/** Figures about the signer, for operators. */
export interface SignerFigures {
  /** Requests that are waiting for the signer. */
  waiting: number;
  /** Time that the signer has spent working. */
  busyMs: number;
  /** How often the process was lost and replaced. */
  restarts: number;
  /** Requests rejected because too many were waiting. */
  shed: number;
}

export interface SignerOptions {
  rootKeyFile: string;
  passphrase?: string | undefined;
  mayCreateRootKey: boolean;
  /** The id of the root key that seals keys of organizations; by default the first of the file. */
  sealsWith?: string | undefined;
  /** Whether it may be asked to replace the root key file. */
  mayReplaceRootKeyFile?: boolean;
  /** How many secrets of wallets the process keeps open, and for how long; 0 for either disables the cache. */
  seedCache: { entries: number; lifetimeMs: number };
  /** Whether the process logs each use of a key to standard error, as one line of JSON each. */
  recordUses: boolean;
  /** Directory for the compile cache, which is kept between starts; no cache if absent. */
  compileCacheDirectory?: string | undefined;
  /** Called for each answer with the verb and the seconds since the request was made. */
  onAnswer?: ((verb: SignerRequest["verb"], seconds: number) => void) | undefined;
  log: Logger;
}

/** The signer refused to open. The message tells the operator why. */
export class SignerRefused extends Error {}

/** A request that is queued or in flight. */
interface Asked extends Queued {
  request: SignerRequest;
  /** Milliseconds of `performance.now()`. */
  askedAt: number;
  occasion: Occasion | undefined;
  traceId: string | undefined;
  isWanted: () => boolean;
  resolve: (response: never) => void;
  reject: (error: unknown) => void;
}

const MAIN = fileURLToPath(import.meta.resolve("./process/main.ts"));
const MIN_RESTART_MS = 100;
const MAX_RESTART_MS = 10_000;
/** The owner of work that no organization requested. */
const NOBODY = "";
const MAX_RETRY_SECONDS = 30;

/**
 * Owns the signer process: starts it, communicates with it over an inherited socket pair that no other process can reach, gives the
 * organizations turns, and restarts the process with growing pauses when it dies.
 */
export class SignerProcess implements Signer {
  readonly #options: SignerOptions;
  readonly #queue = new FairQueue<Asked>({
    waiting: { count: MAX_SIGNER_WAITING, cost: MAX_SIGNER_WAITING_COST },
    waitingCostInAll: MAX_SIGNER_WAITING_COST_IN_ALL,
    out: { cost: MAX_SIGNER_WINDOW_COST, countInAll: MAX_SIGNER_WINDOW },
    isWanted: ({ isWanted }) => isWanted(),
    onDropped: ({ reject }) => reject(new KeysteadError("CLIENT_GONE", {}, [])),
  });
  #state: SignerState = "starting";
  #child: ChildProcess | undefined;
  #exchange: Exchange | undefined;
  #restartMs = MIN_RESTART_MS;
  #restartTimer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  /** The process that this class ended itself. The reason is already known, so its exit is not reported. */
  #ended: ChildProcess | undefined;
  #rootKeyIds: readonly string[] = [];
  /** Undefined until the first process has chosen. */
  #sealsWith: string | undefined;
  #onRestart: () => void = () => {};
  #busyMs = 0;
  #restarts = 0;
  #shed = 0;

  private constructor(options: SignerOptions) {
    this.#options = options;
    this.#sealsWith = options.sealsWith;
  }

  /**
   * Starts the process and opens the root key.
   *
   * @throws SignerRefused with a message for the operator, or an error that says why there is no process
   */
  static async start(options: SignerOptions): Promise<{ signer: SignerProcess; opened: OpenResponse }> {
    const signer = new SignerProcess(options);
    try {
      return { signer, opened: await signer.#open(options.mayCreateRootKey) };
    } catch (error) {
      await signer.close();
      // If the process exited or never started, report that rather than the request that failed because of it.
      throw error instanceof SignerRefused ? error : new Error(signer.#problem ?? (error as Error).message);
    }
  }

  get state(): SignerState {
    return this.#state;
  }

  /** The ids of the open root keys, of which the first seals; none while sealed or down. */
  get rootKeyIds(): readonly string[] {
    return this.#state === "ready" ? this.#rootKeyIds : [];
  }

  /** The id of the root key that is to seal the keys of organizations, whether or not it is open. */
  get sealsWith(): string | undefined {
    return this.#sealsWith;
  }

  /** Why the signer cannot be used; undefined if it can. Names the root key's file without its folder, because anybody may read the text. */
  get problem(): string | undefined {
    const { rootKeyFile } = this.#options;
    return this.#problem?.replaceAll(rootKeyFile, basename(rootKeyFile));
  }

  /** Calls `listener` whenever the process was replaced and the new one is open. */
  onRestart(listener: () => void): void {
    this.#onRestart = listener;
  }

  /** The process id while there is a process, for operators and tests. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get figures(): SignerFigures {
    return { waiting: this.#queue.length, busyMs: this.#busyMs, restarts: this.#restarts, shed: this.#shed };
  }

  async ask<R extends Question>(request: R, asker: Asker = {}): Promise<Responses[R["verb"]]> {
    if (this.#state === "sealed") throw new KeysteadError("SIGNER_SEALED", {}, []);
    if (this.#state !== "ready") throw unavailable("it is being restarted");
    const { organizationId = organizationOf(request), occasion, isWanted = () => true } = asker;
    return inSpan(`signer ${request.verb}`, (span) => {
      span?.note({ "keystead.verb": request.verb });
      return new Promise<Responses[R["verb"]]>((resolve, reject) => {
        const cost = costOf(request, occasion);
        const askedAt = performance.now();
        const { traceId } = span ?? {};
        const asked = { request, askedAt, occasion, traceId, organizationId, cost, isWanted, resolve, reject };
        if (this.#queue.add(asked)) this.#sendWhatMay();
        else reject(this.#busyError(organizationId));
      });
    });
  }

  /**
   * Reads the root key file again, to which another key may have been added.
   *
   * @throws SignerRefused with a message for the operator; the keys that were open stay open
   */
  async readRootKeysAgain(): Promise<void> {
    if (this.#state !== "ready") return;
    this.#noteOpened(await this.#askToOpen(this.#openRequest(false)));
  }

  /** From now on this root key seals. Until the file has it, nothing works: what another key sealed could not be opened elsewhere. */
  async sealWith(rootKeyId: string): Promise<void> {
    this.#sealsWith = rootKeyId;
    try {
      await this.readRootKeysAgain();
    } catch (error) {
      if (this.#child) this.#end(this.#child, (error as Error).message);
    }
  }

  /** Ends the process and rejects waiting requests. */
  async close(): Promise<void> {
    this.#state = "closed";
    clearTimeout(this.#restartTimer);
    const child = this.#child;
    const lives = child && child.exitCode === null && child.signalCode === null;
    const exit = lives ? new Promise((resolve) => child.once("exit", resolve)) : undefined;
    this.#endExchange();
    await exit;
  }

  async #open(mayCreate: boolean): Promise<OpenResponse> {
    this.#spawn();
    const opened = await this.#askToOpen(this.#openRequest(mayCreate));
    this.#noteOpened(opened);
    this.#state = opened.state === "open" ? "ready" : "sealed";
    this.#restartMs = MIN_RESTART_MS;
    this.#problem = undefined;
    return opened;
  }

  /** @throws SignerRefused if a later file lacks the key that seals; at the start, the server compares it with its database */
  #noteOpened(opened: OpenResponse): void {
    if (opened.state === "sealed") return;
    const { rootKeyIds } = opened;
    if (this.#rootKeyIds.length > 0 && rootKeyIds[0] !== this.#sealsWith) {
      throw new SignerRefused(
        `the root key file ${this.#options.rootKeyFile} does not contain the root key that seals the keys in this database: it was replaced while the server was running, or was not copied to this machine before a rotation`,
      );
    }
    this.#sealsWith = rootKeyIds[0];
    this.#rootKeyIds = rootKeyIds;
  }

  #openRequest(mayCreate: boolean): OpenRequest {
    const { rootKeyFile, passphrase, seedCache, recordUses, mayReplaceRootKeyFile = false } = this.#options;
    return {
      verb: "open",
      protocolVersion: PROTOCOL_VERSION,
      rootKeyFile,
      ...(passphrase === undefined ? {} : { passphrase }),
      mayCreate,
      ...(this.#sealsWith === undefined ? {} : { sealsWith: this.#sealsWith }),
      mayReplaceFile: mayReplaceRootKeyFile,
      seedCache,
      recordUses,
    };
  }

  #spawn(): void {
    const { compileCacheDirectory } = this.#options;
    // A core dump would contain plaintext keys. Only a shell can disable dumps for the process that replaces it.
    const child = spawn("/bin/sh", ["-c", 'ulimit -c 0; exec "$0" "$@"', process.execPath, MAIN], {
      stdio: ["ignore", "ignore", "inherit", "pipe"],
      cwd: "/",
      // The server's environment, which includes passwords, is not passed to the signer.
      env: compileCacheDirectory === undefined ? {} : { NODE_COMPILE_CACHE: compileCacheDirectory },
    });
    child.on("error", (error) => this.#lost(child, unstarted(error)));
    child.on("exit", (code, signal) =>
      this.#lost(child, signal ? `it was ended by ${signal}` : `it exited with ${code}`),
    );
    this.#child = child;
    this.#exchange = new Exchange(child.stdio[3] as Duplex, (reason) => {
      this.#options.log.error({ reason }, "the signer does not answer and is killed");
      this.#end(child, reason);
    });
  }

  #end(child: ChildProcess, reason: string): void {
    this.#ended = child;
    this.#problem = reason;
    child.kill("SIGKILL");
  }

  /** No other request is possible before the signer is open. */
  #askToOpen(request: OpenRequest): Promise<OpenResponse> {
    return new Promise((resolve, reject) => {
      this.#exchange?.send(request, (answer) => this.#settle({ resolve, reject }, answer));
    });
  }

  #sendWhatMay(): void {
    for (let asked = this.#queue.next(); asked; asked = this.#queue.next()) this.#send(asked);
  }

  #send(asked: Asked): void {
    const onAnswer = (answer: AnswerFrame | undefined) => {
      this.#queue.returned(asked);
      if (answer) this.#options.onAnswer?.(asked.request.verb, (performance.now() - asked.askedAt) / 1000);
      this.#settle(asked, answer);
      this.#sendWhatMay();
    };
    try {
      (this.#exchange as Exchange).send(asked.request, onAnswer, asked);
    } catch (error) {
      this.#queue.returned(asked);
      asked.reject(error);
    }
  }

  #settle({ resolve, reject }: Pick<Asked, "resolve" | "reject">, answer: AnswerFrame | undefined): void {
    if (answer) this.#busyMs += answer.ms;
    if (!answer) reject(unavailable("it stopped while working on this request and is being restarted"));
    else if ("fault" in answer) reject(this.#errorOf(answer.fault));
    else resolve(answer.response as never);
  }

  #errorOf(fault: SignerFault): unknown {
    if (fault.kind === "refused") return new SignerRefused(fault.message);
    this.#options.log.error({ fault }, "the signer could not answer");
    return unavailable("it failed on this request");
  }

  #busyError(organizationId: string): KeysteadError {
    this.#shed++;
    const seconds = Math.ceil(secondsOf(this.#queue.waitingCostOf(organizationId)));
    return new KeysteadError("SIGNER_BUSY", { retryAfterSeconds: Math.min(seconds, MAX_RETRY_SECONDS) }, []);
  }

  #endExchange(): void {
    const waiting = this.#queue.drain();
    this.#exchange?.end();
    this.#exchange = undefined;
    for (const { reject } of waiting) reject(unavailable("it is being restarted"));
  }

  #lost(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    const first = this.#state === "starting";
    const isRestart = this.#state === "failed";
    if (this.#state !== "closed") this.#state = "failed";
    this.#endExchange();
    if (this.#ended !== child) this.#problem = reason;
    if (this.#state === "closed") return;
    // Of a restart, whoever began it says that it failed.
    if (this.#ended !== child && !isRestart) this.#options.log.error({ reason }, "the signer is down");
    if (!first) this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    // A child that dies while it opens is noticed twice. Two restarts would leave a second, unused signer.
    if (this.#restartTimer) return;
    this.#restartTimer = setTimeout(async () => {
      this.#restartTimer = undefined;
      try {
        await this.#open(false);
        this.#restarts++;
        this.#options.log.info("the signer is back");
        this.#onRestart();
      } catch (error) {
        if (this.#state === "closed") return;
        this.#state = "failed";
        // If the process exited, its exit is the reason, not the missing answer.
        const reason = this.#child ? (error as Error).message : this.#problem;
        this.#options.log.error({ reason }, "the signer could not be restarted");
        // A process that started but could not open its root key will not recover.
        if (this.#child) this.#end(this.#child, reason as string);
        else this.#scheduleRestart();
      }
    }, this.#restartMs);
    this.#restartMs = Math.min(this.#restartMs * 2, MAX_RESTART_MS);
  }
}

function organizationOf(request: SignerRequest): string {
  if ("organizationId" in request) return request.organizationId;
  return request.verb === "provePolicyOutcome" ? request.policyOutcome.organizationId : NOBODY;
}

/** Why the system cannot start the process. */
const unstarted = ({ code, message }: NodeJS.ErrnoException): string =>
  code === "EAGAIN" || code === "ENOMEM"
    ? `${message}: this user has as many processes and threads as it may (ulimit -u, TasksMax), or memory is short`
    : message;

const unavailable = (reason: string): KeysteadError => new KeysteadError("SIGNER_UNAVAILABLE", { reason }, []);
