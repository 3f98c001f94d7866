import { createServer, type ServerResponse } from "node:http";
import { reservePort } from "./ports.ts";
import { until } from "./until.ts";

export interface RpcCall {
  method: string;
  params: unknown[];
}

/** What a node does with a call: answers it, passes it on to the node behind, says nothing ever, or sends any bytes. */
export type RpcReply =
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }
  | { status: number; body: string | Buffer }
  | "pass on"
  | "hang";

type RpcAnswer = Exclude<RpcReply, "pass on">;
type Behavior = RpcReply | ((call: RpcCall) => RpcReply | Promise<RpcReply>);

/** A node that behaves as told, and passes on what it is told nothing about. */
export interface RpcNode {
  url: string;
  /** Every call that came in, in order. */
  calls: readonly RpcCall[];
  /** How it behaves to this method from now on; to all others where none is named. */
  when(method: string, behavior: Behavior): void;
  otherwise(behavior: Behavior): void;
  /** Passes on what it was told something about too. */
  passOnAll(): void;
  /** Resolves when so many calls of the method have come in. */
  waitFor(method: string, count?: number): Promise<void>;
  count(method: string): number;
  /** Calls that it has not answered. */
  open(): number;
  /** Refuses connections until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

export async function startRpcNode(behind?: { url: string }, path = "/"): Promise<RpcNode> {
  const calls: RpcCall[] = [];
  const behaviors = new Map<string, Behavior>();
  let fallback: Behavior = "pass on";
  let open = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const { method, params, id } = JSON.parse(Buffer.concat(chunks).toString()) as RpcCall & { id: number };
      calls.push({ method, params });
      open++;
      response.once("close", () => open--);
      const behavior = behaviors.get(method) ?? fallback;
      try {
        const reply = typeof behavior === "function" ? await behavior({ method, params }) : behavior;
        await send(response, reply === "pass on" ? await passOn(behind, method, params) : reply, id);
      } catch (error) {
        // At the end of a test the node behind may go before it has answered; whoever still waits sees that nobody answers.
        if (isGone(error)) response.destroy();
        else if (!response.destroyed) throw error;
      }
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  // Its own also while it is down.
  const port = await reservePort();
  await listen(port);
  const down = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const count = (method: string) => calls.filter((call) => call.method === method).length;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    calls,
    when: (method, behavior) => void behaviors.set(method, behavior),
    otherwise: (behavior) => {
      fallback = behavior;
    },
    passOnAll: () => {
      behaviors.clear();
      fallback = "pass on";
    },
    waitFor: (method, wanted = 1) => until(() => count(method) >= wanted, `${wanted} calls of ${method}`),
    count,
    open: () => open,
    down,
    up: () => listen(port),
    close: () => (server.listening ? down() : Promise.resolve()),
  };
}

const isGone = (error: unknown): boolean => error instanceof TypeError && error.message === "fetch failed";

async function passOn(behind: { url: string } | undefined, method: string, params: unknown[]): Promise<RpcAnswer> {
  if (!behind) return { error: { code: -32_601, message: `no answer to ${method}` } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(behind.url, { method: "POST", headers, body });
  return (await answer.json()) as { result: unknown } | { error: { code: number; message: string } };
}

async function send(response: ServerResponse, reply: RpcAnswer, id: number): Promise<void> {
  if (reply === "hang") return;
  if ("body" in reply) {
    response.writeHead(reply.status, { "content-type": "application/json" }).end(reply.body);
    return;
  }
  const { result, error } = reply as { result?: unknown; error?: unknown };
  const answer = error === undefined ? { result } : { error };
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
