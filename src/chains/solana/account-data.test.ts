import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type Address,
  fixEncoderSize,
  getAddressEncoder,
  getBytesEncoder,
  getOptionEncoder,
  getStructEncoder,
  getU8Encoder,
  getU32Encoder,
  getU64Encoder,
} from "@solana/kit";
import { AddressLookupTableAccount, AddressLookupTableProgram, PublicKey } from "@solana/web3.js";
import { LOOKUP_TABLE_LENGTH, lookupTableAddresses, tokenHolding } from "./account-data.ts";
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./transfers.ts";

/** What accounts of Solana hold: swaps are judged by this, so that bytes of anything else must not pass for it. */

const keyOf = (byte: number) => new PublicKey(Buffer.alloc(32, byte)).toBase58() as Address;
const [mint, owner, delegate, closer] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];

const option = { prefix: getU32Encoder(), noneValue: "zeroes" } as const;
/** As the Token program publishes it (spl_token::state::Account). */
const holding = getStructEncoder([
  ["mint", getAddressEncoder()],
  ["owner", getAddressEncoder()],
  ["amount", getU64Encoder()],
  ["delegate", getOptionEncoder(getAddressEncoder(), option)],
  ["state", getU8Encoder()],
  ["isNative", getOptionEncoder(getU64Encoder(), option)],
  ["delegatedAmount", getU64Encoder()],
  ["closeAuthority", getOptionEncoder(getAddressEncoder(), option)],
]);
const whole = {
  mint,
  owner,
  amount: 5n,
  delegate,
  state: 1,
  isNative: 7n,
  delegatedAmount: 3n,
  closeAuthority: closer,
};
const bytesOf = (more: Partial<Parameters<typeof holding.encode>[0]> = {}) =>
  Buffer.from(holding.encode({ ...whole, ...more }));
const told = { mint, owner, amount: 5n, delegate, delegated: 3n, closeAuthority: closer };
const extended = (length: number, type = 2) =>
  Buffer.concat([bytesOf(), Buffer.from(fixEncoderSize(getBytesEncoder(), length - 165).encode(Uint8Array.of(type)))]);

describe("an account that holds tokens", () => {
  it("says whose they are, how many, and who else may take them", () => {
    for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
      assert.deepEqual(tokenHolding(program, bytesOf()), told);
      const alone = bytesOf({ delegate: null, closeAuthority: null, delegatedAmount: 0n });
      assert.deepEqual(tokenHolding(program, alone), { ...told, delegate: null, delegated: 0n, closeAuthority: null });
    }
    // Frozen.
    assert.deepEqual(tokenHolding(TOKEN_PROGRAM, bytesOf({ state: 2 })), told);
  });

  it("may have extensions", () => {
    for (const length of [166, 170, 354, 356])
      assert.deepEqual(tokenHolding(TOKEN_2022_PROGRAM, extended(length)), told);
  });

  it("is none of another program, a mint, a multisignature account, or one that is not initialized", () => {
    assert.equal(tokenHolding(SYSTEM_PROGRAM, bytesOf()), undefined);
    assert.equal(tokenHolding(TOKEN_PROGRAM, bytesOf({ state: 0 })), undefined);
    assert.equal(tokenHolding(TOKEN_PROGRAM, Buffer.alloc(0)), undefined);
    assert.equal(tokenHolding(TOKEN_PROGRAM, bytesOf().subarray(0, 82)), undefined, "a mint");
    assert.equal(tokenHolding(TOKEN_PROGRAM, bytesOf().subarray(0, 164)), undefined);
    assert.equal(tokenHolding(TOKEN_2022_PROGRAM, extended(170, 1)), undefined, "a mint with extensions");
    assert.equal(tokenHolding(TOKEN_2022_PROGRAM, extended(355)), undefined, "as long as a multisignature account");
  });
});

describe("a lookup table", () => {
  const program = AddressLookupTableProgram.programId.toBase58();
  const LIVE = 2n ** 64n - 1n;
  function tableOf(count: number, { kind = 1, deactivatedAt = LIVE } = {}): Buffer {
    const meta = Buffer.alloc(56);
    meta.writeUInt32LE(kind);
    meta.writeBigUInt64LE(deactivatedAt, 4);
    const addresses = Array.from({ length: count }, (_, index) => Buffer.alloc(32, index + 1));
    return Buffer.concat([meta, ...addresses]);
  }

  it("has the addresses that Solana's own library reads in it", () => {
    for (const count of [0, 1, 3, 256]) {
      const table = tableOf(count);
      const { addresses } = AddressLookupTableAccount.deserialize(table);
      assert.deepEqual(
        lookupTableAddresses(program, table),
        addresses.map((each) => each.toBase58()),
      );
    }
    assert.equal(tableOf(256).length, LOOKUP_TABLE_LENGTH);
  });

  it("is none of another program, of another kind, being deactivated, or cut", () => {
    assert.equal(lookupTableAddresses(SYSTEM_PROGRAM, tableOf(1)), undefined);
    assert.equal(lookupTableAddresses(program, tableOf(1, { kind: 0 })), undefined);
    assert.equal(lookupTableAddresses(program, tableOf(1, { deactivatedAt: 5n })), undefined);
    for (const length of [0, 3, 24, 55]) {
      assert.equal(lookupTableAddresses(program, tableOf(0).subarray(0, length)), undefined, `${length}`);
    }
    assert.equal(lookupTableAddresses(program, tableOf(2).subarray(0, -1)), undefined);
  });
});
