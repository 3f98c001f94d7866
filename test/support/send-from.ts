import { request } from "node:http";
import type { Client, Json } from "./client.ts";

/** What a request may come with in place of a stamp by the client's key. */
const OTHER_STAMPS = ["x-stamp-webauthn", "x-session"];

/** Sends a query or a submit request from one of this machine's own addresses, with more headers if need be. */
export function sendFrom(
  localAddress: string,
  client: Client,
  path: string,
  body: string,
  headers: Record<string, string | string[]> = {},
): Promise<{ status: number; body: Json }> {
  const url = new URL(path, client.baseUrl);
  if (localAddress.includes(":")) url.hostname = "[::1]";
  return new Promise((resolve, reject) => {
    const options = {
      method: "POST",
      localAddress,
      agent: false,
      headers: {
        "content-type": "application/json",
        ...(OTHER_STAMPS.some((name) => name in headers) ? {} : { "x-stamp": client.stamp(body) }),
        ...headers,
      },
    };
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
