import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { MAX_RPC_URLS } from "../kernel/limits.ts";
import { loadConfig, StartProblem } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-chains-"));
after(() => rmSync(folder, { recursive: true }));

const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const TOKEN = { address: `0x${"a1".repeat(20)}`, symbol: "TST", name: "Test token", decimals: 6 };

const SECRET = "a1b2c3d4e5secret";

function load(chains: unknown, variables: NodeJS.ProcessEnv = {}) {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ chains }));
  return loadConfig(variables, file).chains;
}

const oneAsset = (more: object) => ({
  "eip155:1": { rpcUrls: ["https://rpc.example.com/"], assets: [{ ...TOKEN, ...more }] },
});

const urls = (...rpcUrls: unknown[]) => ({ "eip155:1": { rpcUrls } });

describe("the nodes of chains in the configuration file", () => {
  it("are none unless named", () => assert.deepEqual(loadConfig({}).chains, {}));

  it("may be those of a Solana cluster", () => {
    const settings = { [SOLANA]: { rpcUrls: ["https://rpc.example.com/"], pollMs: 15_000, assets: [] } };
    assert.deepEqual(load({ [SOLANA]: { rpcUrls: ["https://rpc.example.com/"] } }), settings);
  });

  it("have a pause between looks unless they say so", () => {
    const url = `https://rpc.example.com/v2/${SECRET}`;
    assert.deepEqual(load(urls(url)), { "eip155:1": { rpcUrls: [url], pollMs: 15_000, assets: [] } });
    const settings = { "eip155:8453": { rpcUrls: [url], pollMs: 2000, assets: [TOKEN] } };
    assert.deepEqual(load(settings), settings);
  });

  it("say how much one transaction may cost by their word", () => {
    const rpcUrls = ["https://rpc.example.com/"];
    const caps = { txFeeCap: "2.5", sponsoredTxFeeCap: "0.000000000000000001" };
    const { txFeeCap, sponsoredTxFeeCap } = load({ "eip155:1": { rpcUrls, ...caps } })["eip155:1"] ?? {};
    assert.deepEqual([txFeeCap, sponsoredTxFeeCap], [25n * 10n ** 17n, 1n]);
  });

  for (const url of [
    "http://127.0.0.1:8545",
    "http://10.1.2.3/",
    "http://localhost:8545",
    "http://geth:8545/",
    "http://[::1]:8545",
  ]) {
    it(`may be one's own by plain http: ${url}`, () => assert.ok(load(urls(url))["eip155:1"]));
  }

  it("may be public by plain http where private networks are allowed, for development", () => {
    const url = "http://rpc.example.com/";
    assert.ok(load(urls(url), { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" })["eip155:1"]);
  });

  const bad: [name: string, chains: unknown, reason: RegExp][] = [
    [
      "an unknown chain",
      { "eip155:5": { rpcUrls: ["https://rpc.example.com/"] } },
      /`eip155:5` is not a chain that can be configured/,
    ],
    [
      "another name of a Solana cluster",
      { "solana:devnet": { rpcUrls: ["https://rpc.example.com/"] } },
      /`solana:devnet` is not a chain that can be configured; .*solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1/,
    ],
    ...(["0", "0.000", "1e3", "-1", 1] as const).map((txFeeCap): [string, unknown, RegExp] => [
      `fees of at most ${JSON.stringify(txFeeCap)}`,
      { "eip155:1": { rpcUrls: ["https://rpc.example.com/"], txFeeCap } },
      /eip155:1.txFeeCap` must /,
    ]),
    [
      "a cap of fees of a Solana cluster",
      { [SOLANA]: { rpcUrls: ["https://rpc.example.com/"], sponsoredTxFeeCap: "1" } },
      /sponsoredTxFeeCap` is only for Ethereum chains/,
    ],
    ["no URL", urls(), /bad value for `chains`.*1 items/],
    ["too many URLs", urls(...Array.from({ length: MAX_RPC_URLS + 1 }, () => "https://rpc.example.com/")), /8 items/],
    ["no list", { "eip155:1": { rpcUrls: "https://rpc.example.com/" } }, /must be array/],
    [
      "an unknown member",
      { "eip155:1": { rpcUrls: ["https://rpc.example.com/"], rpcUrl: "" } },
      /bad value for `chains`/,
    ],
    [
      "a pause of nothing",
      { "eip155:1": { rpcUrls: ["https://rpc.example.com/"], pollMs: 0 } },
      /`chains.eip155:1.pollMs` must be an integer from 100 /,
    ],
    ["a public host by plain http", urls(`http://rpc.example.com/${SECRET}`), /`eip155:1.rpcUrls.0` must use https/],
    ["a user in the URL", urls(`https://user:${SECRET}@rpc.example.com/`), /user name or password/],
    ["another protocol", urls(`wss://rpc.example.com/${SECRET}`), /`eip155:1.rpcUrls.0` must use https or http/],
    ["what is no URL", urls("https://rpc.example.com/", SECRET), /`eip155:1.rpcUrls.1` must be an absolute URL/],
    ["an asset without an address", oneAsset({ address: undefined }), /bad value for `chains`/],
    ["an asset at no address", oneAsset({ address: "0x12" }), /bad value for `chains`/],
    ["an asset of too many decimals", oneAsset({ decimals: 78 }), /assets.0.decimals` must be an integer from 0 to 77/],
    ["no object", ["eip155:1"], /bad value for `chains`/],
  ];
  for (const [name, chains, reason] of bad) {
    it(`with ${name} stop the start and show no URL`, () => {
      assert.throws(
        () => load(chains),
        (error) => {
          assert.ok(error instanceof StartProblem);
          assert.match(error.message, reason);
          assert.ok(!error.message.includes(SECRET), error.message);
          return true;
        },
      );
    });
  }
});

describe("prices in the configuration file", () => {
  const loadPrices = (prices: unknown) => {
    const file = join(folder, "prices.json");
    writeFileSync(file, JSON.stringify({ prices }));
    return loadConfig({}, file).prices;
  };

  it("are none unless named", () => assert.deepEqual(loadConfig({}).prices, {}));

  it("are by asset, in digits", () => {
    const prices = { "eip155:1/slip44:60": "2000.00", [`eip155:1/erc20:${TOKEN.address}`]: "1" };
    assert.deepEqual(loadPrices(prices), prices);
  });

  for (const bad of [
    { "eip155:1": "1" },
    { "eip155:1/slip44:60": 2000 },
    { "eip155:1/slip44:60": "-1" },
    { "eip155:1/slip44:60": "1e3" },
    ["1"],
  ]) {
    it(`stop the start when they are ${JSON.stringify(bad)}`, () => {
      assert.throws(() => loadPrices(bad), { message: /bad value for `prices`/ });
    });
  }
});
