import { after } from "node:test";
import { dropDatabasesOfFile } from "./postgres.ts";

/** What is to be done at the end of each test file, in a process that runs one or several. */
const works = new Set<() => Promise<void> | void>();

/** Has this done whenever a test file of this process has ended, for as long as the process lives. */
export const atEndOfFile = (work: () => Promise<void> | void): void => void works.add(work);

export async function endOfFile(): Promise<void> {
  for (const work of works) await work();
  await dropDatabasesOfFile();
}

// Of a file that has the process to itself, its end is that of all tests.
after(endOfFile);
