import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { until } from "./until.ts";

/** Of the node that `npm test` starts for all tests. */
export const TEST_CHAIN_ID = 11_155_111;
/** Of the one that it starts for vaults to earn in. */
export const EARN_CHAIN_ID = 8453;

export interface Receipt {
  status: string;
  type: string;
  from: string;
  to: string | null;
  contractAddress: string | null;
}

/** A node to speak to. */
export interface EvmNode {
  /** `http://127.0.0.1:…`, for JSON-RPC. */
  url: string;
  /** The result of a JSON-RPC call; throws with the node's message where there is none. */
  call(method: string, ...params: unknown[]): Promise<unknown>;
  /** Of a transaction that was sent; the node answers the sender before the block is there. */
  receipt(hash: unknown): Promise<Receipt>;
}

/** A local EVM node with a chain of its own that makes a block of each transaction. */
export interface Anvil extends EvmNode {
  pid: number;
  stop(): Promise<void>;
}

/** A node answers each call in less, on a machine with fifteen times as much to do as it can; under the limit of `fetch` itself. */
const HANGS_AFTER_MS = 240_000;

export async function startAnvil({ chainId = 31_337 } = {}): Promise<Anvil> {
  const folder = dirname(createRequire(import.meta.url).resolve("@foundry-rs/anvil-linux-amd64/package.json"));
  // It takes a port by itself and says which: one that is asked for could be somebody else's by then.
  const options = [
    "--host",
    "127.0.0.1",
    "--port",
    "0",
    "--hardfork",
    "prague",
    "--accounts",
    "0",
    "--chain-id",
    `${chainId}`,
  ];
  const node = spawn(join(folder, "bin", "anvil"), options, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = new Promise<void>((resolve) => node.once("close", () => resolve()));
  const killNow = () => node.kill("SIGKILL");
  process.once("exit", killNow);
  const found = nodeAt(`http://${await addressFrom(node.stdout, exit)}`);
  // Or it writes a line about each call, and waits where nobody reads fast enough.
  await found.call("anvil_setLoggingEnabled", false);
  return {
    ...found,
    pid: node.pid as number,
    stop: async () => {
      process.removeListener("exit", killNow);
      node.kill("SIGTERM");
      await exit;
    },
  };
}

/** A node that somebody else started. */
export function nodeAt(url: string): EvmNode {
  const call = (method: string, ...params: unknown[]) => callNode(url, method, params);
  return {
    url,
    call,
    receipt: async (hash) => {
      let receipt: unknown = null;
      await until(async () => {
        receipt = await call("eth_getTransactionReceipt", hash);
        return receipt !== null;
      }, `the receipt of ${hash}`);
      return receipt as Receipt;
    },
  };
}

async function callNode(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const signal = AbortSignal.timeout(HANGS_AFTER_MS);
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal,
    });
    const { result, error } = (await answer.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  } catch (error) {
    if (signal.aborted) endTheFile(`the node at ${url} has not answered ${method} for ${HANGS_AFTER_MS} ms`);
    throw error;
  }
}

/** Seen once: anvil hangs for good. Every test after it would wait its whole time in vain, and say nothing of why. */
function endTheFile(reason: string): never {
  process.stderr.write(`${reason}: no test that needs it can go on\n`);
  process.exit(1);
}

/** Where the node listens, by its own word; it goes on talking afterwards, and nobody listens. */
async function addressFrom(output: Readable, exit: Promise<void>): Promise<string> {
  let text = "";
  const found = new Promise<string>((resolve) => {
    output.on("data", (chunk: Buffer) => {
      text += chunk;
      const [, address] = /Listening on (\S+)/.exec(text) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
  const ended = exit.then(() => Promise.reject(new Error(`the node did not start: ${text}`)));
  const address = await Promise.race([found, ended]);
  output.removeAllListeners("data").resume();
  return address;
}
