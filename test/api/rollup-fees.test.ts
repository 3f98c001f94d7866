import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { keccak256, parseTransaction, serializeTransaction } from "viem";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import type { Client, Json } from "../support/client.ts";
import { giveEther, includedHash, newAddress, newEvmWallet, sendStatus, transactionOf } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor, sendIdOf, usedMicros } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

/** A rollup of the OP stack, as far as it matters here: an oracle where its predeploy is, and receipts that name what it took for data. */
const CHAIN_ID = 11_155_420;
const CHAIN = `eip155:${CHAIN_ID}`;
const ORACLE = "0x420000000000000000000000000000000000000f";
const PRICE = 2000n;
/** Wei for each byte that the oracle is asked about. */
const WEI_PER_BYTE = 10n ** 12n;
/** According to receipts, in wei. */
const DATA_FEE = 123_456_789_012_345n;
const microUsd = (wei: bigint): bigint => (wei * PRICE * 10n ** 6n + 10n ** 18n - 1n) / 10n ** 18n;
const bytesIn = (hex: unknown): number => (String(hex).length - 2) / 2;

for (const engine of oneEngine("sqlite")) {
  describe(`what a rollup takes beyond gas for what is sponsored (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let from: string;

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
      await includedHash(root, sendIdOf(await send()));
      // The base fee of an idle chain falls with each block, and quotes are kept for a while: two sends would not be planned alike.
      front.when("eth_getBlockByNumber", async ({ params }) => {
        const block = (await node.call("eth_getBlockByNumber", ...params)) as Json | null;
        return { result: block && { ...block, baseFeePerGas: "0x3b9aca00" } };
      });
      front.when("eth_getTransactionReceipt", async ({ params: [hash] }) => {
        const receipt = (await node.call("eth_getTransactionReceipt", hash)) as Json | null;
        const members = said.find(({ after }) => receipt !== null && Number(receipt.blockNumber) > after)?.members;
        return { result: receipt && { ...receipt, ...members } };
      });
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
    /**
     * By default it answers the price times the length of what it is called with. Where it knows getOperatorFee(uint256), it answers that with
     * the price of gas times its argument, and with a fee for the transaction; otherwise it reverts, as one of before that upgrade.
     */
    const setOracle = (weiPerByte: bigint, operator?: { weiPerGas: bigint; constant: bigint }) => {
      const push8 = (value: bigint) => `67${value.toString(16).padStart(16, "0")}`;
      const isOperators = "5f3560e01c63275aedd214601f57";
      const operators = operator
        ? `5b600435${push8(operator.weiPerGas)}02${push8(operator.constant)}015f5260205ff3`
        : "5b5f5ffd";
      return node.call("anvil_setCode", ORACLE, `0x${isOperators}36${push8(weiPerByte)}025f5260205ff3${operators}`);
    };
    const asked = () =>
      front.calls.flatMap(({ method, params: [call] }) =>
        method === "eth_call" && (call as Json).to === ORACLE ? [(call as Json).data as string] : [],
      );

    /** Its fees are asked again then. The next one of its account is signed once it is in a block. */
    const signed = (id: string) =>
      until(async () => {
        const { txStatus } = await root.read("get_send_transaction_status", { sendTransactionStatusId: id });
        return txStatus !== "INITIALIZED";
      }, `${id} to be signed`);

    it("is counted twice over when it is asked for, and with what the receipt says in the end", async () => {
      await node.call("evm_setAutomine", false);
      await node.call("anvil_setCode", ORACLE, "0x");
      const start = await usedMicros(root);
      const without = sendIdOf(await send());
      await signed(without);
      const gas = (await usedMicros(root)) - start;
      await setOracle(WEI_PER_BYTE);
      const count = asked().length;
      // Data that nothing can compress.
      const data = `${keccak256("0x01")}${keccak256("0x02").slice(2)}`;
      const id = sendIdOf(await send({ calls: [{ to: newAddress(), data }] }));
      const [weighed = ""] = asked().slice(count);
      const expected = 2n * WEI_PER_BYTE * BigInt(bytesIn(weighed));
      const counted = (await usedMicros(root)) - start - gas;
      assert.ok(counted >= gas + microUsd(expected) - 1n && counted <= gas + microUsd(expected), `${counted}`);

      await receiptsSay({ l1Fee: `0x${DATA_FEE.toString(16)}` });
      await node.call("evm_setAutomine", true);
      await node.call("evm_mine");
      await settled(start, [without, id]);
    });

    /** What the sponsor has sent meanwhile waits to be signed, and is in no block at once where it is signed. */
    async function whileNothingIsSigned<T>(work: () => Promise<T>): Promise<T> {
      await node.call("evm_setAutomine", false);
      front.when("eth_getTransactionCount", { status: 503, body: "" });
      try {
        return await work();
      } finally {
        front.when("eth_getTransactionCount", "pass on");
      }
    }
    /** What receipts of later blocks say; those of earlier ones stay as they are, because their transactions are still looked after. */
    const said: { after: number; members: Json }[] = [];
    async function receiptsSay(members: Json): Promise<void> {
      said.unshift({ after: Number(await node.call("eth_blockNumber")), members });
    }
    /** Until these count with what their receipts say; a transaction is shown as included before. */
    async function settled(start: bigint, ids: readonly string[]): Promise<void> {
      let paid = 0n;
      for (const id of ids) {
        const receipt = (await node.receipt(await includedHash(root, id))) as unknown as Json;
        paid += microUsd(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) + DATA_FEE);
      }
      await until(async () => (await usedMicros(root)) - start === paid, "what was paid to be counted");
    }
    const isAbout = (counted: bigint, expected: bigint) =>
      assert.ok(counted >= expected - 2n && counted <= expected + 2n, `${counted} and not ${expected}`);

    it("is asked again when it is signed, and counts for what it has become meanwhile", async () => {
      await setOracle(WEI_PER_BYTE);
      const start = await usedMicros(root);
      const count = asked().length;
      const id = await whileNothingIsSigned(async () => {
        const sent = sendIdOf(await send());
        await setOracle(3n * WEI_PER_BYTE);
        return sent;
      });
      await signed(id);
      const counted = (await usedMicros(root)) - start;
      await node.call("evm_setAutomine", true);
      await node.call("evm_mine");
      const { gas, maxFeePerGas } = await transactionOf(node, await includedHash(root, id));
      const forData = 2n * 3n * WEI_PER_BYTE * BigInt(bytesIn(asked()[count]));
      isAbout(counted, microUsd(BigInt(gas) * BigInt(maxFeePerGas ?? 0) + forData));
      await settled(start, [id]);
    });

    it("is not paid where it alone exceeds the cap by the time that it is signed", async () => {
      await setOracle(WEI_PER_BYTE);
      const start = await usedMicros(root);
      const id = await whileNothingIsSigned(async () => {
        const sent = sendIdOf(await send());
        await setOracle(10n ** 15n);
        return sent;
      });
      const status = await sendStatus(root, id);
      await node.call("evm_setAutomine", true);
      assert.equal(status.txStatus, "FAILED", JSON.stringify(status));
      assert.match(
        status.txError,
        /could cost [\d.]+ of its native asset in fees, and this service relies on nodes for at most 0\.1/,
      );
      assert.equal(await usedMicros(root), start);
      await setOracle(WEI_PER_BYTE);
      await settled(start, [sendIdOf(await send())]);
    });

    it("includes the fee of its operator, for all the gas at first and for what was used in the end", async () => {
      const operator = { weiPerGas: 10n ** 9n, constant: 10n ** 13n };
      const start = await usedMicros(root);
      await node.call("evm_setAutomine", false);
      const counts: bigint[] = [];
      const ids: string[] = [];
      for (const each of [undefined, operator]) {
        await setOracle(WEI_PER_BYTE, each);
        ids.push(sendIdOf(await send()));
        if (ids.length === 1) await signed(ids[0] as string);
        counts.push((await usedMicros(root)) - start);
      }
      const [without = 0n, both = 0n] = counts;
      isAbout(both - 2n * without, microUsd(300_000n * operator.weiPerGas + operator.constant));
      // The scalar is in hundreds of wei for a unit of gas since Jovian.
      const hex = (value: bigint) => `0x${value.toString(16)}`;
      const scalar = operator.weiPerGas / 100n;
      const fees = { l1Fee: "0x1", operatorFeeScalar: hex(scalar), operatorFeeConstant: hex(operator.constant) };
      await receiptsSay({ ...fees, daFootprintGasScalar: "0x190" });
      await node.call("evm_setAutomine", true);
      let paid = 0n;
      for (const id of ids) {
        const receipt = (await node.receipt(await includedHash(root, id, node))) as unknown as Json;
        const gas = BigInt(receipt.gasUsed);
        paid += microUsd(gas * (BigInt(receipt.effectiveGasPrice) + operator.weiPerGas) + operator.constant + 1n);
      }
      await until(async () => (await usedMicros(root)) - start === paid, "what was paid to be counted");
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
