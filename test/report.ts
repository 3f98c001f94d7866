import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import type { Taken } from "./support/file-queue.ts";

/** As Node's test runner tells it, loosely: there are many kinds. */
export interface TestEvent {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has members of its own
  data: any;
}

/** Node's own words at the end of each run. */
const OF_A_RUN = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;
const CANCELLED = ["cancelledByParent", "testAborted", "testTimeoutFailure"];

/**
 * What the tests of all files came to, as one run of Node's test runner would tell it: file after file, however many run at
 * the same time, in processes of their own or in turn.
 */
export class Report {
  /** For a reporter of Node's. */
  readonly events = new PassThrough({ objectMode: true });
  /** Milliseconds by file, of those that ended. */
  readonly durations = new Map<string, number>();
  readonly #begunAt = performance.now();
  readonly #files: ReadonlySet<string>;
  readonly #areChosen: boolean;
  readonly #failed = new Set<string>();
  readonly #ended = new Set<string>();
  /** By process or file: what it has said of the file that it runs. */
  readonly #said = new Map<string, TestEvent[]>();
  /** By process: how it ended, if not well. */
  readonly #exits = new Map<string, string>();
  readonly #counts = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };

  /** @param areChosen whether only some tests of each file are run, and of some files perhaps none, of which nothing is told */
  constructor(files: readonly string[], { areChosen = false } = {}) {
    this.#files = new Set(files);
    this.#areChosen = areChosen;
  }

  /** Files with a test that failed, or that failed as a whole. */
  get failed(): string[] {
    return [...this.#failed];
  }

  /** An event of a file that has its process to itself. */
  ofFile(file: string, event: TestEvent): void {
    const { type, data } = event;
    if (type === "test:fail" || (type === "test:summary" && !data.success)) this.#failed.add(file);
    if (type === "test:summary" && data.file !== undefined) this.durations.set(file, data.duration_ms);
    if (isOfRun(event)) return;
    if (this.#files.size === 1) this.#tell(event);
    else this.#keep(file, event);
  }

  fileEnded(file: string): void {
    this.#ended.add(file);
    this.#tellKept(file);
  }

  /**
   * An event of a process that runs files in turn, each as a suite of its name.
   *
   * @returns whether a file has ended
   */
  ofProcess(name: string, event: TestEvent): boolean {
    const { type, data } = event;
    if (isOfRun(event)) return false;
    // Told of the process itself, even where a test has failed in it.
    if (type === "test:complete" && data.nesting === 0 && !this.#files.has(data.name)) {
      if (data.details.error) this.#exits.set(name, exitOf(data.details.error));
      return false;
    }
    const isEnd = type === "test:pass" || type === "test:fail";
    if (data.nesting !== 0 || !(isEnd || type === "test:start")) {
      this.#keep(name, { type, data: data.nesting > 0 ? { ...data, nesting: data.nesting - 1 } : data });
      return false;
    }
    if (!isEnd || !this.#files.has(data.name)) return false;
    this.#endOfSuite(name, event);
    return true;
  }

  processEnded(name: string, taken: readonly Taken[]): void {
    this.#tellKept(name);
    const exit = this.#exits.get(name);
    for (const { file, isFinished, error } of taken) {
      if (!isFinished) this.#fail(file, `the process ended while this file ran${exit ? `: ${exit}` : ""}`);
      else if (error !== undefined && !this.#failed.has(file))
        this.#fail(file, `an error that nobody caught came up while this file ran: ${error}`);
      else if (this.#areChosen) this.#ended.add(file);
    }
    const isExplained = taken.some(({ file }) => this.#failed.has(file));
    if (exit !== undefined && !isExplained) {
      const files = taken.map(({ file }) => file);
      for (const file of files) this.#failed.add(file);
      this.#fail(files.at(-1) ?? name, `a process failed after it had run ${files.join(", ")}: ${exit}`);
    }
  }

  /** Says what all came to. */
  end(wasStopped: boolean): void {
    for (const file of this.#files) if (!this.#ended.has(file) && !wasStopped) this.#fail(file, "it was not run");
    const counts = { ...this.#counts, duration_ms: performance.now() - this.#begunAt };
    for (const [what, count] of Object.entries(counts)) {
      this.#tell({ type: "test:diagnostic", data: { nesting: 0, message: `${what} ${count}`, level: "info" } });
    }
    this.events.end();
  }

  #endOfSuite(name: string, { type, data }: TestEvent): void {
    const { name: file, details } = data;
    this.#ended.add(file);
    this.durations.set(file, details.duration_ms);
    this.#tellKept(name);
    // What comes of its own tests they have told themselves.
    if (type === "test:fail" && details.error?.failureType !== "subtestsFailed") this.#fail(file, details.error);
    else if (type === "test:fail") this.#failed.add(file);
  }

  #fail(file: string, problem: string | Error): void {
    this.#failed.add(file);
    this.#ended.add(file);
    const error = typeof problem === "string" ? failure(problem) : problem;
    const data = { nesting: 0, name: file, file: resolve(file), line: 1, column: 1, testNumber: 0 };
    this.#tell({ type: "test:start", data });
    this.#tell({ type: "test:fail", data: { ...data, details: { error, type: "test" } } });
  }

  #keep(by: string, event: TestEvent): void {
    const said = this.#said.get(by) ?? [];
    this.#said.set(by, said);
    said.push(event);
  }

  #tellKept(by: string): void {
    for (const event of this.#said.get(by) ?? []) this.#tell(event);
    this.#said.delete(by);
  }

  #tell(event: TestEvent): void {
    if (event.type === "test:pass" || event.type === "test:fail") this.#count(event);
    this.events.write(event);
  }

  /** As Node counts. */
  #count({ type, data }: TestEvent): void {
    const counts = this.#counts;
    if (data.details?.type === "suite") {
      counts.suites++;
      return;
    }
    counts.tests++;
    if (data.skip !== undefined) counts.skipped++;
    else if (data.todo !== undefined) counts.todo++;
    else if (CANCELLED.includes(data.details?.error?.failureType)) counts.cancelled++;
    else if (type === "test:fail") counts.fail++;
    else counts.pass++;
  }
}

/** What Node says of a run as a whole, which is one of many here. */
const isOfRun = ({ type, data }: TestEvent): boolean =>
  (type === "test:summary" && data.file === undefined) ||
  (data.nesting === 0 && (type === "test:plan" || (type === "test:diagnostic" && OF_A_RUN.test(data.message))));

function failure(message: string): Error {
  const cause = Object.assign(new Error(message), { stack: message });
  return Object.assign(new Error(message, { cause }), { code: "ERR_TEST_FAILURE", failureType: "testCodeFailure" });
}

const exitOf = ({ exitCode, signal, message }: { exitCode?: number; signal?: string; message: string }): string =>
  signal ? `ended by ${signal}` : exitCode === undefined ? message : `exit code ${exitCode}`;
