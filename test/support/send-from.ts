import type { Client, Json } from "./client.ts";
import { post } from "./post.ts";

/** What a request may come with in place of a stamp by the client's key. */
const OTHER_STAMPS = ["x-stamp-webauthn", "x-session"];

/** Sends a query or a submit request from one of this machine's own addresses, with more headers if need be. */
export async function sendFrom(
  localAddress: string,
  client: Client,
  path: string,
  body: string,
  headers: Record<string, string | string[]> = {},
): Promise<{ status: number; body: Json }> {
  const url = new URL(path, client.baseUrl);
  if (localAddress.includes(":")) url.hostname = "[::1]";
  const given = {
    "content-type": "application/json",
    ...(OTHER_STAMPS.some((name) => name in headers) ? {} : { "x-stamp": client.stamp(body) }),
    ...headers,
  };
  const { status, text } = await post(url, body, given, { localAddress, agent: false });
  return { status, body: JSON.parse(text) };
}
