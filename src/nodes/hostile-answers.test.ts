import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostileVariants } from "../../test/support/hostile-json.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { createLogger } from "../kernel/log.ts";
import { balanceOf } from "./balances.ts";
import { blockAt, headerAt, latestHeader } from "./evm-blocks.ts";
import { broadcast } from "./evm-broadcast.ts";
import {
  estimateGas,
  feeQuote,
  newestBlock,
  receiptOf,
  revertOf,
  transactionCount,
  transactionWithNonce,
} from "./evm-calls.ts";
import { readContracts } from "./evm-reads.ts";
import { dataFee } from "./evm-rollup-fees.ts";
import { simulate as simulateCalls } from "./evm-simulation.ts";
import { balancesOf, codeAt, pendingNonce, storageAt } from "./evm-state.ts";
import { transfersOf } from "./evm-transfers.ts";
import { AnswerTooLarge } from "./json-rpc.ts";
import { createNodes, type EvmNodes, type SolanaNodes } from "./pool.ts";
import { accountsNow, rehearse } from "./solana-accounts.ts";
import { gainsIn, newestSlot, slotsFrom, solanaBlockAt, solanaHeaderAt } from "./solana-blocks.ts";
import {
  accountSizes,
  executionFailure,
  exemptionOf,
  latestBlockhash,
  recentUnitPrices,
  send,
  signatureStatuses,
  simulate,
  tooOldSince,
  tryUnsigned,
} from "./solana-calls.ts";
import { solanaBalancesOf } from "./solana-state.ts";

/** Whatever a node answers, a call has a result or says that the chain is unavailable: nothing else may reach a request or a job. */

const EVM = "eip155:8453";
const SOLANA = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

const ADDRESS = `0x${"12".repeat(20)}`;
const HASH = `0x${"ab".repeat(32)}`;
const KEY = "11111111111111111111111111111112";
const SIGNATURE = "2".repeat(87);
const TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const word = (value: string): string => `0x${value.padStart(64, "0")}`;

const log = {
  address: ADDRESS,
  topics: [TOPIC, word("12".repeat(20)), word("34".repeat(20))],
  data: word("5"),
};
const receipt = {
  transactionHash: HASH,
  blockHash: HASH,
  blockNumber: "0x10",
  status: "0x1",
  gasUsed: "0x5208",
  cumulativeGasUsed: "0x5208",
  effectiveGasPrice: "0x1",
  contractAddress: null,
  logs: [log],
};
const block = {
  number: "0x10",
  hash: HASH,
  parentHash: HASH,
  timestamp: "0x65000000",
  gasUsed: "0x5208",
  baseFeePerGas: "0x7",
  transactions: [
    {
      hash: HASH,
      blockHash: HASH,
      blockNumber: "0x10",
      transactionIndex: "0x0",
      from: ADDRESS,
      to: ADDRESS,
      value: "0x1",
      nonce: "0x5",
      gasPrice: "0x1",
    },
  ],
};
const trace = { type: "CALL", from: ADDRESS, to: ADDRESS, value: "0x1", calls: [{ type: "CALL", value: "0x2" }] };
const context = { slot: 300 };
const account = { lamports: 5, owner: KEY, data: ["AAAA", "base64"], space: 3 };
const failed = {
  err: { InstructionError: [0, { Custom: 1 }] },
  logs: ["a line"],
  unitsConsumed: 5,
  innerInstructions: [
    {
      index: 0,
      instructions: [{ programId: KEY, parsed: { type: "transfer", info: { source: KEY } } }],
    },
  ],
  accounts: [account],
};
const sentOnSolana = {
  transaction: {
    signatures: [SIGNATURE],
    message: {
      accountKeys: [KEY, KEY],
      header: { numRequiredSignatures: 1, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 0 },
      instructions: [{ programIdIndex: 1, accounts: [0], data: "3Bxs" }],
    },
  },
  meta: {
    err: null,
    fee: 5000,
    preBalances: [10_000, 0],
    postBalances: [4000, 1000],
    preTokenBalances: [{ accountIndex: 1, mint: KEY, owner: KEY, uiTokenAmount: { amount: "5" } }],
    postTokenBalances: [],
    innerInstructions: [{ index: 0, instructions: [{ programIdIndex: 1, accounts: [0], data: "3Bxs" }] }],
    loadedAddresses: { writable: [], readonly: [] },
  },
};
const solanaBlock = {
  blockhash: KEY,
  previousBlockhash: KEY,
  parentSlot: 299,
  blockTime: 1_700_000_000,
  transactions: [sentOnSolana],
};
const reverted = { code: 3, message: "execution reverted: no", data: { data: "0x08c379a0" } };

const evmCall = { from: ADDRESS, to: ADDRESS, value: 1n, data: "0x" };
const wire = Buffer.from([1, ...new Uint8Array(64), 1, 2, 3]);

type Answers = Record<string, { result: unknown } | { error: unknown }>;
type OnEvm = (nodes: EvmNodes) => Promise<unknown>;
type OnSolana = (nodes: SolanaNodes) => Promise<unknown>;

const onEvm: [string, Answers, OnEvm][] = [
  ["eth_chainId", { eth_chainId: { result: "0x2105" } }, (nodes) => nodes.requireChain(EVM)],
  [
    "feeQuote",
    { eth_getBlockByNumber: { result: block }, eth_maxPriorityFeePerGas: { result: "0x1" } },
    (nodes) => feeQuote(nodes, EVM),
  ],
  ["estimateGas", { eth_estimateGas: { result: "0x1" } }, (nodes) => estimateGas(nodes, EVM, evmCall)],
  ["estimateGas that fails", { eth_estimateGas: { error: reverted } }, (nodes) => estimateGas(nodes, EVM, evmCall)],
  ["revertOf", { eth_call: { error: reverted } }, (nodes) => revertOf(nodes, EVM, evmCall, 16)],
  [
    "transactionCount",
    { eth_getTransactionCount: { result: "0x6" } },
    (nodes) => transactionCount(nodes, EVM, ADDRESS, "latest"),
  ],
  ["newestBlock", { eth_blockNumber: { result: "0x6" } }, (nodes) => newestBlock(nodes, EVM)],
  ["receiptOf", { eth_getTransactionReceipt: { result: receipt } }, (nodes) => receiptOf(nodes, EVM, HASH)],
  [
    "transactionWithNonce",
    { eth_getTransactionCount: { result: "0x6" }, eth_getBlockByNumber: { result: block } },
    (nodes) => {
      let counts = 0;
      const call: EvmNodes["call"] = (chain, { method, params, ...rest }) =>
        method === "eth_getTransactionCount"
          ? (Promise.resolve(counts++ === 0 ? 5 : 6) as never)
          : nodes.call(chain, { method, params, ...rest });
      return transactionWithNonce({ ...nodes, call }, EVM, { address: ADDRESS, nonce: 5 }, { from: 15, to: 16 });
    },
  ],
  ["pendingNonce", { eth_getTransactionCount: { result: "0x6" } }, (nodes) => pendingNonce(nodes, EVM, ADDRESS)],
  ["codeAt", { eth_getCode: { result: "0x60" } }, (nodes) => codeAt(nodes, EVM, ADDRESS)],
  ["storageAt", { eth_getStorageAt: { result: word("1") } }, (nodes) => storageAt(nodes, EVM, ADDRESS, "0x0")],
  ["balancesOf", { eth_call: { result: word("1") } }, (nodes) => balancesOf(nodes, EVM, ADDRESS, [null])],
  ["balanceOf", { eth_getBalance: { result: "0x1" } }, (nodes) => balanceOf(nodes, EVM, ADDRESS)],
  ["dataFee", { eth_call: { result: word("1") } }, (nodes) => dataFee(nodes, EVM, wire)],
  [
    "readContracts",
    // One answer: that the call succeeded, with no bytes.
    { eth_call: { result: `0x${["20", "1", "20", "1", "40", "0"].map((each) => each.padStart(64, "0")).join("")}` } },
    (nodes) => readContracts(nodes, EVM, [{ to: ADDRESS, data: "0x" }]),
  ],
  [
    "broadcast",
    { eth_getTransactionByHash: { result: null }, eth_sendRawTransaction: { result: HASH } },
    (nodes) => broadcast(nodes, EVM, { signedTransaction: "0x02", transactionHash: HASH }),
  ],
  [
    "broadcast of what is known",
    { eth_getTransactionByHash: { result: { hash: HASH } } },
    (nodes) => broadcast(nodes, EVM, { signedTransaction: "0x02", transactionHash: HASH }),
  ],
  [
    "simulateCalls",
    {
      eth_simulateV1: {
        result: [
          {
            calls: [
              { status: "0x1", returnData: "0x", logs: [log] },
              { status: "0x0", returnData: "0x", logs: [], error: { message: "reverted", data: "0x" } },
            ],
          },
        ],
      },
    },
    (nodes) => simulateCalls(nodes, EVM, [evmCall, evmCall]),
  ],
  ["latestHeader", { eth_getBlockByNumber: { result: block } }, (nodes) => latestHeader(nodes, EVM)],
  ["headerAt", { eth_getBlockByNumber: { result: block } }, (nodes) => headerAt(nodes, EVM, 16)],
  [
    "blockAt",
    {
      eth_getBlockByNumber: { result: block },
      eth_getBlockReceipts: { result: [receipt] },
      debug_traceBlockByHash: { result: [{ txHash: HASH, result: trace }] },
    },
    (nodes) => blockAt(nodes, EVM, 16, { traces: true }),
  ],
  [
    "transfersOf",
    { eth_getTransactionReceipt: { result: receipt }, debug_traceTransaction: { result: trace } },
    (nodes) => transfersOf(nodes, EVM, HASH, "native asset"),
  ],
];

const onSolana: [string, Answers, OnSolana][] = [
  ["getGenesisHash", { getGenesisHash: { result: GENESIS } }, (nodes) => nodes.requireChain(SOLANA)],
  [
    "latestBlockhash",
    { getLatestBlockhash: { result: { context, value: { blockhash: KEY } } } },
    (nodes) => latestBlockhash(nodes, SOLANA),
  ],
  [
    "simulate",
    { simulateTransaction: { result: { context, value: failed } } },
    (nodes) => simulate(nodes, SOLANA, wire),
  ],
  [
    "simulate that the node refuses",
    { simulateTransaction: { error: { code: -32_002, message: "no", data: failed } } },
    (nodes) => simulate(nodes, SOLANA, wire),
  ],
  [
    "tryUnsigned",
    { simulateTransaction: { result: { context, value: failed } } },
    (nodes) => tryUnsigned(nodes, SOLANA, wire, [KEY]),
  ],
  [
    "accountSizes",
    { getMultipleAccounts: { result: { context, value: [account] } } },
    (nodes) => accountSizes(nodes, SOLANA, [KEY]),
  ],
  ["exemptionOf", { getMinimumBalanceForRentExemption: { result: 5 } }, (nodes) => exemptionOf(nodes, SOLANA, 5)],
  [
    "recentUnitPrices",
    { getRecentPrioritizationFees: { result: [{ prioritizationFee: 5 }] } },
    (nodes) => recentUnitPrices(nodes, SOLANA, [KEY]),
  ],
  [
    "signatureStatuses",
    {
      getSignatureStatuses: {
        result: { context, value: [{ err: { InstructionError: [0, "x"] }, confirmationStatus: "confirmed" }] },
      },
    },
    async (nodes) => {
      const { statuses } = await signatureStatuses(nodes, SOLANA, [SIGNATURE]);
      return statuses.map((status) => status && executionFailure(status.error));
    },
  ],
  [
    "tooOldSince",
    { isBlockhashValid: { result: { context, value: false } } },
    (nodes) => tooOldSince(nodes, SOLANA, { blockhash: KEY, knownAt: 5 }),
  ],
  [
    "send",
    { sendTransaction: { error: { code: -32_002, message: "no", data: failed } } },
    (nodes) => send(nodes, SOLANA, { signed: wire, signature: SIGNATURE }),
  ],
  [
    "accountsNow",
    { getMultipleAccounts: { result: { context, value: [account] } } },
    (nodes) => accountsNow(nodes, SOLANA, [KEY], 3),
  ],
  [
    "rehearse",
    { simulateTransaction: { result: { context, value: { err: null, accounts: [account] } } } },
    (nodes) => rehearse(nodes, SOLANA, wire, [KEY]),
  ],
  [
    "rehearse that fails",
    { simulateTransaction: { result: { context, value: failed } } },
    (nodes) => rehearse(nodes, SOLANA, wire, [KEY]),
  ],
  [
    "solanaBalancesOf",
    {
      getBalance: { result: { context, value: 5 } },
      getTokenAccountsByOwner: {
        result: { context, value: [{ account: { data: [Buffer.alloc(72).toString("base64"), "base64"] } }] },
      },
    },
    (nodes) => solanaBalancesOf(nodes, SOLANA, KEY, [null, KEY]),
  ],
  ["balanceOf", { getBalance: { result: { value: 5 } } }, (nodes) => balanceOf(nodes, SOLANA, KEY)],
  ["newestSlot", { getSlot: { result: 300 }, getBlocks: { result: [299, 300] } }, (nodes) => newestSlot(nodes, SOLANA)],
  ["slotsFrom", { getBlocksWithLimit: { result: [299, 300] } }, (nodes) => slotsFrom(nodes, SOLANA, 299, 2)],
  ["solanaHeaderAt", { getBlock: { result: solanaBlock } }, (nodes) => solanaHeaderAt(nodes, SOLANA, 300)],
  ["solanaBlockAt", { getBlock: { result: solanaBlock } }, (nodes) => solanaBlockAt(nodes, SOLANA, 300)],
  [
    "gainsIn",
    { getTransaction: { result: sentOnSolana } },
    (nodes) => gainsIn(nodes, SOLANA, { signature: SIGNATURE, wallet: KEY }),
  ],
];

const lines: string[] = [];
const quiet = createLogger("debug", { write: (line: string) => void lines.push(line) });

/** A pool whose one node answers so. */
function poolOf(textOf: (method: string) => string) {
  return createNodes({
    chains: {
      [EVM]: { rpcUrls: ["http://node.example/a-key-of-ours"], pollMs: 60_000 },
      [SOLANA]: { rpcUrls: ["http://node.example/a-key-of-ours"], pollMs: 60_000 },
    },
    outbound: {
      request: async ({ body }) => ({
        status: 200,
        headers: {},
        body: Buffer.from(textOf(JSON.parse(String(body)).method)),
        truncated: false,
        durationMs: 1,
      }),
    },
    log: quiet,
  });
}

const own: Answers = { eth_chainId: { result: "0x2105" }, getGenesisHash: { result: GENESIS } };
const textIn = (answers: Answers, method: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, ...(answers[method] ?? own[method]) });

describe("whatever a node answers", () => {
  for (const [name, answers, run] of [...onEvm, ...onSolana] as [string, Answers, OnEvm & OnSolana][]) {
    it(`${name} has a result, or the chain is unavailable`, async () => {
      const asked = new Set<string>();
      await run(
        poolOf((method) => {
          asked.add(method);
          return textIn(answers, method);
        }),
      );
      for (const method of Object.keys(answers)) {
        const isFaked = name === "transactionWithNonce" && method === "eth_getTransactionCount";
        assert.ok(isFaked || asked.has(method), `${method} is asked`);
      }
      for (const [method, answer] of Object.entries(answers)) {
        for (const answered of hostileVariants(answer)) {
          const text = `{"jsonrpc":"2.0","id":1,${answered.slice(1)}`;
          const pool = poolOf((asked) => (asked === method ? text : textIn(answers, asked)));
          await run(pool).catch((error: unknown) => {
            const isTold =
              (error instanceof KeysteadError && error.code === "CHAIN_UNAVAILABLE") || error instanceof AnswerTooLarge;
            assert.ok(isTold, `${text.slice(0, 300)} causes ${(error as Error).stack}`);
          });
        }
      }
    });
  }

  it("is shown on one line without a part of its URL, also the error of a call that it simulated", async () => {
    const message = `no\u0000\ud800\nsuch key: a-key-of-ours ${"x".repeat(1000)}`;
    const calls = [{ status: "0x0", returnData: "0x", logs: [], error: { message } }];
    const pool = poolOf((method) => textIn({ eth_simulateV1: { result: [{ calls }] } }, method));
    const simulated = await simulateCalls(pool, EVM, [evmCall]);
    const first = Array.isArray(simulated) ? simulated[0] : simulated;
    assert.ok(first !== undefined && "revert" in first);
    assert.match(first.revert.message, /^no \ufffd such key: … x{100,200}…$/);
    assert.ok(first.revert.message.length <= 201);
  });
});
