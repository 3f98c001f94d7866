import { Agent, request } from "node:http";

/** Connections are kept, and do not keep the process. */
const agent = new Agent({ keepAlive: true });

export interface Posted {
  status: number;
  headers: Pick<Headers, "get">;
  text: string;
}

/** Sends a body over HTTP: of the hundred thousand requests of a run, `fetch` would make three times the work each. */
export function post(url: string, body: string | Uint8Array, headers: Record<string, string>): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers: { "user-agent": "node", ...headers } }, (answer) => {
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
