import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Turnkey } from "@turnkey/sdk-server";
import { testSolana } from "../support/chain.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { lamportsOf, newSolanaWallet, SOL, unsignedTransfer } from "../support/solana-sender.ts";

/** The example of the guide, run as it stands there with the published client. */

const guide = readFileSync(new URL("../../docs/guide/sending.md", import.meta.url), "utf8");
const [, example = ""] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("sends a transaction and waits for its end", async () => {
  const { baseUrl, credentials, root } = server;
  const wallet = new Turnkey({
    apiBaseUrl: baseUrl,
    apiPublicKey: credentials.apiKey.publicKey,
    apiPrivateKey: credentials.apiKey.privateKey as string,
    defaultOrganizationId: credentials.organizationId,
  }).apiClient();
  const { addresses } = await newSolanaWallet(root, testSolana());
  const { wire, to } = unsignedTransfer(addresses);
  let shown = "";
  const given = {
    wallet,
    transaction: new Uint8Array(wire),
    from: addresses[0],
    pause: (milliseconds: number) => setTimeout(milliseconds),
    show: (signature: string) => {
      shown = signature;
    },
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(...Object.keys(given), example)(...Object.values(given));
  assert.match(shown, /^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
  assert.equal(await lamportsOf(testSolana(), to), SOL);
});
