import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Listener } from "../http/listener.ts";
import type { Readiness } from "../http/pages.ts";
import { type Config, StartProblem } from "./config.ts";
import type { Metrics } from "./metrics/metrics.ts";

/**
 * Starts a listener, and resolves to the URL under which this machine reaches it.
 *
 * @throws StartProblem that names the setting
 */
export async function listen(
  listener: Listener,
  { host, port }: Pick<Config, "host" | "port">,
  setting = "KEYSTEAD_PORT",
): Promise<string> {
  try {
    const bound = await listener.listen({ host, port });
    return urlOf(host, bound.port);
  } catch (error) {
    throw new StartProblem(listenProblem(setting, `${host}:${port}`, error));
  }
}

/** The URL of a listener as this machine reaches it. */
export function urlOf(host: string, port: number): string {
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
}

/** Serves metrics and readiness to operators, without authentication. */
export async function listenAdmin(
  { adminHost, adminPort }: Config,
  { registry }: Metrics,
  readiness: () => Promise<Readiness>,
): Promise<{ server: Server; url: string } | undefined> {
  if (adminPort === 0) return undefined;
  const pages: Record<string, () => Promise<{ status: number; type: string; text: string }>> = {
    "/metrics": async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }),
    "/readyz": async () => {
      const state = await readiness();
      return { status: state.status === "ready" ? 200 : 503, type: "application/json", text: JSON.stringify(state) };
    },
  };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (!page) {
      response.writeHead(404).end();
      return;
    }
    page().then(
      ({ status, type, text }) => response.writeHead(status, { "content-type": type }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new StartProblem(listenProblem("KEYSTEAD_ADMIN_PORT", `${adminHost}:${adminPort}`, error))),
    );
    server.listen(adminPort, adminHost, resolve);
  });
  return { server, url: urlOf(adminHost, (server.address() as AddressInfo).port) };
}

function listenProblem(setting: string, address: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === "EADDRINUSE" ? "another process listens there" : message;
  return `cannot listen on ${address}: ${reason}; choose another with ${setting}`;
}
