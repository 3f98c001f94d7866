import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createLogger } from "../kernel/log.ts";
import { consolePages, isConsoleBuilt } from "./console.ts";
import { createListener, createRoom, type Listener } from "./listener.ts";

const PAGE = '<meta property="csp-nonce" nonce="" /><script type="module" src="/assets/main-abc.js"></script>';
const SCRIPT = "globalThis.isConsole = true;";

describe("the console as it is served", () => {
  let folder: string;
  let listener: Listener;
  let baseUrl: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "keystead-console-"));
    mkdirSync(join(folder, "dist", "assets"), { recursive: true });
    writeFileSync(join(folder, "secret.js"), "secret");
    writeFileSync(join(folder, "dist", "built-from.txt"), "0");
    writeFileSync(join(folder, "dist", "index.html"), PAGE);
    writeFileSync(join(folder, "dist", "assets", "main-abc.js"), SCRIPT);
    writeFileSync(join(folder, "dist", "assets", "notes.txt"), "of a type that no page asks for");
    listener = createListener({
      log: createLogger("silent"),
      trustedProxies: [],
      room: createRoom({ maxConnections: 10, maxConnectionsPerAddress: 10 }, [], () => {}),
      observer: { answered: () => {}, failed: () => {}, turnedAway: () => {} },
    });
    listener.mount(consolePages(pathToFileURL(join(folder, "dist/"))));
    const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
    baseUrl = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    await listener.close();
    rmSync(folder, { recursive: true });
  });

  /** Sends the path unchanged. `fetch` would resolve its dots first. */
  const statusOf = (path: string, method = "GET"): Promise<number> =>
    new Promise((resolve, reject) => {
      request(baseUrl, { path, method }, (answer) => {
        answer.resume();
        resolve(answer.statusCode as number);
      })
        .once("error", reject)
        .end();
    });

  it("is a page that is asked for anew each time, under a policy with a nonce of its own", async () => {
    const nonces: string[] = [];
    for (const _ of [1, 2]) {
      const answer = await fetch(`${baseUrl}/`);
      assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(answer.headers.get("cache-control"), "no-cache");
      const policy = answer.headers.get("content-security-policy") as string;
      const [, nonce = ""] = /style-src 'self' 'nonce-([A-Za-z0-9+/=]+)'/.exec(policy) ?? [];
      const parts = policy.split("; ");
      for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
        assert.ok(parts.includes(part), part);
      }
      assert.doesNotMatch(policy, /unsafe/);
      assert.equal(await answer.text(), PAGE.replace('nonce=""', `nonce="${nonce}"`));
      nonces.push(nonce);
    }
    assert.notEqual(nonces[0], nonces[1]);
  });

  it("has assets that a browser keeps for good, and that are not sent twice", async () => {
    const answer = await fetch(`${baseUrl}/assets/main-abc.js`);
    assert.equal(await answer.text(), SCRIPT);
    assert.equal(answer.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    const again = await fetch(`${baseUrl}/assets/main-abc.js`, {
      headers: { "if-none-match": answer.headers.get("etag") as string },
    });
    assert.equal(again.status, 304);
  });

  it("is read alone", async () => {
    assert.equal(await statusOf("/", "HEAD"), 200);
    assert.equal(await statusOf("/assets/main-abc.js", "HEAD"), 200);
    for (const method of ["POST", "PUT", "DELETE"]) {
      assert.equal(await statusOf("/", method), 404, method);
      assert.equal(await statusOf("/assets/main-abc.js", method), 404, method);
    }
  });

  it("has nothing but the page and its assets, whatever a path says", async () => {
    const paths = [
      "/index.html",
      "/built-from.txt",
      "/assets/",
      "/assets/notes.txt",
      "/assets/../index.html",
      "/assets/../../secret.js",
      "/assets/%2e%2e/%2e%2e/secret.js",
      "/assets/..%2f..%2fsecret.js",
      "/assets/..%5c..%5csecret.js",
      "/assets/main-abc.js/",
      "/assets/main-abc.js%00.svg",
      "//assets/main-abc.js",
      "/assets//main-abc.js",
      "/assets/constructor",
      `/assets/${"a".repeat(5000)}`,
    ];
    for (const path of paths) assert.equal(await statusOf(path), 404, path);
  });

  it("is known to be built by its page", () => {
    assert.ok(isConsoleBuilt(pathToFileURL(join(folder, "dist/"))));
    assert.ok(!isConsoleBuilt(pathToFileURL(join(folder, "elsewhere/"))));
  });
});
