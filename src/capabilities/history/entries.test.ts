import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { longestHold } from "../../../test/support/loop-hold.ts";
import { type Entry, entriesOf, type SeenBlock } from "./entries.ts";

const addressOf = (place: number): string => `0x${place.toString(16).padStart(40, "0")}`;
const PAYER = `0x${"ff".repeat(20)}`;
const TOKEN = `0x${"aa".repeat(20)}`;

/** One transaction that pays so many addresses of one organization, each once. */
function paysMany(count: number): { block: SeenBlock; owners: Map<string, string[]> } {
  const addresses = Array.from({ length: count }, (_, place) => addressOf(place));
  const transfers = addresses.map((to) => ({ token: TOKEN, from: PAYER, to, amount: 1n }));
  const transaction = { index: 0, hash: "0x02", from: PAYER, to: TOKEN, fee: 1n, feeToken: null, failed: false };
  const block = { number: 5, hash: "0x01", timestamp: 1, transactions: [{ ...transaction, transfers }] };
  return { block, owners: new Map(addresses.map((address) => [address, ["organization"]])) };
}

describe("entries of a block", () => {
  const book = { assetOf: () => undefined } as never;

  it("of a transaction that pays very many addresses hold nobody up", async () => {
    const { block, owners } = paysMany(4000);
    let entries: Entry[] = [];
    const held = await longestHold(async () => {
      entries = await entriesOf("eip155:8453", block, owners, book);
    });
    assert.equal(entries.length, 4000);
    assert.ok(entries.every(({ transfers }) => transfers.length === 1));
    assert.ok(held < 250, `${held} ms at once`);
  });

  it("of a transfer to oneself go out before they come in, among others in their order", async () => {
    const { block, owners } = paysMany(1);
    const [transaction] = block.transactions;
    const self = addressOf(0);
    const transfers = [
      { token: TOKEN, from: self, to: PAYER, amount: 3n },
      { token: null, from: self, to: self, amount: 2n },
      { token: TOKEN, from: PAYER, to: PAYER, amount: 9n },
      { token: TOKEN, from: PAYER, to: self, amount: 4n },
    ];
    const seen = { ...block, transactions: [{ ...transaction, transfers } as never] };
    const [entry] = await entriesOf("eip155:8453", seen, owners, book);
    assert.deepEqual(
      entry?.transfers.map(({ direction, amount }) => [direction, amount]),
      [
        ["OUT", "3"],
        ["OUT", "2"],
        ["IN", "2"],
        ["IN", "4"],
      ],
    );
  });
});
