import assert from "node:assert/strict";
import { after, afterEach, describe, it } from "node:test";
import { type RpcNode, startRpcNode } from "../../test/support/rpc-node.ts";
import { until } from "../../test/support/until.ts";
import { MAX_NODE_ANSWER_BYTES } from "../kernel/limits.ts";
import { createLogger } from "../kernel/log.ts";
import type { RpcCall } from "./chain-node.ts";
import type { RpcAnswer } from "./json-rpc.ts";
import { createNodeClient } from "./node-client.ts";
import { createNodes, type EvmNodes } from "./pool.ts";

const CHAIN = "eip155:8453";
const OWN_ID = { result: "0x2105" };
const OTHER_ID = { result: "0x1" };
const KEY = "v3-3f9c0a77d1secret";

const outbound = createNodeClient();
after(() => outbound.close());

const opened: RpcNode[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((node) => node.close()));
});

/** Nodes of the chain that answer `ping` with their index in the list. */
async function nodes(count: number): Promise<RpcNode[]> {
  const started = await Promise.all(
    Array.from({ length: count }, () => startRpcNode(undefined, `/${KEY}?apiKey=${KEY}2`)),
  );
  for (const [index, node] of started.entries()) {
    node.when("eth_chainId", OWN_ID);
    node.when("ping", { result: index });
  }
  opened.push(...started);
  return started;
}

interface Pool extends EvmNodes {
  start(): void;
  stop(): void;
  log(): string;
  /** Advances the clock, which otherwise stands still. */
  pass(milliseconds: number): void;
}

function poolOf(some: readonly { url: string }[], { pollMs = 60_000, isClockRunning = false } = {}): Pool {
  const lines: string[] = [];
  let now = Date.now();
  const pool = createNodes({
    chains: { [CHAIN]: { rpcUrls: some.map(({ url }) => url), pollMs } },
    outbound,
    log: createLogger("debug", { write: (line: string) => void lines.push(line) }),
    clock: isClockRunning ? Date.now : () => now,
  });
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { ...pool, log: () => lines.join(""), pass };
}

/** Accepts any result. */
const PING: RpcCall<unknown> = {
  method: "ping",
  params: [],
  read: (answer) => ("result" in answer ? answer.result : undefined),
};
const ping = (pool: EvmNodes) => pool.call(CHAIN, PING);
const unavailable = (reason: RegExp) => ({ code: "CHAIN_UNAVAILABLE", httpStatus: 503, message: reason });

describe("the nodes of a chain", () => {
  it("are asked in their order; the second where the first does not answer", async () => {
    const [first, second] = (await nodes(2)) as [RpcNode, RpcNode];
    const pool = poolOf([first, second]);
    assert.equal(await ping(pool), 0);
    await first.down();
    assert.equal(await ping(pool), 1);
    assert.equal(await ping(pool), 1);
    assert.equal(second.count("ping"), 2);
    assert.equal(second.count("eth_chainId"), 1);
  });

  it("are asked which chain they serve before their first use, and again after a failure", async () => {
    const [node] = (await nodes(1)) as [RpcNode];
    const pool = poolOf([node]);
    await Promise.all([ping(pool), ping(pool), ping(pool)]);
    assert.deepEqual(node.calls[0]?.method, "eth_chainId");
    assert.equal(node.count("eth_chainId"), 1, "calls at once share one check");
    node.when("ping", { status: 502, body: "" });
    await assert.rejects(ping(pool), unavailable(/status 502/));
    node.when("ping", { result: 0 });
    pool.pass(1000);
    assert.equal(await ping(pool), 0);
    assert.equal(node.count("eth_chainId"), 2);
  });

  it("rest after each failure, twice as long each time, and then are looked at again", async () => {
    const [node] = (await nodes(1)) as [RpcNode];
    const pool = poolOf([node]);
    node.when("eth_chainId", { status: 503, body: "" });
    const triesWithin = async (milliseconds: number) => {
      const before = node.calls.length;
      for (let passed = 0; passed < milliseconds; passed += 1000) {
        await assert.rejects(ping(pool), unavailable(/status 503/));
        pool.pass(1000);
      }
      return node.calls.length - before;
    };
    assert.equal(await triesWithin(60_000), 6, "after 0, 1, 3, 7, 15 and 31 seconds");
    assert.equal(await triesWithin(300_000), 10, "then every 30 seconds");
    node.when("eth_chainId", OWN_ID);
    pool.pass(30_000);
    assert.equal(await ping(pool), 0);
    assert.equal(await ping(pool), 0);
    const told = pool.log().match(/a node is (unavailable|back)/g);
    assert.deepEqual(told, ["a node is unavailable", "a node is back"], "each change is told once");
  });

  it("that serve another chain are not used, and the reason is told", async () => {
    const [wrong, right] = (await nodes(2)) as [RpcNode, RpcNode];
    wrong.when("eth_chainId", OTHER_ID);
    const pool = poolOf([wrong, right]);
    assert.equal(await ping(pool), 1);
    assert.equal(wrong.count("ping"), 0);
    await pool.requireChain(CHAIN);
    right.when("eth_chainId", OTHER_ID);
    const both = poolOf([wrong, right]);
    await assert.rejects(
      both.requireChain(CHAIN),
      unavailable(/127\.0\.0\.1:\d+ serves eip155:1 and not eip155:8453;/),
    );
    await assert.rejects(ping(both), unavailable(/serves eip155:1/));
    assert.equal(both.health()[CHAIN]?.status, "wrong chain");
    wrong.when("eth_chainId", OWN_ID);
    both.pass(30_000);
    assert.equal(await ping(both), 0, "it was set right meanwhile");
  });

  it("are not needed to answer for the chain to be there", async () => {
    const [node] = (await nodes(1)) as [RpcNode];
    await node.down();
    const pool = poolOf([node]);
    await pool.requireChain(CHAIN);
    assert.equal(pool.health()[CHAIN]?.status, "unavailable");
  });

  it("must be named in the settings", async () => {
    const pool = poolOf(await nodes(1));
    await assert.rejects(pool.requireChain("eip155:1"), {
      code: "CHAIN_NOT_CONFIGURED",
      message: /no nodes for eip155:1; its operator can configure them under `chains`/,
    });
    await assert.rejects(pool.call("eip155:1", PING), unavailable(/no node is configured/));
  });

  it("are looked after from the start, without holding it up, and when they were silent", async () => {
    const [there, hanging] = (await nodes(2)) as [RpcNode, RpcNode];
    hanging.when("eth_chainId", "hang");
    const pool = poolOf([hanging, there], { pollMs: 50, isClockRunning: true });
    assert.equal(pool.health()[CHAIN]?.status, "unchecked");
    pool.start();
    try {
      await pool.requireChain(CHAIN);
      assert.equal(pool.health()[CHAIN]?.status, "ready", "one that hangs holds nobody up");
      await there.waitFor("eth_chainId", 3);
      await there.down();
      await until(() => pool.health()[CHAIN]?.nodes[1]?.status === "unavailable", "the node to be missed");
    } finally {
      pool.stop();
    }
  });
});

describe("nodes of a Solana cluster", () => {
  const CLUSTER = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
  const GENESIS = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";

  it("are told apart by the genesis of their chain, and rest while they are behind", async () => {
    const [wrong, right] = (await nodes(2)) as [RpcNode, RpcNode];
    wrong.when("getGenesisHash", { result: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" });
    right.when("getGenesisHash", { result: GENESIS });
    const rpcUrls = [wrong.url, right.url];
    const chains = { [CLUSTER]: { rpcUrls, pollMs: 60_000 } } as const;
    const pool = createNodes({ chains, outbound, log: createLogger("silent") });
    await pool.requireChain(CLUSTER);
    assert.equal(await pool.call(CLUSTER, PING), 1);
    assert.equal(wrong.count("ping"), 0);
    assert.deepEqual(
      pool.health()[CLUSTER]?.nodes.map(({ status }) => status),
      ["wrong chain", "ready"],
    );
    right.when("ping", {
      error: { code: -32_005, message: "Node is behind by 42 slots", data: { numSlotsBehind: 42 } },
    });
    await assert.rejects(
      pool.call(CLUSTER, PING),
      unavailable(/serves solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp and not solana:EtWT\w+; .* is behind its chain/),
    );
    assert.equal(pool.health()[CLUSTER]?.nodes[1]?.status, "unavailable");
  });

  it("that do not tell it are not used", async () => {
    const [node] = (await nodes(1)) as [RpcNode];
    node.when("getGenesisHash", { result: "0x1" });
    const chains = { [CLUSTER]: { rpcUrls: [node.url], pollMs: 60_000 } } as const;
    const pool = createNodes({ chains, outbound, log: createLogger("silent") });
    await assert.rejects(pool.call(CLUSTER, PING), unavailable(/did not say which chain it serves/));
    assert.equal(node.count("ping"), 0);
  });
});

describe("an answer that cannot be used", () => {
  const garbage: [name: string, reply: { status: number; body: string | Buffer }, reason: RegExp][] = [
    ["not JSON", { status: 200, body: "<html>" }, /not JSON-RPC/],
    ["no object", { status: 200, body: "[]" }, /not JSON-RPC/],
    ["of another call", { status: 200, body: '{"jsonrpc":"2.0","id":2,"result":1}' }, /not JSON-RPC/],
    ["with neither result nor error", { status: 200, body: '{"jsonrpc":"2.0","id":1}' }, /not JSON-RPC/],
    [
      "with an error of no kind",
      { status: 200, body: '{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}' },
      /not JSON-RPC/,
    ],
    ["not UTF-8", { status: 200, body: Buffer.from([0x22, 0xff, 0x22]) }, /not JSON-RPC/],
    ["nested without end", { status: 200, body: "[".repeat(500_000) }, /not JSON-RPC/],
    ["of many values", { status: 200, body: `[${"0,".repeat(200_000)}0]` }, /not JSON-RPC/],
    ["empty", { status: 200, body: "" }, /not JSON-RPC/],
    ["a redirect", { status: 302, body: "" }, /status 302/],
    ["without credit", { status: 429, body: "" }, /status 429/],
  ];
  for (const [name, reply, reason] of garbage) {
    it(`because it is ${name} is another node's turn`, async () => {
      const [bad, good] = (await nodes(2)) as [RpcNode, RpcNode];
      bad.when("ping", reply);
      const pool = poolOf([bad, good]);
      assert.equal(await ping(pool), 1);
      assert.equal(pool.health()[CHAIN]?.nodes[0]?.status, "unavailable");
      await good.down();
      await assert.rejects(ping(pool), unavailable(reason));
    });
  }

  it("because it is too large is another node's turn, and no failure of the node's", async () => {
    const [large, good] = (await nodes(2)) as [RpcNode, RpcNode];
    large.when("ping", { result: "a".repeat(MAX_NODE_ANSWER_BYTES) });
    const pool = poolOf([large, good]);
    assert.equal(await ping(pool), 1);
    assert.equal(pool.health()[CHAIN]?.nodes[0]?.status, "ready");
    assert.equal(await pool.call(CHAIN, { ...PING, readTooLarge: () => "much" }), "much");
    await good.down();
    await assert.rejects(ping(pool), unavailable(/more than 1048576 bytes/));
    large.when("eth_chainId", { result: "a".repeat(MAX_NODE_ANSWER_BYTES) });
    await assert.rejects(ping(poolOf([large])), unavailable(/more than 1048576 bytes/));
  });

  it("because the caller cannot use it is another node's turn too, and no failure of the node's", async () => {
    const [first] = (await nodes(1)) as [RpcNode];
    first.when("ping", { error: { code: -32_000, message: "header not found" } });
    const pool = poolOf([first]);
    await assert.rejects(ping(pool), unavailable(/answered ping with "header not found"/));
    assert.equal(pool.health()[CHAIN]?.status, "ready", "what one asks must not take the node from the others");
    assert.equal(first.count("ping"), 1);
    first.when("ping", { result: 0 });
    assert.equal(await ping(pool), 0);
  });
});

describe("secrets in URLs", () => {
  it("are told to nobody", async () => {
    const [talking, silent] = (await nodes(2)) as [RpcNode, RpcNode];
    talking.when("ping", { error: { code: -32_000, message: `invalid key ${KEY} (${KEY}2)\n${"x".repeat(400)}` } });
    await silent.down();
    const pool = poolOf([talking, silent]);
    const error = await ping(pool).then(
      () => assert.fail("it answers"),
      (reason: Error) => reason,
    );
    assert.match(error.message, /invalid key … \(…2?\) x+…/);
    const data = { logs: [`key ${KEY}`], units: 7 };
    talking.when("ping", { error: { code: -32_000, message: "no", data } });
    const read = (answer: RpcAnswer) => ("error" in answer ? answer.error.data : undefined);
    assert.deepEqual(await pool.call(CHAIN, { ...PING, read }), { logs: ["key …"], units: 7 });
    const told = `${error.message}${JSON.stringify(pool.health())}${pool.log()}`;
    assert.ok(told.includes(new URL(talking.url).host));
    assert.ok(!told.includes(KEY), told);
  });
});
