import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Cloudflare Turnstile's verification on this machine; a token serves once. */
export interface Turnstile {
  url: string;
  secret: string;
  /** What a solved captcha gives a page. */
  solve(): string;
  /** The forms that it was asked with. */
  asked: URLSearchParams[];
  /** What it answers from now on, in place of its own answer. */
  answer(reply: RequestListener | undefined): void;
  close(): Promise<void>;
}

export async function startTurnstile(): Promise<Turnstile> {
  const secret = "turnstile secret";
  const solved = new Set<string>();
  const asked: URLSearchParams[] = [];
  let reply: RequestListener | undefined;
  const server = createServer(async (request, response) => {
    if (reply) return reply(request, response);
    const form = new URLSearchParams(await text(request));
    asked.push(form);
    const isAsked = request.method === "POST" && request.url === "/turnstile/v0/siteverify";
    const success = isAsked && form.get("secret") === secret && solved.delete(form.get("response") ?? "");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ success }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secret,
    asked,
    solve() {
      const token = `token-${solved.size}-${asked.length}`;
      solved.add(token);
      return token;
    },
    answer: (next) => {
      reply = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
