import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A webhook receiver as a process of its own: `receiver-process.ts <port> [<file>]`. It writes each event down, as a line
 * `<event id> <activity id> <activity status>` or `<event id>`, before it answers 200, and reports its port.
 */
const [port = "0", file = ""] = process.argv.slice(2);
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { id, status } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: string; status?: string };
    const words = [request.headers["x-turnkey-event-id"], ...(id && status ? [id, status] : [])];
    appendFileSync(file, `${words.join(" ")}\n`);
    response.writeHead(200).end();
  });
});
server.listen(Number(port), "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
