import { Agent, type OutgoingHttpHeaders, type RequestOptions, request } from "node:http";

/** Connections are kept, and do not keep the process. */
const kept = new Agent({ keepAlive: true });

export interface Posted {
  status: number;
  headers: Pick<Headers, "get">;
  text: string;
}

/**
 * Sends a body over HTTP, by a connection that is kept unless another is said. A run of all tests does little else, and `fetch` takes
 * three times the work.
 */
export function post(
  url: string | URL,
  body: string | Uint8Array,
  headers: OutgoingHttpHeaders,
  connection: Pick<RequestOptions, "agent" | "localAddress"> = { agent: kept },
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { "user-agent": "node", ...headers }, ...connection };
    const sent = request(url, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const get = (name: string) => {
          const value = answer.headers[name.toLowerCase()];
          return Array.isArray(value) ? value.join(", ") : (value ?? null);
        };
        resolve({ status: answer.statusCode as number, headers: { get }, text: Buffer.concat(chunks).toString() });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
