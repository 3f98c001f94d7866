import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { keccak256, parseTransaction, serializeTransaction } from "viem";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import type { Client, Json } from "../support/client.ts";
import { giveEther, includedHash, newAddress, newEvmWallet } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor, sendIdOf, usedMicros } from "../support/sponsor.ts";

/** A rollup of the OP stack, as far as it matters here: an oracle where its predeploy is, and receipts that name what it took for data. */
const CHAIN_ID = 11_155_420;
const CHAIN = `eip155:${CHAIN_ID}`;
const ORACLE = "0x420000000000000000000000000000000000000f";
const PRICE = 2000n;
/** Wei for each byte that the oracle is asked about. */
const WEI_PER_BYTE = 10n ** 12n;
const microUsd = (wei: bigint): bigint => (wei * PRICE * 10n ** 6n + 10n ** 18n - 1n) / 10n ** 18n;
const bytesIn = (hex: unknown): number => (String(hex).length - 2) / 2;

for (const engine of oneEngine("sqlite")) {
  describe(`what a rollup takes for data that is sponsored (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let from: string;
    /** Of what came before, which is looked after meanwhile. */
    let first: string;

    before(async () => {
      node = await startAnvil({ chainId: CHAIN_ID });
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [CHAIN]: { rpcUrls: [front.url], sponsoredTxFeeCap: "0.1" } },
        prices: { [`${CHAIN}/slip44:60`]: `${PRICE}.00` },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      ({ root } = server);
      await richSponsor(server.baseUrl, node);
      // The station and the account's code are there before anything is compared.
      from = await newAccount();
      first = await includedHash(root, sendIdOf(await send()));
    });
    after(async () => {
      await server.close();
      await front.close();
      await node.stop();
    });

    async function newAccount(): Promise<string> {
      const [address] = (await newEvmWallet(root, node)).addresses as [string];
      await giveEther(node, address, 1000n);
      return address;
    }
    const send = (more: object = {}) =>
      root.submit("eth_send_transaction", {
        from,
        caip2: CHAIN,
        sponsor: true,
        calls: [{ to: newAddress(), value: "1" }],
        gasLimit: "300000",
        ...more,
      });
    /** PUSH the price, times the length of what it is called with. */
    const setOracle = (weiPerByte: bigint) =>
      node.call("anvil_setCode", ORACLE, `0x3667${weiPerByte.toString(16).padStart(16, "0")}025f5260205ff3`);
    const asked = () =>
      front.calls.flatMap(({ method, params: [call] }) =>
        method === "eth_call" && (call as Json).to === ORACLE ? [(call as Json).data as string] : [],
      );

    it("is counted twice over when it is asked for, and with what the receipt says in the end", async () => {
      await node.call("evm_setAutomine", false);
      await node.call("anvil_setCode", ORACLE, "0x");
      const start = await usedMicros(root);
      const without = sendIdOf(await send());
      const gas = (await usedMicros(root)) - start;
      await setOracle(WEI_PER_BYTE);
      const count = asked().length;
      // Data that nothing can compress.
      const data = `${keccak256("0x01")}${keccak256("0x02").slice(2)}`;
      const id = sendIdOf(await send({ calls: [{ to: newAddress(), data }] }));
      assert.equal(asked().length, count + 1, "one question");
      const [weighed = ""] = asked().slice(-1);
      const expected = 2n * WEI_PER_BYTE * BigInt(bytesIn(weighed));
      const counted = (await usedMicros(root)) - start - gas;
      assert.ok(counted >= gas + microUsd(expected) - 1n && counted <= gas + microUsd(expected), `${counted}`);

      const dataFee = 123_456_789_012_345n;
      front.when("eth_getTransactionReceipt", async ({ params }) => {
        const receipt = (await node.call("eth_getTransactionReceipt", ...params)) as Json | null;
        const isNew = receipt !== null && params[0] !== first;
        return { result: isNew ? { ...receipt, l1Fee: `0x${dataFee.toString(16)}` } : receipt };
      });
      await node.call("evm_setAutomine", true);
      await node.call("evm_mine");
      let paid = 0n;
      for (const each of [without, id]) {
        const receipt = (await node.receipt(await includedHash(root, each))) as unknown as Json;
        paid += microUsd(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) + dataFee);
      }
      assert.equal((await usedMicros(root)) - start, paid);
    });

    it("is asked of the oracle for no less than what is sent", async () => {
      await setOracle(WEI_PER_BYTE);
      // Its first one authorizes the station's code.
      const fresh = await newAccount();
      const calls = [newAddress(), newAddress()].map((to) => ({ to, data: keccak256(to as `0x${string}`) }));
      await includedHash(root, sendIdOf(await send({ from: fresh, calls })));
      const raw = front.calls.filter(({ method }) => method === "eth_sendRawTransaction").at(-1)?.params[0];
      const { r: _r, s: _s, v: _v, yParity: _y, ...unsigned } = parseTransaction(raw as `0x04${string}`);
      const weighed = asked().at(-1)?.slice(10) ?? "";
      const length = Number.parseInt(weighed.slice(64, 128), 16);
      const sent = bytesIn(serializeTransaction(unsigned as never));
      assert.ok(length >= sent && length < sent + 64, `${length} for ${sent}`);
      assert.equal(weighed.slice(128, 130), "04");
    });

    it("counts for the cap on what the service offers, and is nothing on a node that has no oracle", async () => {
      await setOracle(10n ** 15n);
      const { status, body } = await send();
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(
        body.message,
        /could cost [\d.]+ of its native asset in fees, and this service relies on nodes for at most 0\.1/,
      );
      front.when("eth_call", ({ params: [call] }) =>
        (call as Json).to === ORACLE ? { error: { code: -32_000, message: "words of a node in trouble" } } : "pass on",
      );
      assert.equal((await send()).status, 503);
      front.when("eth_call", "pass on");
      await node.call("anvil_setCode", ORACLE, "0x");
      await includedHash(root, sendIdOf(await send()));
    });
  });
}
