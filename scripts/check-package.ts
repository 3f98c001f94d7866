import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash, createPublicKey, ECDH, verify } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * `npm run check:package`: packs, installs the package in an empty folder as a user would, serves and signs from there. Npm
 * and npx run on the Node of this machine, and not on the one that npm scripts find first.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
const env = {
  PATH: path.join(delimiter),
  HOME: process.env.HOME,
  KEYSTEAD_PORT: "0",
  KEYSTEAD_ADMIN_PORT: "0",
};
const temporary = mkdtempSync(join(tmpdir(), "keystead-package-"));
const folder = join(temporary, "empty");
const installed = join(folder, "node_modules", "keystead");

const began = performance.now();
const say = (what: string) =>
  void process.stdout.write(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${what}\n`);

async function install(): Promise<void> {
  const run = promisify(execFile);
  await run("npm", ["pack", "--pack-destination", temporary], { cwd: root });
  say("packed");
  mkdirSync(folder);
  // What the installation of this checkout has fetched already is taken from npm's cache.
  const options = ["--prefer-offline", "--no-audit", "--no-fund"];
  const tarball = join(temporary, `keystead-${version}.tgz`);
  const { stderr } = await run("npm", ["install", ...options, tarball], { cwd: folder, env });
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
      const [, baseUrl] = /^Keystead \S+ serves (\S+)$/m.exec(output) ?? [];
      if (baseUrl) resolve({ npx, baseUrl });
    });
    npx.once("close", () => reject(new Error(`the server ended before it served: ${output}`)));
  });
}

/** What `npx keystead call` prints. */
async function call(operation: string, fields: object) {
  const args = ["keystead", "call", operation, JSON.stringify(fields)];
  const { stdout, stderr } = await promisify(execFile)("npx", args, { cwd: folder, env });
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

/** The signer names the files that are in the package. */
async function checkCodeDigest(): Promise<void> {
  const { bootProof } = await call("get_latest_boot_proof", { appName: "signer" });
  const { files } = JSON.parse(Buffer.from(bootProof.qosManifestB64, "base64").toString());
  assert.ok(files.length > 20, `${files.length} files`);
  for (const { path, sha256 } of files) {
    const bytes = readFileSync(join(installed, "dist", path));
    assert.equal(sha256, createHash("sha256").update(bytes).digest("hex"), path);
  }
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

let serving: Serving | undefined;
try {
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
} finally {
  if (serving) process.kill(-(serving.npx.pid as number), "SIGKILL");
  rmSync(temporary, { recursive: true, force: true });
}
