import type { Json } from "./client.ts";
import type { TestServer } from "./server.ts";
import { createWorld, type Member } from "./world.ts";

/** An app that people use without an account yet: it knows a configuration id and nothing else. */
export interface App {
  configId: string;
  /** The user of the proxy. */
  proxyUserId: string;
  /** Of the organization that the app belongs to. */
  root: Member;
  call(path: string, body?: unknown, headers?: Record<string, string>): Promise<AppAnswer>;
  /** The answer of a call that is taken. */
  ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<Json>;
}

export interface AppAnswer {
  status: number;
  headers: Headers;
  body: Json;
}

/** Calls the auth proxy; what is no text is sent as JSON, and nothing as no body at all. */
export async function callAuthProxy(
  url: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<AppAnswer> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Json };
}

/** An organization of its own whose auth proxy is enabled, with these settings. */
export async function createApp(server: TestServer, settings: object = {}): Promise<App> {
  const { root } = await createWorld(server);
  const { userId: proxyUserId } = await root.client.result("enable_auth_proxy", {});
  const { configId } = await root.client.result("update_auth_proxy_config", settings);
  const call: App["call"] = (path, body, headers = {}) =>
    callAuthProxy(server.authProxyUrl, path, body, { "x-auth-proxy-config-id": configId, ...headers });
  return {
    configId,
    proxyUserId,
    root,
    call,
    async ask(path, body, headers) {
      const answer = await call(path, body, headers);
      if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
  };
}
