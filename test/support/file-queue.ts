import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";

/** What became of a file that somebody took. */
export interface Taken {
  file: string;
  isFinished: boolean;
  /** The first error that nobody caught while it ran. */
  error: string | undefined;
}

/**
 * Test files that processes take one after the other, as a folder: who makes the file `0` has taken the first, and nobody else
 * can. It outlives whoever takes them, so that nothing is lost with a process that ends in the middle of a test.
 */
export class Queue {
  readonly folder: string;
  readonly #files: readonly string[];
  #next = 0;
  #taken: string | undefined;

  constructor(folder: string) {
    this.folder = folder;
    this.#files = JSON.parse(readFileSync(join(folder, "files.json"), "utf8"));
  }

  static write(folder: string, files: readonly string[]): Queue {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "files.json"), JSON.stringify(files));
    return new Queue(folder);
  }

  get isEmpty(): boolean {
    return this.#files.every((_, index) => existsSync(this.#path(index)));
  }

  /** The next file that nobody has taken, in the name of who asks. */
  take(by: string): string | undefined {
    for (; this.#next < this.#files.length; this.#next++) {
      try {
        writeFileSync(this.#path(this.#next), "", { flag: "wx" });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
        throw error;
      }
      this.#taken = this.#files[this.#next];
      this.#note(by, { file: this.#taken });
      return this.#taken;
    }
    return undefined;
  }

  finish(by: string): void {
    this.#note(by, { file: this.#taken, isFinished: true });
  }

  /** An error that nobody caught, which may be one of the file that runs. */
  noteError(by: string, error: unknown): void {
    this.#note(by, { file: this.#taken, error: inspect(error) });
  }

  /** What somebody took, in that order. */
  takenBy(name: string): Taken[] {
    const path = join(this.folder, name);
    if (!existsSync(path)) return [];
    const taken = new Map<string, Taken>();
    for (const line of readFileSync(path, "utf8").trim().split("\n")) {
      const { file, isFinished = false, error } = JSON.parse(line);
      const known = taken.get(file);
      taken.set(file, {
        file,
        isFinished: isFinished || (known?.isFinished ?? false),
        error: known?.error ?? error,
      });
    }
    return [...taken.values()];
  }

  #path(index: number): string {
    return join(this.folder, String(index));
  }

  #note(by: string, what: object): void {
    appendFileSync(join(this.folder, by), `${JSON.stringify(what)}\n`);
  }
}
