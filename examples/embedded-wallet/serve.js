import { createServer } from "node:http";
import { extname } from "node:path";
import react from "@vitejs/plugin-react";
import { build } from "vite";

/**
 * Builds the app and serves it:
 *
 *     node serve.js <URL of the service> <organization id> <configuration id of its auth proxy> [port] [URL of the auth proxy]
 *
 * Browsers take `localhost` for a secure place; anywhere else such a page needs TLS.
 */

const [service, organizationId, configId, port = "8401", authProxy = service] = process.argv.slice(2);
if (configId === undefined || ![service, authProxy].every((url) => URL.canParse(url))) {
  process.stderr.write("usage: node serve.js <URL of the service> <organization id> <configuration id> [port] [URL]\n");
  process.exit(2);
}

const { output } = await build({
  root: import.meta.dirname,
  configFile: false,
  logLevel: "error",
  plugins: [react()],
  build: { write: false, target: "es2022", chunkSizeWarningLimit: 100_000 },
});

// The app trusts what its own server found. Over a network, use TLS.
const { serviceKeys } = await (await fetch(`${service}/.well-known/keystead.json`)).json();
const settings = { service, authProxy, organizationId, configId, otpKey: serviceKeys.otp[0].publicKey };

const files = new Map(output.map((file) => [`/${file.fileName}`, file.type === "chunk" ? file.code : file.source]));
files.set("/", files.get("/index.html"));
files.set("/settings.json", JSON.stringify(settings));

const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css", ".json": "application/json" };
const origins = [service, authProxy].map((url) => new URL(url).origin).join(" ");
/** The kit adds its own style elements, and would fetch an animation from lottie.host. This lets it contact only your server. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  `connect-src 'self' ${origins}`,
  `frame-src ${origins}`,
].join("; ");

const server = createServer(({ method, url = "/" }, response) => {
  const file = files.get(url);
  if (method !== "GET" || file === undefined) {
    response.writeHead(404).end();
    return;
  }
  const type = types[extname(url)] ?? "text/html; charset=utf-8";
  response.writeHead(200, { "content-type": type, "content-security-policy": policy }).end(file);
});
server.listen(Number(port), "127.0.0.1", () => {
  process.stdout.write(`http://localhost:${server.address().port}\n`);
});
