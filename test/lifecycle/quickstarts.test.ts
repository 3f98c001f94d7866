import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import type { Transaction } from "@solana/web3.js";
import { verifyMessage as verifyByEthers } from "ethers";
import { keccak256, recoverAddress, toBytes, verifyMessage } from "viem";
import type { Json } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

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
  const signature = `0x${r}${s}${v === "00" ? "1b" : "1c"}` as const;
  assert.equal(await recoverAddress({ hash: keccak256(toBytes("hello")), signature }), ethereumAddress);
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

const isThere = (command: string) => spawnSync(command, ["version"]).error === undefined;
const skip = !["curl", "openssl"].every(isThere) && "curl or openssl is not installed";

it("asks by curl", { skip }, async () => {
  const [script = ""] = examples("curl", "bash");
  const env = { ...process.env, no_proxy: "*" };
  const { stdout } = await promisify(execFile)("bash", ["-euc", here(script)], { env });
  assert.equal(JSON.parse(stdout).organizationId, server.credentials.organizationId);
});
