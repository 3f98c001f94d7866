import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { Turnkey } from "@turnkey/sdk-server";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import type { Json } from "../support/client.ts";
import { deployToken, tokenTransfer } from "../support/contracts.ts";
import { countingSender, historiesOn, newWalletAddress, watching } from "../support/history.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/webhooks.ts";

const CHAIN_ID = 84_532;
const CHAIN = "eip155:84532";
const CONFIRMED = { eventType: "BALANCE_CONFIRMED_UPDATES" };
const FINALIZED = { eventType: "BALANCE_FINALIZED_UPDATES" };
const { once } = historiesOn(CHAIN);

for (const engine of engines) {
  describe(`events of balances (${engine})`, () => {
    let node: Anvil;
    let server: TestServer;
    let receiver: Receiver;
    let sender: Awaited<ReturnType<typeof countingSender>>;
    let token: string;
    let unknown: string;

    before(async () => {
      node = await startAnvil({ chainId: CHAIN_ID });
      sender = await countingSender(node, CHAIN_ID);
      token = await deployToken(node, sender);
      unknown = await deployToken(node, sender);
      receiver = await startReceiver();
      const assets = [{ address: token, symbol: "TST", name: "Test token", decimals: 6 }];
      server = await startTestServer(engine, { chains: { [CHAIN]: { rpcUrls: [node.url], pollMs: 100, assets } } });
      await watching(server);
    });
    after(async () => {
      await server.close();
      await receiver.close();
      await node.stop();
    });

    const eventsAt = async (path: string, count: number): Promise<Json[]> => {
      const there = () => receiver.received.filter((one) => one.path === path);
      await until(() => there().length >= count, `${count} events`);
      return there().map(({ body, headers }) => ({ ...JSON.parse(body), eventType: headers["x-turnkey-event-type"] }));
    };

    it("tell of deposits and withdrawals of known assets, confirmed and then finalized", async () => {
      const { root } = server;
      const subscriptions = [CONFIRMED, FINALIZED];
      await root.result("create_webhook_endpoint", { url: `${receiver.url}/all`, name: "hook", subscriptions });
      const address = await newWalletAddress(root);
      await sender.send({ to: unknown, value: 0n, data: tokenTransfer(address, 9n) });
      const hash = await sender.send({ to: token, value: 0n, data: tokenTransfer(address, 1_500_000n) });
      await node.call("anvil_setBalance", address, `0x${(10n ** 20n).toString(16)}`);
      await node.call("anvil_impersonateAccount", address);
      const sent = { from: address, to: sender.address, value: "0x7" };
      const paid = await node.call("eth_sendTransaction", sent);
      await node.receipt(paid);
      await node.call("anvil_mine", "0x5");
      const events = await eventsAt("/all", 4);
      const receipt = (await node.call("eth_getTransactionReceipt", hash)) as Json;
      const block = (await node.call("eth_getBlockByHash", receipt.blockHash, false)) as Json;
      const of = (type: string, operation: string) =>
        events.find((event) => event.type === type && event.msg.operation === operation) as Json;
      for (const [type, eventType] of [
        ["balances:confirmed", CONFIRMED.eventType],
        ["balances:finalized", FINALIZED.eventType],
      ] as const) {
        const deposit = of(type, "deposit");
        const { idempotencyKey } = deposit.msg;
        assert.match(idempotencyKey, new RegExp(`^[0-9a-f]{64}:${type}$`));
        assert.deepEqual(deposit, {
          type,
          eventType,
          organizationId: root.organizationId,
          parentOrganizationId: root.organizationId,
          msg: {
            operation: "deposit",
            caip2: CHAIN,
            txHash: hash,
            address,
            idempotencyKey,
            asset: {
              symbol: "TST",
              name: "Test token",
              decimals: 6,
              caip19: `${CHAIN}/erc20:${token}`,
              amount: "1500000",
            },
            block: {
              number: Number(block.number),
              hash: block.hash,
              timestamp: new Date(Number(block.timestamp) * 1000).toISOString(),
            },
          },
        });
        const withdrawal = of(type, "withdraw");
        assert.equal(withdrawal.msg.txHash, paid);
        assert.equal(withdrawal.msg.asset.caip19, `${CHAIN}/slip44:60`);
        assert.equal(withdrawal.msg.asset.amount, "7");
      }
      assert.equal(events.length, 4, "nothing is told of unknown tokens, of fees, or twice");
      const types = events.map(({ type, msg }) => `${type} ${msg.operation}`);
      for (const operation of ["deposit", "withdraw"]) {
        const [first, second] = ["confirmed", "finalized"].map((word) =>
          types.indexOf(`balances:${word} ${operation}`),
        );
        assert.ok((first as number) < (second as number));
      }
    });

    it("reach the parent of a sub-organization, as its filters say", async () => {
      const { root } = server;
      const sub = await addSubOrganization(server);
      const [wanted, other] = [await newWalletAddress(sub), await newWalletAddress(sub)];
      const filtersJson = JSON.stringify({ organizationId: sub.organizationId, address: wanted, caip2: CHAIN });
      const subscriptions = [{ ...CONFIRMED, filtersJson }];
      await root.result("create_webhook_endpoint", { url: `${receiver.url}/sub`, name: "sub", subscriptions });
      await sender.send({ to: other, value: 1n });
      await sender.send({ to: wanted, value: 2n });
      const [event, ...others] = await eventsAt("/sub", 1);
      assert.deepEqual(others, []);
      assert.equal(event?.organizationId, sub.organizationId);
      assert.equal(event?.parentOrganizationId, root.organizationId);
      assert.equal(event?.msg.address, wanted);
      assert.equal(event?.msg.asset.amount, "2");
    });

    it("are told of a block with more of them than are told at once", async () => {
      const { root } = server;
      const address = await newWalletAddress(root);
      const subscriptions = [{ ...CONFIRMED, filtersJson: JSON.stringify({ address }) }];
      await root.result("create_webhook_endpoint", { url: `${receiver.url}/many`, name: "many", subscriptions });
      await node.call("evm_setAutomine", false);
      for (let value = 1n; value <= 105n; value++) {
        const { signedTransaction } = await sender.sign({ to: address, value, gas: 21_000n });
        await node.call("eth_sendRawTransaction", signedTransaction);
      }
      await node.call("anvil_mine", "0x1");
      await node.call("evm_setAutomine", true);
      const events = await eventsAt("/many", 105);
      assert.equal(new Set(events.map(({ msg }) => msg.asset.amount)).size, 105);
    });

    it("go along with a history that the guide's example lists", async () => {
      const guide = readFileSync(new URL("../../docs/guide/history.md", import.meta.url), "utf8");
      const [, example = ""] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];
      const { baseUrl, credentials, root } = server;
      const address = await newWalletAddress(root);
      for (let value = 1n; value <= 2n; value++) await sender.send({ to: address, value });
      await sender.send({ to: unknown, value: 0n, data: tokenTransfer(address, 3n) });
      await once(root, address, ({ length }) => length === 3);
      const client = new Turnkey({
        apiBaseUrl: baseUrl,
        apiPublicKey: credentials.apiKey.publicKey,
        apiPrivateKey: credentials.apiKey.privateKey as string,
        defaultOrganizationId: credentials.organizationId,
      }).apiClient();
      const lines: string[] = [];
      const given = { client, address, caip2: CHAIN, show: (line: string) => lines.push(line) };
      const AsyncFunction = (async () => {}).constructor as new (
        ...parts: string[]
      ) => (...values: unknown[]) => Promise<void>;
      await new AsyncFunction(...Object.keys(given), example)(...Object.values(given));
      const from = sender.address;
      assert.deepEqual(lines, [
        "0.000000000000000003 ETH",
        `CONFIRMED IN 3 of an unknown token ${from}`,
        `CONFIRMED IN 2 ${CHAIN}/slip44:60 ${from}`,
        `CONFIRMED IN 1 ${CHAIN}/slip44:60 ${from}`,
      ]);
    });
  });
}
