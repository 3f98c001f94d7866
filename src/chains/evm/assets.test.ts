import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getAddress } from "viem";
import { createAssetBook, wholeUnits, worthOf } from "./assets.ts";
import { evmChains } from "./networks.ts";

const OWN = { address: `0x${"ab".repeat(20)}`, symbol: "OWN", name: "Own token", decimals: 2 };

describe("the assets of a chain", () => {
  it("are built in under addresses whose checksums are right, each once", () => {
    const book = createAssetBook({}, {});
    const ids = evmChains.flatMap((chain) => book.assetsOf(chain).map(({ caip19 }) => caip19));
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) {
      const address = id.split("/erc20:")[1];
      if (address !== undefined) assert.equal(getAddress(address), address);
    }
    assert.equal(book.assetsOf("eip155:1")[0]?.caip19, "eip155:1/slip44:60");
    assert.equal(book.assetsOf("eip155:137")[0]?.caip19, "eip155:137/slip44:966");
    assert.equal(book.assetOf("eip155:4217", null), undefined, "Tempo has no native asset");
  });

  it("are the operator's too, who may describe a built-in one anew", () => {
    const usdc = { ...OWN, address: "0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48" };
    const book = createAssetBook({ "eip155:1": [OWN, usdc] }, {});
    assert.deepEqual(book.assetOf("eip155:1", OWN.address), {
      caip19: `eip155:1/erc20:${getAddress(OWN.address)}`,
      symbol: "OWN",
      name: "Own token",
      decimals: 2,
      token: OWN.address,
      isStable: false,
    });
    assert.equal(book.assetOf("eip155:1", usdc.address.toLowerCase())?.symbol, "OWN");
    assert.equal(book.assetOf("eip155:10", OWN.address), undefined);
  });

  it("have the prices of their identifiers in any case", () => {
    const book = createAssetBook({}, { [`eip155:1/erc20:${OWN.address.toUpperCase().replace("X", "x")}`]: "3.5" });
    assert.equal(book.priceOf(`eip155:1/erc20:${getAddress(OWN.address)}`), "3.5");
    assert.equal(book.priceOf("eip155:1/slip44:60"), undefined);
  });
});

describe("amounts for people", () => {
  for (const [amount, decimals, text] of [
    [0n, 18, "0"],
    [1n, 18, "0.000000000000000001"],
    [1_500_000n, 6, "1.5"],
    [1_000_000n, 6, "1"],
    [7n, 0, "7"],
    [2n ** 256n - 1n, 77, `1.${(2n ** 256n - 1n).toString().slice(1)}`],
  ] as const) {
    it(`${amount} of ${decimals} decimals is ${text}`, () => assert.equal(wholeUnits(amount, decimals), text));
  }

  for (const [amount, decimals, price, worth] of [
    [15n * 10n ** 17n, 18, "2000.00", "3000.00"],
    [1_234_500n, 6, "1", "1.23"],
    [5_000n, 6, "1.000", "0.01"],
    [4_999n, 6, "1", "0.00"],
    [1n, 0, "0.125", "0.13"],
    [3n, 0, "1000000000000", "3000000000000.00"],
  ] as const) {
    it(`${amount} of ${decimals} decimals at ${price} is worth ${worth}`, () =>
      assert.equal(worthOf(amount, decimals, price), worth));
  }
});
