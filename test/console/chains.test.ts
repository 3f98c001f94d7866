import assert from "node:assert/strict";
import { it } from "node:test";
import { CHAIN_NAMES, nativeOf } from "../../console/src/parts/chains.ts";

it("what is paid on a chain that is not known here is not called ether", () => {
  // Avalanche, Gnosis, and whatever a transaction without a chain is good for.
  for (const chain of ["eip155:43114", "eip155:100", "any chain", "eip155:constructor", "constructor"]) {
    assert.deepEqual(nativeOf(chain), { symbol: "of the native unit", decimals: 18 }, chain);
  }
  const ofKnown = Object.keys(CHAIN_NAMES).map((chain) => nativeOf(chain).symbol);
  assert.deepEqual(new Set(ofKnown), new Set(["ETH", "POL", "BNB", "tBNB", "MON", "of the native unit", "SOL"]));
});
