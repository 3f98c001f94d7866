import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { createLogger } from "../kernel/log.ts";
import { handbookPages, isHandbookBuilt } from "./handbook.ts";
import { createListener, createRoom, type Listener } from "./listener.ts";

const INLINE = "document.documentElement.classList.add('dark')";
const PAGE = `<title>Begin</title><script src="/handbook/assets/app.js"></script><script id="theme">${INLINE}</script>`;
const FILES: Record<string, string> = {
  "index.html": "<title>The handbook</title>",
  "404.html": "<title>Nothing here</title>",
  "guide/begin.html": PAGE,
  "guide/index.html": "<title>Guides</title>",
  "guide/gone.html": "<title>Gone</title>",
  "assets/gone.js": "",
  "assets/app.js": "globalThis.isHandbook = true;",
  "assets/chunks/search.js": "globalThis.hasSearch = true;",
  "built-from.txt": "0",
};

describe("the handbook as it is served", () => {
  let folder: string;
  let listener: Listener;
  let baseUrl: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "keystead-handbook-"));
    for (const [name, text] of Object.entries(FILES)) {
      const file = join(folder, "dist", name);
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, text);
    }
    writeFileSync(join(folder, "secret.html"), "secret");
    listener = createListener({
      log: createLogger("silent"),
      trustedProxies: [],
      room: createRoom({ maxConnections: 10, maxConnectionsPerAddress: 10 }, [], () => {}),
      observer: { answered: () => {}, failed: () => {}, turnedAway: () => {} },
    });
    listener.mount(handbookPages(pathToFileURL(join(folder, "dist/"))));
    const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
    baseUrl = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    await listener.close();
    rmSync(folder, { recursive: true });
  });

  const get = async (path: string) => {
    const answer = await fetch(`${baseUrl}${path}`, { redirect: "manual" });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  /** Sends the path unchanged. `fetch` would resolve its dots first. */
  const statusOf = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      request(baseUrl, { path }, (answer) => {
        answer.resume();
        resolve(answer.statusCode as number);
      })
        .once("error", reject)
        .end();
    });

  it("begins with its first page, and has the others without their ending", async () => {
    const { status, headers } = await get("/handbook");
    assert.deepEqual([status, headers.get("location")], [302, "/handbook/"]);
    assert.match((await get("/handbook/")).text, /The handbook/);
    assert.match((await get("/handbook/guide/begin")).text, /Begin/);
    assert.match((await get("/handbook/guide/")).text, /Guides/);
  });

  it("allows a page its own scripts, those that stand in it by their digest, and nothing of anybody else", async () => {
    const { headers } = await get("/handbook/guide/begin");
    const digest = createHash("sha256").update(INLINE).digest("base64");
    const policy = headers.get("content-security-policy") as string;
    assert.match(policy, /^default-src 'none'; /);
    assert.ok(policy.includes(`script-src 'self' 'sha256-${digest}';`), policy);
    assert.ok(policy.includes("style-src 'self'; "), policy);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(headers.get("cache-control"), "no-cache");
  });

  it("has browsers keep what is named after its content", async () => {
    const { headers, text } = await get("/handbook/assets/chunks/search.js");
    assert.equal(text, FILES["assets/chunks/search.js"]);
    assert.match(headers.get("cache-control") as string, /immutable/);
  });

  it("says what is not there with a page, and serves nothing that stands elsewhere", async () => {
    const { status, text } = await get("/handbook/guide/nothing");
    assert.deepEqual([status, text], [404, FILES["404.html"]]);
    for (const path of ["assets/none.js", "../secret", "%2e%2e/secret", "guide/../../secret.html", "built-from.txt"]) {
      assert.equal(await statusOf(`/handbook/${path}`), 404, path);
    }
  });

  it("says that a file is not there which was, until it is there again", async () => {
    const gone = join(folder, "dist/guide/gone.html");
    const asset = join(folder, "dist/assets/gone.js");
    // Lists the files.
    await get("/handbook/");
    rmSync(gone);
    rmSync(asset);
    const { status, text } = await get("/handbook/guide/gone");
    assert.deepEqual([status, text], [404, FILES["404.html"]]);
    assert.equal((await get("/handbook/assets/gone.js")).status, 404);
    writeFileSync(gone, "<title>Back</title>");
    assert.match((await get("/handbook/guide/gone")).text, /Back/);
  });

  it("is not served where it is not built", () => {
    assert.ok(isHandbookBuilt(pathToFileURL(join(folder, "dist/"))));
    assert.ok(!isHandbookBuilt(pathToFileURL(`${folder}/`)));
  });
});
