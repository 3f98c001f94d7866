import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { Json } from "./client.ts";

/** A folder that programs of other users can reach, with a Node in it for them to run on. */
export function programFolder(): { folder: string; directory: string; node: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "keystead-tvc-"));
  chmodSync(folder, 0o755);
  const node = join(folder, "node");
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const directory = join(folder, "programs");
  return { folder, directory, node, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * A program that answers at the address and port that it is told by its environment: what it was asked and as whom it runs,
 * its quorum key, `/health` with the status that `/be` told it, that ends at `/end`, at `/write` writes so many lines of so many characters, and
 * at `/raw` answers with these bytes in hex and nothing else. With `--stubborn` it does not end when it is asked
 * to, with `--leave` it begins another process that leaves its group.
 */
export const httpProgram = (node: string, name: string): Buffer =>
  Buffer.from(`#!${node}
const { spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { createServer } = require("node:http");
const { text } = require("node:stream/consumers");
const { HOST, PORT, TVC_REPLICA, TVC_QUORUM_KEY_FD, ...rest } = process.env;
const quorumKey = TVC_QUORUM_KEY_FD && readFileSync(Number(TVC_QUORUM_KEY_FD)).toString("hex");
let health = 200;
if (process.argv.includes("--stubborn")) process.on("SIGTERM", () => {});
const begin = () => spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { detached: true, stdio: "ignore" }).pid;
const left = process.argv.includes("--leave") ? begin() : undefined;
createServer(async (request, response) => {
  if (request.url === "/health") return response.writeHead(health).end();
  if (request.url.startsWith("/be/")) health = Number(request.url.slice(4));
  const body = await text(request);
  const [, lines, length] = /^\\/write\\/(\\d+)\\/(\\d+)$/.exec(request.url) ?? [];
  if (lines) process.stdout.write(("\\u0001".repeat(length) + "\\n").repeat(lines));
  console.log(request.method + " " + request.url);
  if (request.url.startsWith("/raw/")) return request.socket.end(Buffer.from(request.url.slice(5), "hex"));
  response.writeHead(201, { "content-type": "application/json", "x-program": "${name}" });
  const { method, url, headers } = request;
  response.end(JSON.stringify({
    name: "${name}", args: process.argv.slice(2), replica: Number(TVC_REPLICA), pid: process.pid, uid: process.getuid(),
    groups: process.getgroups(), cwd: process.cwd(), environment: Object.keys(rest).sort(), method, url, headers, body, left, quorumKey,
    oomScore: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
  }), () => url === "/end" && process.exit(3));
}).listen(Number(PORT), HOST, () => console.log("listening"));
`);

/** Of a process that runs, the one that began it: of a program, its runner. */
export const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** A request to a host that the address does not name, which `fetch` does not allow. */
export function requestAs(
  baseUrl: string,
  host: string,
  path: string,
  {
    method = "GET",
    body = "",
    headers = {},
  }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: Json; body: Json }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${baseUrl}${path}`, { method, headers: { ...headers, host } }, (response) => {
      const { statusCode: status = 0, headers } = response;
      json(response).then((answer) => resolve({ status, headers, body: answer as Json }), reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}
