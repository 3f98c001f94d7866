import { subscribe } from "node:diagnostics_channel";
import type { Server, Socket } from "node:net";
import { after } from "node:test";
import { dropDatabasesOfFile } from "./postgres.ts";

/** What is to be done at the end of each test file, in a process that runs one or several. */
const works = new Set<() => Promise<void> | void>();

/** Has this done whenever a test file of this process has ended, for as long as the process lives. */
export const atEndOfFile = (work: () => Promise<void> | void): void => void works.add(work);

/** Servers and connections of this process that are open. */
const open = new Set<Server | Socket>();

function note(opened: Server | Socket): void {
  open.add(opened);
  opened.once("close", () => open.delete(opened));
}

subscribe("tracing:net.server.listen:asyncStart", (message) => note((message as { server: Server }).server));
for (const name of ["net.server.socket", "net.client.socket"]) {
  subscribe(name, (message) => note((message as { socket: Socket }).socket));
}

export async function endOfFile(): Promise<void> {
  try {
    for (const work of works) await work();
    await dropDatabasesOfFile();
  } finally {
    // What a test that failed has left behind does not keep the process from ending; another file may still use some of it.
    for (const one of open) one.unref();
  }
}

// Of a file that has the process to itself, its end is that of all tests.
after(endOfFile);
