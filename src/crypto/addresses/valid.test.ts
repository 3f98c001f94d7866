import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isBitcoinAddress, isEthereumAddress, isSolanaAddress } from "./valid.ts";

describe("addresses to send money to", () => {
  it("of Ethereum are 20 bytes in hex, with the checksum of EIP-55 where the case is mixed", () => {
    const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    for (const good of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`])
      assert.ok(isEthereumAddress(good), good);
    for (const bad of [address.replace("aA", "Aa"), address.slice(0, -1), address.slice(2), `${address}0`, ""])
      assert.ok(!isEthereumAddress(bad), bad);
  });

  it("of Bitcoin are hashes and witness programs of one of its networks (BIP-173, BIP-350)", () => {
    const main = [
      "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
      "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
      "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    ];
    const test = [
      "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
      "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn",
    ];
    for (const isTest of [false, true]) for (const good of main) assert.ok(isBitcoinAddress(good, { isTest }), good);
    for (const only of test) {
      assert.ok(isBitcoinAddress(only, { isTest: true }), only);
      assert.ok(!isBitcoinAddress(only, { isTest: false }), only);
    }
    for (const bad of [
      // Test vectors of BIP-350: a checksum of the other kind, a program of the wrong length, an unknown version, another prefix.
      "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
      "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",
      "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",
      "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut",
      "bc1gmk9yu",
      "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
      "",
    ])
      assert.ok(!isBitcoinAddress(bad, { isTest: true }), bad);
  });

  it("of Solana are 32 bytes in base58", () => {
    const address = "11111111111111111111111111111112";
    assert.ok(isSolanaAddress(address));
    for (const bad of [address.slice(1), `${address}0`, `${address}1111111111111`, ""])
      assert.ok(!isSolanaAddress(bad), bad);
  });
});
