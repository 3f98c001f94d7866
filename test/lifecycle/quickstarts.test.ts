import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import type { Transaction } from "@solana/web3.js";
import { verifyMessage as verifyByEthers } from "ethers";
import { keccak256, recoverAddress, toBytes, verifyMessage } from "viem";
import type { Json } from "../support/client.ts";
import { evmSignature } from "../support/evm-signature.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";

/** The quickstarts of the guide, run as they stand there. */

const examples = examplesIn("quickstarts");

let server: TestServer;
/** What the first quickstart leaves for the others. */
let first: Json;
before(async () => {
  server = await startTestServer("sqlite");
  first = await quickstart("The server SDK", {}, "credentials, ethereumAddress, solanaAddress, r, s, v, walletId");
});
after(() => server.close());

const IMPORT = /^import \{ ([^}]+) \} from "([^"]+)";$/gm;

/** The file that the reader has in the folder of their server is in this one's. */
const here = (code: string): string => code.replace("data/credentials.json", join(server.dataDir, "credentials.json"));

/** Runs the example below a heading; what it imports is handed to it. */
async function quickstart(heading: string, given: object, answers: string): Promise<Json> {
  const [code = assert.fail(`there is no example of ${heading}`)] = examples(heading);
  const imported: Json = {};
  for (const [, names = "", from = ""] of code.matchAll(IMPORT)) {
    const all = (await import(from)) as Json;
    for (const name of names.split(", ")) imported[name] = all[name] ?? assert.fail(`${from} has no ${name}`);
  }
  return runExample(here(code.replace(IMPORT, "")), { ...imported, ...given }, answers);
}

it("makes a wallet and signs by the server SDK", async () => {
  const { ethereumAddress, r, s, v, walletId } = first;
  assert.equal(await signerOf({ r, s, v }), ethereumAddress);
  assert.equal((await server.root.read("get_wallet", { walletId })).wallet.walletName, "First wallet");
});

it("signs by viem", async () => {
  const { signature } = await quickstart("viem", first, "signature");
  assert.ok(await verifyMessage({ address: first.ethereumAddress, message: "hello", signature }));
});

it("signs by ethers", async () => {
  const { signature } = await quickstart("ethers", first, "signature");
  assert.equal(verifyByEthers("hello", signature), first.ethereumAddress);
});

it("signs for Solana", async () => {
  const { transaction } = await quickstart("Solana", first, "transaction");
  assert.ok((transaction as Transaction).verifySignatures());
});

/** What is not installed of these, in words. */
function without(...commands: string[]): string | false {
  const missing = commands.filter((command) => spawnSync(command, ["--version"]).error !== undefined);
  return missing.length > 0 && `${missing.join(" and ")} not installed`;
}

const run = promisify(execFile);
/** Without what the machine says of proxies. */
const env = { ...process.env, no_proxy: "*" };

it("asks by curl", { skip: without("curl", "openssl") }, async () => {
  const [script = ""] = examples("curl", "bash");
  const { stdout } = await run("bash", ["-euc", here(script)], { env });
  assert.equal(JSON.parse(stdout).organizationId, server.credentials.organizationId);
});

const signerOf = (parts: Json) => recoverAddress({ hash: keccak256(toBytes("hello")), signature: evmSignature(parts) });

/** A file of the reader's, in a folder of its own. */
function written(name: string, [code = ""]: string[]): { folder: string; file: string } {
  const folder = temporaryFolder();
  const file = join(folder, name);
  writeFileSync(file, here(code));
  return { folder, file };
}

it("signs by Go", { skip: without("go") }, async () => {
  const { folder, file } = written("main.go", examples("Go", "go"));
  // Nothing but the standard library, which the machine's cache keeps compiled: it takes half a minute.
  const options = { env: { ...env, CGO_ENABLED: "0", GOPROXY: "off" }, cwd: folder };
  const { stdout } = await run("go", ["run", file, first.ethereumAddress], options);
  const [r, s, v] = stdout.trim().split(" ");
  assert.equal(await signerOf({ r, s, v }), first.ethereumAddress);
});

it("signs by Rust", { skip: without("rustc", "openssl", "curl") }, async () => {
  const { folder, file } = written("main.rs", examples("Rust", "rust"));
  const options = { env: { ...env, TMPDIR: folder }, cwd: folder };
  await run("rustc", ["--edition", "2021", file], options);
  const { stdout } = await run(join(folder, "main"), [first.ethereumAddress], options);
  const { activity } = JSON.parse(stdout);
  assert.equal(await signerOf(activity.result.signRawPayloadResult), first.ethereumAddress);
});
