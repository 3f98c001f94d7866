import assert from "node:assert/strict";
import { it } from "node:test";
import { compressedFromShown } from "../../src/capabilities/private-keys/model.ts";
import { MAX_PSBT_INPUTS } from "../../src/kernel/limits.ts";
import type { Client } from "../support/client.ts";
import { largePsbt } from "../support/large-psbts.ts";
import { signerOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

/** What a hostile but valid request costs somebody else: the largest transactions that there are, many at once. */

const TRANSACTIONS = 30;

interface Sent {
  status: number;
  /** How many of the large transactions were answered before it was sent ... */
  after: number;
  /** ... and while it waited. */
  meanwhile: number;
  ms: number;
}

async function newKey(client: Client): Promise<{ id: string; publicKey: Uint8Array }> {
  const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
  const id = privateKeys[0].privateKeyId;
  const { privateKey } = await client.read("get_private_key", { privateKeyId: id });
  return { id, publicKey: compressedFromShown("CURVE_SECP256K1", privateKey.publicKey) };
}

it(`${TRANSACTIONS} transactions of ${MAX_PSBT_INPUTS} inputs at once do not keep another organization's signature waiting`, async (t) => {
  const server = await startServerProcess({ dataDir: temporaryFolder() });
  const busy = server.root;
  const bystander = (await addSubOrganization(server.root)).client;
  const [busyKey, bystanderKey] = [await newKey(busy), await newKey(bystander)];
  const signer = await signerOf(server);

  let answered = 0;
  /** Stamped beforehand; the function sends it, and reads no answer: a large one would keep this process busy. */
  const prepared = (client: Client, path: string, parameters: object): (() => Promise<Sent>) => {
    const body = client.submitBody(path, parameters);
    const headers = { "content-type": "application/json", "x-stamp": client.stamp(body) };
    return async () => {
      const start = performance.now();
      const after = answered;
      const { status, body: unread } = await fetch(`${server.baseUrl}/public/v1/submit/${path}`, {
        method: "POST",
        headers,
        body,
      });
      const sent = { status, after, meanwhile: answered - after, ms: performance.now() - start };
      await unread?.cancel();
      return sent;
    };
  };
  const large = Array.from({ length: TRANSACTIONS }, (_, seed) => {
    const psbt = largePsbt(busyKey.publicKey, { kind: "P2WPKH", inputs: MAX_PSBT_INPUTS, seed });
    const parameters = { signWith: busyKey.id, type: "TRANSACTION_TYPE_BITCOIN" };
    return prepared(busy, "sign_transaction", { ...parameters, unsignedTransaction: psbt.toString("hex") });
  });
  const small = Array.from({ length: 3 }, (_, count) =>
    prepared(bystander, "sign_raw_payload", {
      signWith: bystanderKey.id,
      payload: String(count),
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_SHA256",
    }),
  );

  const flood = large.map(async (send) => {
    const sent = await send();
    answered++;
    return sent;
  });
  const others: Sent[] = [];
  // At once, when the signer has begun, and in the midst of it all.
  for (const [index, after] of [0, 1, TRANSACTIONS / 2].entries()) {
    await until(() => answered >= after, `${after} transactions to be answered`, 240_000);
    others.push(await (small[index] as () => Promise<Sent>)());
  }
  const all = await Promise.all(flood);

  const longest = Math.max(...all.map(({ ms }) => ms));
  const shown = others.map(({ ms, after }) => `${ms.toFixed(0)} ms (after ${after} of ${TRANSACTIONS})`).join(", ");
  t.diagnostic(`the other organization's signatures took ${shown}; all transactions together ${longest.toFixed(0)} ms`);
  assert.deepEqual([...new Set([...all, ...others].map(({ status }) => status))], [200]);
  for (const { after, meanwhile } of others) {
    assert.ok(
      meanwhile <= 2,
      `${meanwhile} transactions were answered before a signature that was sent after ${after}`,
    );
  }
  assert.equal(await signerOf(server), signer, "the signer was not given up meanwhile");
  await server.end("SIGTERM");
});
