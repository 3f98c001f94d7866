import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { reservePort } from "./ports.ts";
import { temporaryFolder } from "./server-process.ts";

const PROGRAM = fileURLToPath(new URL("./receiver-process.ts", import.meta.url));

/** A receiver that can be killed and started again under the same address, and remembers what it was sent. */
export interface CrashReceiver {
  url: string;
  /** Every line it wrote, each the words of one request: event id, and activity id and status if it has them. */
  lines(): string[][];
  /** How many bytes that is so far, for looking often. */
  bytes(): number;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export async function startCrashReceiver(): Promise<CrashReceiver> {
  const file = join(temporaryFolder(), "received");
  let child: ChildProcess;
  // Its own also while nothing listens.
  const port = await reservePort();
  const start = async (): Promise<void> => {
    child = fork(PROGRAM, [String(port), file]);
    await once(child, "message");
  };
  await start();
  after(() => void child.kill("SIGKILL"));
  return {
    url: `http://127.0.0.1:${port}/`,
    lines: () => {
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      // The last line may have been cut by the kill; it was not answered either.
      return text
        .split("\n")
        .slice(0, -1)
        .map((line) => line.split(" "));
    },
    bytes: () => (existsSync(file) ? statSync(file).size : 0),
    kill: async () => {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
    restart: start,
  };
}
