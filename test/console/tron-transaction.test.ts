import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readTronTransaction, tronAddressOf } from "../../console/src/chains/tron-transaction.ts";
import { readWithOtherBytes } from "../support/changed-bytes.ts";

interface Vector {
  name: string;
  rawData: string;
  facts: { data: string; fee_limit: string; contract: Record<string, string>[] };
}

const vectors = (name: string): Vector[] =>
  JSON.parse(readFileSync(new URL(`../vectors/tron-transactions/${name}.json`, import.meta.url), "utf8")).cases;

describe("Tron transactions in the console", () => {
  const valid = vectors("valid");

  it("are read as another library says, of every vector", () => {
    assert.ok(valid.length >= 40);
    for (const { name, rawData, facts } of valid) {
      const read = readTronTransaction(rawData) ?? assert.fail(name);
      const [contract = {}] = facts.contract;
      assert.deepEqual(
        [read.kind, read.owner, read.permission, read.feeLimit, Buffer.from(read.memo).toString("hex")],
        [contract.type, contract.owner_address, contract.permission_id, facts.fee_limit, facts.data],
        name,
      );
      const { to_address: to, amount } = contract;
      const transfers: Record<string, object> = {
        TransferContract: { to, amount },
        TransferAssetContract: { to, amount, token: contract.token_id },
      };
      assert.deepEqual(read.transfer, transfers[read.kind], name);
      const isCall = contract.type === "TriggerSmartContract";
      assert.deepEqual(
        read.call,
        isCall
          ? {
              contract: contract.contract_address,
              value: contract.call_value,
              data: `0x${contract.data}`,
              tokenValue: contract.call_token_value,
              token: contract.token_id,
            }
          : undefined,
        name,
      );
    }
    assert.ok(valid.some(({ rawData }) => readTronTransaction(rawData)?.call));
  });

  it("of a kind that is not read have its name", () => {
    const unsupported = vectors("unsupported");
    assert.ok(unsupported.length >= 5);
    for (const { name, rawData } of unsupported) assert.equal(readTronTransaction(rawData)?.kind, name);
  });

  it("are not read where they are cut, have two contracts, or have nothing", () => {
    const [{ rawData } = { rawData: "" }] = valid;
    assert.ok(readTronTransaction(rawData));
    assert.equal(readTronTransaction(rawData.slice(0, -2)), undefined);
    assert.equal(readTronTransaction(rawData + rawData), undefined);
    assert.equal(readTronTransaction(""), undefined);
    assert.equal(readTronTransaction("no hex"), undefined);
    assert.equal(readTronTransaction(rawData.padEnd(2 * 512_000 + 2, "0")), undefined);
  });

  it("of any bytes are read or not, and nothing is thrown", () => {
    const [{ rawData } = { rawData: "" }] = valid;
    readWithOtherBytes(readTronTransaction, rawData);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        readTronTransaction(Buffer.from(bytes).toString("hex"));
      }),
    );
  });

  it("name those whom a contract's call names", () => {
    assert.equal(tronAddressOf("0x2f3488e16136a22cd0f2443c7a9465c6733d7f63"), "TEGohFQcLwnFSUr4oHeF6PBYV3w8YaeAwY");
  });
});
