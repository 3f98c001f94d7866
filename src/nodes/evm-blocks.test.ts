import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { blockAt } from "./evm-blocks.ts";
import type { EvmNodes } from "./pool.ts";

const word = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;

it("receipts are not asked for any further once one cannot be had", async () => {
  const blockHash = word(1);
  const transactions = Array.from({ length: 500 }, (_, index) => ({
    blockHash,
    transactionIndex: `0x${index.toString(16)}`,
    hash: word(1000 + index),
    from: `0x${"aa".repeat(20)}`,
    to: null,
  }));
  const block = { number: "0x7", timestamp: "0x1", hash: blockHash, parentHash: word(2), gasUsed: "0x1", transactions };
  const asked: string[] = [];
  const call: EvmNodes["call"] = async (_chain, { method, params, read, readTooLarge }) => {
    if (method === "eth_getBlockByNumber") return read({ result: block }, String) ?? assert.fail("half a block");
    if (method === "eth_getBlockReceipts") return readTooLarge?.() ?? assert.fail("a bound");
    asked.push(String(params[0]));
    if (asked.length === 1) throw new Error("no node has it");
    await setImmediate();
    const [transactionHash] = params;
    return (
      read({ result: { blockHash, transactionHash, gasUsed: "0x1", logs: [] } }, String) ?? assert.fail("no receipt")
    );
  };
  const nodes = { call } as EvmNodes;
  await assert.rejects(blockAt(nodes, "eip155:1", 7, { traces: false }), /no node has it/);
  for (let turns = 0; turns < 20; turns++) await setImmediate();
  assert.equal(asked.length, 2, "one for each of those that ask");
});

it("blob gas is a part of the fee of transactions with blobs alone", async () => {
  const blockHash = word(1);
  const place = (index: number) => ({ blockHash, transactionIndex: `0x${index}`, hash: word(10 + index) });
  const from = `0x${"aa".repeat(20)}`;
  const transactions = [0, 1].map((index) => ({ ...place(index), from, to: from }));
  const block = { number: "0x7", timestamp: "0x1", hash: blockHash, parentHash: word(2), gasUsed: "0x6", transactions };
  const receipts = ["0x2", "0x3"].map((type, index) => ({
    blockHash,
    transactionHash: word(10 + index),
    type,
    gasUsed: "0x3",
    cumulativeGasUsed: `0x${3 * (index + 1)}`,
    effectiveGasPrice: "0x5",
    blobGasUsed: "0x20000",
    blobGasPrice: "0x1",
    logs: [],
  }));
  const call: EvmNodes["call"] = async (_chain, { method, read }) =>
    read({ result: method === "eth_getBlockByNumber" ? block : receipts }, String) ?? assert.fail("not understood");
  const read = await blockAt({ call } as EvmNodes, "eip155:10", 7, { traces: false });
  assert.deepEqual(
    read?.transactions.map(({ fee }) => fee),
    [15n, 15n + 0x20000n],
  );
});
