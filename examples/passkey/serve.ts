import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Serves the page beside this file, for people who sign up with a passkey:
 *
 *     node examples/passkey/serve.ts <URL of the service> <configuration id of its auth proxy> [port]
 *
 * Browsers take `localhost` for a secure place; anywhere else such a page needs TLS.
 */

const [service, configId, port = "8400"] = process.argv.slice(2);
if (service === undefined || configId === undefined || !URL.canParse(service)) {
  process.stderr.write("usage: node examples/passkey/serve.ts <URL of the service> <configuration id> [port]\n");
  process.exit(2);
}

const fileOf = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));
const html = "text/html; charset=utf-8";
const javascript = "text/javascript; charset=utf-8";
const files: Record<string, { type: string; bytes: Buffer | string }> = {
  "/": { type: html, bytes: fileOf("index.html") },
  "/page.js": { type: javascript, bytes: fileOf("page.js") },
  "/passkey.js": { type: javascript, bytes: fileOf("passkey.js") },
  "/settings.json": { type: "application/json", bytes: JSON.stringify({ service, configId }) },
};

const server = createServer(({ method, url = "/" }, response) => {
  const file = Object.hasOwn(files, url) ? files[url] : undefined;
  if (method !== "GET" || file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const policy = `default-src 'none'; script-src 'self'; img-src data:; connect-src 'self' ${new URL(service).origin}`;
  response.writeHead(200, { "content-type": file.type, "content-security-policy": policy }).end(file.bytes);
});
server.listen(Number(port), "127.0.0.1", () => {
  process.stdout.write(`http://localhost:${(server.address() as AddressInfo).port}\n`);
});
