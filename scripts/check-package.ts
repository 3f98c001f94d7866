import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createPublicKey, ECDH, verify } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { differences, filesIn, sha256Of, unpack } from "./packed-files.ts";
import { type Manifest, metadataProblems, openPoints, type Packed } from "./release-metadata.ts";

/**
 * `npm run check:package`: packs, looks at the metadata, installs the package in an empty folder as a user would, serves and signs from
 * there. Npm and npx run on the Node of this machine, and not on the one that npm scripts find first.
 *
 * `npm run release:check` (`--release`) builds and packs a second time as well, which must give the same bytes. With `--publish` it also
 * fails where something is left to whoever publishes; otherwise that is told at the end.
 */

const { values: options } = parseArgs({ options: { release: { type: "boolean" }, publish: { type: "boolean" } } });

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
const env = {
  PATH: path.join(delimiter),
  HOME: process.env.HOME,
  KEYSTEAD_PORT: "0",
  KEYSTEAD_ADMIN_PORT: "0",
};
/** Of what npm and a build print. */
const MAX_OUTPUT = 64 * 1024 * 1024;
const temporary = mkdtempSync(join(tmpdir(), "keystead-package-"));
const folder = join(temporary, "empty");
const installed = join(folder, "node_modules", "keystead");

const began = performance.now();
const say = (what: string) =>
  void process.stdout.write(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${what}\n`);

const run = promisify(execFile);
const tarball = join(temporary, `keystead-${version}.tgz`);

const pack = (into: string) => run("npm", ["pack", "--pack-destination", into], { cwd: root, maxBuffer: MAX_OUTPUT });

/** The package as it was packed, with nothing wrong in its metadata. */
function checkMetadata(): Packed {
  const unpacked = unpack(tarball, join(temporary, "first"));
  const read = (path: string) => readFileSync(join(unpacked, path), "utf8");
  const manifest = JSON.parse(read("package.json")) as Manifest;
  const packed = { manifest, files: new Set(filesIn(unpacked).keys()), read };
  assert.deepEqual(metadataProblems(packed), [], "the package's metadata");
  return packed;
}

/** Everything is built again, the handbook too, which a build leaves as it is where its sources did not change. */
async function packAgain(): Promise<void> {
  const again = join(temporary, "again");
  mkdirSync(again);
  await run("npm", ["run", "docs"], { cwd: root, maxBuffer: MAX_OUTPUT });
  await pack(again);
  const [one, other] = [tarball, join(again, `keystead-${version}.tgz`)].map((file) => readFileSync(file));
  if (one?.equals(other as Buffer)) return;
  const files = differences(
    filesIn(join(temporary, "first", "package")),
    filesIn(unpack(join(again, `keystead-${version}.tgz`), join(temporary, "second"))),
  );
  throw new Error(
    `built twice, the package is not the same: ${files.slice(0, 20).join(", ") || "its files are; their modes, times or order are not"}`,
  );
}

async function install(): Promise<void> {
  mkdirSync(folder);
  // What the installation of this checkout has fetched already is taken from npm's cache.
  const quietly = ["--prefer-offline", "--no-audit", "--no-fund"];
  const { stderr } = await run("npm", ["install", ...quietly, tarball], { cwd: folder, env });
  assert.doesNotMatch(stderr, /EBADENGINE/, "npm warns of no engine");
  say("installed in an empty folder");
}

interface Serving {
  npx: ChildProcess;
  baseUrl: string;
}

function serve(): Promise<Serving> {
  // In a group of processes of its own, which a signal reaches as a terminal's does.
  const npx = spawn("npx", ["keystead", "serve"], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  return new Promise((resolve, reject) => {
    npx.stdout.on("data", (chunk) => {
      output += chunk;
      const [, baseUrl] = /"baseUrl":"([^"]+)".*"msg":"serving"/.exec(output) ?? [];
      if (baseUrl) resolve({ npx, baseUrl });
    });
    npx.once("close", () => reject(new Error(`the server ended before it served: ${output}`)));
  });
}

/** What `npx keystead call` prints. */
async function call(operation: string, fields: object) {
  const args = ["keystead", "call", operation, JSON.stringify(fields)];
  const { stdout, stderr } = await run("npx", args, { cwd: folder, env });
  assert.doesNotMatch(stderr, /EBADENGINE/);
  return JSON.parse(stdout);
}

async function checkSignature(): Promise<void> {
  const key = { privateKeyName: "key", curve: "CURVE_P256", addressFormats: [], privateKeyTags: [] };
  const { activity: created } = await call("create_private_keys", { privateKeys: [key] });
  const { privateKeyId } = created.result.createPrivateKeysResultV2.privateKeys[0];
  const { privateKey } = await call("get_private_key", { privateKeyId });
  const { activity: signed } = await call("sign_raw_payload", {
    signWith: privateKeyId,
    payload: "hello",
    encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
    hashFunction: "HASH_FUNCTION_SHA256",
  });
  const { r, s } = signed.result.signRawPayloadResult;
  const signature = { key: p256Key(privateKey.publicKey), dsaEncoding: "ieee-p1363" } as const;
  assert.ok(verify("sha256", Buffer.from("hello"), signature, Buffer.from(r + s, "hex")));
}

function p256Key(compressed: string) {
  const point = ECDH.convertKey(compressed, "prime256v1", "hex", undefined, "uncompressed") as Buffer;
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x: x as string, y: y as string }, format: "jwk" });
}

interface Documented {
  paths: Record<string, { post: { requestBody: { content: Record<string, { example: { parameters: Json } }> } } }>;
}

type Json = Record<string, unknown>;

/** The page and the examples come with the package; Scalar's own packages do not. */
async function checkDocs(baseUrl: string): Promise<void> {
  assert.ok(!existsSync(join(folder, "node_modules", "@scalar")));
  const page = await fetch(`${baseUrl}/docs/`);
  const [, script] = /<script src="([^"]+)"/.exec(await page.text()) ?? [];
  const answer = await fetch(new URL(script as string, page.url));
  assert.equal(answer.status, 200);
  assert.ok((await answer.arrayBuffer()).byteLength > 1_000_000);
  const { paths } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Documented;
  const { requestBody } = paths["/public/v1/submit/create_wallet"]?.post ?? {};
  assert.equal(requestBody?.content["application/json"]?.example.parameters.walletName, "Wallet");
}

/** The console, the frames and the handbook come built; what they are built with does not come. */
async function checkConsole(baseUrl: string): Promise<void> {
  assert.ok(!existsSync(join(folder, "node_modules", "vite")));
  const page = await fetch(`${baseUrl}/`);
  assert.equal(page.status, 200);
  const [, script] = /<script [^>]*src="([^"]+)"/.exec(await page.text()) ?? [];
  assert.equal((await fetch(new URL(script as string, page.url))).status, 200);
  assert.equal((await fetch(`${baseUrl}/frames/import`)).status, 200);
  assert.equal((await fetch(`${baseUrl}/handbook/reference/operations`)).status, 200);
}

/** The signer names the one file that it is. */
async function checkCodeDigest(): Promise<void> {
  const { bootProof } = await call("get_latest_boot_proof", { appName: "signer" });
  const { files } = JSON.parse(Buffer.from(bootProof.qosManifestB64, "base64").toString());
  const path = "signer/process/main.js";
  assert.deepEqual(files, [{ path, sha256: sha256Of(readFileSync(join(installed, "dist", path))) }]);
}

/** The bill of materials names every package that was installed with ours. */
function checkSbom(): void {
  const { components } = JSON.parse(readFileSync(join(installed, "dist", "sbom.cdx.json"), "utf8")) as {
    components: { name: string }[];
  };
  const { packages } = JSON.parse(readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8")) as {
    packages: Record<string, unknown>;
  };
  const named = new Set(components.map(({ name }) => name));
  for (const path of Object.keys(packages)) {
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    assert.ok(name === "keystead" || named.has(name), `${name} is not in the bill of materials`);
  }
}

async function stop({ npx, baseUrl }: Serving): Promise<void> {
  // Closed once everybody who could write to it has ended, the server among them.
  const ended = once(npx, "close");
  process.kill(-(npx.pid as number), "SIGINT");
  await ended;
  await assert.rejects(fetch(`${baseUrl}/healthz`));
}

/** What was proved, for whoever compares it with what is published, and what is left to do. */
function tellRelease(packed: Packed): void {
  const bytes = readFileSync(tarball);
  process.stdout.write(`keystead-${version}.tgz: ${bytes.length} bytes, SHA-256 ${sha256Of(bytes)}\n`);
  const open = openPoints(packed);
  if (open.length === 0) return void process.stdout.write("Nothing is left before it can be published.\n");
  process.stdout.write(`Left to the publisher:\n${open.map((point) => `  - ${point}\n`).join("")}`);
  if (options.publish) process.exitCode = 1;
}

let serving: Serving | undefined;
try {
  await pack(temporary);
  say("packed");
  const packed = checkMetadata();
  say("has sound metadata, and a bill of materials of this version");
  if (options.release) {
    await packAgain();
    say("built and packed again, it is the same byte for byte");
  }
  await install();
  serving = await serve();
  say("serves");
  await checkSignature();
  say("signs");
  await checkDocs(serving.baseUrl);
  await checkConsole(serving.baseUrl);
  await checkCodeDigest();
  checkSbom();
  say("has its docs page, its console, its handbook, the files that the signer names, and a bill of materials");
  await stop(serving);
  serving = undefined;
  say("stopped");
  if (options.release) tellRelease(packed);
} finally {
  if (serving) process.kill(-(serving.npx.pid as number), "SIGKILL");
  rmSync(temporary, { recursive: true, force: true });
}
