import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { base58 } from "@scure/base";
import { movementsOf, type Outcome } from "./movements.ts";
import { SYSTEM_PROGRAM, TOKEN_PROGRAM } from "./transfers.ts";

const [A, B, C, D] = [1, 2, 3, 4].map((byte) => base58.encode(Buffer.alloc(32, byte))) as [
  string,
  string,
  string,
  string,
];
const MINT = base58.encode(Buffer.alloc(32, 9));

const account = (key: string) => ({ key, signer: false, writable: true });
const amountOf = (amount: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(amount);
  return bytes;
};
const native = (from: string, to: string, amount: bigint) => ({
  program: account(SYSTEM_PROGRAM),
  accounts: [account(from), account(to)],
  data: Buffer.concat([Buffer.of(2, 0, 0, 0), amountOf(amount)]),
});
const tokens = (from: string, to: string, amount: bigint) => ({
  program: account(TOKEN_PROGRAM),
  accounts: [account(from), account(to), account(A)],
  data: Buffer.concat([Buffer.of(3), amountOf(amount)]),
});
const held = (address: string, owner: string, amount: bigint) => ({ address, mint: MINT, owner, amount });
const of = (more: Partial<Outcome>) =>
  movementsOf({ lamports: [], tokensBefore: [], tokensAfter: [], instructions: [], ...more });
const change = (address: string, amount: bigint) => ({ address, amount });

describe("what moved in a transaction of Solana", () => {
  it("is what its instructions say, each with its own parties", () => {
    const lamports = [change(A, -5n), change(C, -5n), change(D, 5n), change(B, 5n)];
    assert.deepEqual(of({ lamports, instructions: [native(A, B, 5n), native(C, D, 5n)] }), [
      { token: null, from: A, to: B, amount: 5n },
      { token: null, from: C, to: D, amount: 5n },
    ]);
  });

  it("is between the owners of token accounts", () => {
    const tokensBefore = [held("a1", A, 10n), held("b1", B, 0n)];
    const tokensAfter = [held("a1", A, 3n), held("b1", B, 7n)];
    assert.deepEqual(of({ tokensBefore, tokensAfter, instructions: [tokens("a1", "b1", 7n)] }), [
      { token: MINT, from: A, to: B, amount: 7n },
    ]);
  });

  it("has both directions of a transfer to oneself, and nothing of nothing", () => {
    assert.deepEqual(of({ lamports: [change(A, 0n)], instructions: [native(A, A, 4n), native(A, B, 0n)] }), [
      { token: null, from: A, to: A, amount: 4n },
    ]);
  });

  it("is told by the balances where instructions say nothing", () => {
    const lamports = [change(A, -9n), change(B, 4n), change(C, 5n)];
    assert.deepEqual(of({ lamports }), [
      { token: null, from: A, to: B, amount: 4n },
      { token: null, from: A, to: C, amount: 5n },
    ]);
  });

  it("adds what instructions leave out: a closed account, minted and burned tokens, a fee withheld", () => {
    const lamports = [change(A, 1n), change("a1", -3n), change(B, 2n)];
    assert.deepEqual(of({ lamports, instructions: [native(A, B, 2n)] }), [
      { token: null, from: A, to: B, amount: 2n },
      { token: null, from: "a1", to: A, amount: 3n },
    ]);
    assert.deepEqual(of({ tokensAfter: [held("a1", A, 8n)] }), [{ token: MINT, from: MINT, to: A, amount: 8n }]);
    assert.deepEqual(of({ tokensBefore: [held("a1", A, 8n)] }), [{ token: MINT, from: A, to: MINT, amount: 8n }]);
    const tokensBefore = [held("a1", A, 10n), held("b1", B, 0n)];
    const tokensAfter = [held("a1", A, 0n), held("b1", B, 9n)];
    assert.deepEqual(of({ tokensBefore, tokensAfter, instructions: [tokens("a1", "b1", 10n)] }), [
      { token: MINT, from: A, to: B, amount: 10n },
      { token: MINT, from: B, to: MINT, amount: 1n },
    ]);
  });

  it("sums up to what each wallet gained or lost, whatever the instructions say", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const wallets = [A, B, C, D];
    const one = () => wallets[random(4)] as string;
    for (let round = 0; round < 200; round++) {
      const gained = wallets.map(() => BigInt(random(100) - 50));
      gained[3] = -(gained[0] as bigint) - (gained[1] as bigint) - (gained[2] as bigint);
      const lamports = wallets.map((wallet, index) => change(wallet, gained[index] as bigint));
      const instructions = Array.from({ length: random(4) }, () => native(one(), one(), BigInt(random(60))));
      const sums = new Map(wallets.map((wallet) => [wallet, 0n]));
      for (const { from, to, amount } of of({ lamports, instructions })) {
        sums.set(from, (sums.get(from) as bigint) - amount);
        sums.set(to, (sums.get(to) as bigint) + amount);
        assert.ok(amount > 0n);
      }
      assert.deepEqual([...sums.values()], gained);
    }
  });
});
