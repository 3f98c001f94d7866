import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { freePort } from "./postgres.ts";

/** A local EVM node with a chain of its own that makes a block of each transaction. */
export interface Anvil {
  /** `http://127.0.0.1:…`, for JSON-RPC. */
  url: string;
  pid: number;
  /** The result of a JSON-RPC call; throws with the node's message where there is none. */
  call(method: string, ...params: unknown[]): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startAnvil(): Promise<Anvil> {
  const folder = dirname(createRequire(import.meta.url).resolve("@foundry-rs/anvil-linux-amd64/package.json"));
  const port = await freePort();
  const options = ["--host", "127.0.0.1", "--port", String(port), "--hardfork", "prague", "--silent"];
  const node = spawn(join(folder, "bin", "anvil"), options, { stdio: "ignore" });
  const exit = new Promise<void>((resolve) => node.once("close", () => resolve()));
  const killNow = () => node.kill("SIGKILL");
  process.once("exit", killNow);
  const url = `http://127.0.0.1:${port}`;
  const call = (method: string, ...params: unknown[]) => callNode(url, method, params);
  await untilAnswering(call, () => node.exitCode !== null).catch((error: unknown) => {
    killNow();
    throw error;
  });
  return {
    url,
    pid: node.pid as number,
    call,
    stop: async () => {
      process.removeListener("exit", killNow);
      node.kill("SIGTERM");
      await exit;
    },
  };
}

async function callNode(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

async function untilAnswering(call: Anvil["call"], hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      await call("eth_chainId");
      return;
    } catch (error) {
      if (hasEnded() || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
