import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
}

/** A real HTTP server that keeps what it is sent. */
export interface Receiver {
  url: string;
  received: Received[];
  /** Resolves when so many requests have come in. */
  waitFor(count: number): Promise<Received[]>;
  /** What it answers from now on: a status, or anything at all. */
  answer(reply: number | RequestListener): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let waiting: { count: number; resolve: (all: Received[]) => void }[] = [];
  let reply: number | RequestListener = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? "" });
      if (typeof reply === "number") response.writeHead(reply).end();
      else reply(request, response);
      const done = waiting.filter(({ count }) => received.length >= count);
      waiting = waiting.filter(({ count }) => received.length < count);
      for (const { resolve } of done) resolve(received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    waitFor: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve(received);
        else waiting.push({ count, resolve });
      }),
    answer: (next) => {
      reply = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
