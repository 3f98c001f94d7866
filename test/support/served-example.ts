import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface ServedExample {
  url: string;
  stop(): Promise<unknown>;
}

/** Runs the script of an example as its reader would; resolves to where it says that its page is. */
export async function serveExample(script: string, ...args: string[]): Promise<ServedExample> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const stop = () => {
    child.kill();
    return exited;
  };
  const failed = exited.then(([code]) => Promise.reject(new Error(`${script} ended with ${code}`)));
  const [url] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), failed])) as [string];
  failed.catch(() => {});
  return { url, stop };
}
