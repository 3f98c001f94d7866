import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { addressOf, networkOf, readPsbt } from "../../console/src/chains/bitcoin-transaction.ts";
import { parsePsbt } from "../../src/chains/bitcoin/psbt.ts";
import { readWithOtherBytes } from "../support/changed-bytes.ts";

interface Signed {
  name: string;
  psbt: string;
  fee: string;
  outputs: { value: string; script: string; addresses: Record<"MAINNET" | "TESTNET" | "REGTEST", string> }[];
}

const vectors = <Case>(name: string): Case[] =>
  JSON.parse(readFileSync(new URL(`../vectors/bitcoin-psbt/${name}.json`, import.meta.url), "utf8")).cases;

const NETWORKS = ["MAINNET", "TESTNET", "REGTEST"] as const;

describe("Bitcoin transactions in the console", () => {
  const signed = vectors<Signed>("signed");

  it("have the outputs, addresses and fees that another library says", () => {
    assert.ok(signed.length >= 70);
    for (const { name, psbt, fee, outputs } of signed) {
      const read = readPsbt(psbt) ?? assert.fail(name);
      const { inputs } = parsePsbt(Buffer.from(psbt, "hex"), "psbt");
      assert.equal(String(read.fee), fee, name);
      assert.deepEqual([read.inputs, read.isProved], [inputs.length, inputs.every(({ isProved }) => isProved)], name);
      assert.deepEqual(
        read.outputs.map(({ amount, script }) => [String(amount), script]),
        outputs.map(({ value, script }) => [value, script]),
        name,
      );
      for (const network of NETWORKS)
        assert.deepEqual(
          read.outputs.map((output) => addressOf(output, network) ?? ""),
          outputs.map(({ addresses }) => addresses[network]),
          `${name}, ${network}`,
        );
    }
  });

  it("are read of every valid vector of BIP-174 and BIP-371, and a fee is told where the amounts are there", () => {
    const valid = vectors<{ name: string; psbt: string }>("valid");
    assert.ok(valid.length >= 17);
    const fees = valid.map(({ name, psbt }) => (readPsbt(psbt) ?? assert.fail(name)).fee);
    assert.ok(fees.some((fee) => fee === undefined));
    assert.ok(fees.some((fee) => fee !== undefined));
  });

  it("are not read where they are cut, longer, too large, or claim what the transaction before does not say", () => {
    const [{ psbt } = { psbt: "" }] = signed;
    assert.equal(readPsbt(psbt.slice(0, -2)), undefined);
    assert.equal(readPsbt(`${psbt}00`), undefined);
    assert.equal(readPsbt("70736274ff"), undefined);
    assert.equal(readPsbt(""), undefined);
    assert.equal(readPsbt("no hex"), undefined);
    assert.equal(readPsbt(psbt.padEnd(2 * 1024 * 1024 + 2, "0")), undefined);
    // One input, whose amount is in the transaction that it spends: of another amount it is another transaction.
    const { fee, isProved } = readPsbt(psbt) ?? assert.fail();
    assert.deepEqual([fee, isProved], [10_000n, true]);
    const spent = Buffer.alloc(8);
    spent.writeBigUInt64LE(100_000n);
    const more = Buffer.alloc(8);
    more.writeBigUInt64LE(200_000n);
    assert.ok(psbt.includes(spent.toString("hex")));
    assert.equal(readPsbt(psbt.replace(spent.toString("hex"), more.toString("hex"))), undefined);
  });

  it("of any bytes are read or not, and nothing is thrown", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        readPsbt(`70736274ff${Buffer.from(bytes).toString("hex")}`);
      }),
    );
    const [{ psbt } = { psbt: "" }] = signed;
    readWithOtherBytes(readPsbt, psbt);
    for (const { psbt: invalid } of vectors<{ psbt: string }>("invalid")) readPsbt(invalid);
  });

  it("are of the network that the signing address is of, where it is one", () => {
    for (const { outputs } of signed)
      for (const { addresses } of outputs)
        for (const network of NETWORKS)
          if (addresses[network] !== "") {
            const isTest = network === "REGTEST" && !addresses.REGTEST.startsWith("bcrt1");
            assert.equal(networkOf(addresses[network]), isTest ? "TESTNET" : network, addresses[network]);
          }
    for (const key of ["018f2f9e-5b1e-7000-8000-000000000000", `02${"ab".repeat(32)}`, ""])
      assert.equal(networkOf(key), undefined, key);
  });
});
