import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AccountRole, type Instruction } from "@solana/kit";
import { ComputeBudgetProgram } from "@solana/web3.js";
import { addressOf, compiled, factsByLibrary, lookup, SYSTEM_PROGRAM, TABLES } from "../../../test/support/solana.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { COMPUTE_BUDGET_PROGRAM, computeBudgetOf, feeOf, unitLimitData, unitPriceData } from "./compute-budget.ts";
import { type Additions, additionsIn, asSponsored, costOfSponsored } from "./sponsored.ts";
import {
  decodeWireTransaction,
  parseTransaction,
  requiredSigners,
  type SolanaTransaction,
  serializeMessage,
  wireOf,
} from "./transaction.ts";

const PAYER = addressOf(0xaa);
const BLOCKHASH = addressOf(0x77);
const ADDED: Additions = { unitLimit: 30_000, unitPrice: 5_000n, grants: [] };

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/solana-transactions/valid.json", import.meta.url), "utf8"),
).cases as { name: string; transaction: string }[];

const refuses = (act: () => unknown, reason: RegExp) =>
  assert.throws(act, (error) => error instanceof KeysteadError && reason.test(error.message));
const [writableSigner, readonlySigner, writable, readonly] = [
  AccountRole.WRITABLE_SIGNER,
  AccountRole.READONLY_SIGNER,
  AccountRole.WRITABLE,
  AccountRole.READONLY,
] as const;
const [own, other, third] = [addressOf(1), addressOf(2), addressOf(3)];
const PROGRAM = addressOf(9);
const given = (instructions: Instruction[], version: "legacy" | 0 = 0, payer = own): SolanaTransaction =>
  parseTransaction(compiled({ version, payer, blockhash: addressOf(0x66), instructions }), "transaction");
const factsOf = (transaction: SolanaTransaction) => factsByLibrary(wireOf(transaction));

test("a payer and a compute budget are all that is added, as Solana's own library reads it", () => {
  let count = 0;
  for (const { name, transaction } of vectors) {
    const one = decodeWireTransaction(transaction, "hex", "transaction");
    const before = factsOf(one);
    const budget = computeBudgetOf(one);
    let sponsored: SolanaTransaction;
    try {
      sponsored = asSponsored(one, PAYER, BLOCKHASH, {
        ...(budget.unitLimit === undefined ? { unitLimit: 30_000 } : {}),
        ...(budget.unitPrice === undefined ? { unitPrice: 5_000n } : {}),
        grants: [],
      });
    } catch (error) {
      assert.match((error as Error).message, /bytes with the fee payer/, name);
      continue;
    }
    count++;
    const after = factsOf(sponsored);
    assert.equal(sponsored.version, one.version, name);
    assert.deepEqual(after.signers, [PAYER, ...before.signers], name);
    assert.deepEqual(after.instructions.slice(0, before.instructions.length), before.instructions, name);
    assert.deepEqual(
      after.instructions.slice(before.instructions.length).map(({ program_key }) => program_key),
      after.instructions.slice(before.instructions.length).map(() => COMPUTE_BUDGET_PROGRAM),
    );
    assert.deepEqual(after.address_table_lookup_references, before.address_table_lookup_references, name);
    assert.equal(after.recent_blockhash, BLOCKHASH);
    assert.deepEqual(asSponsored(one, PAYER, BLOCKHASH, additionsIn(sponsored, one)), sponsored, "it is found again");
  }
  assert.ok(count >= 15, `${count} vectors fit`);
});

test("accounts keep their rights and their order, those of lookup tables too", () => {
  const instruction: Instruction = {
    programAddress: PROGRAM,
    accounts: [
      lookup(0, 3, writable),
      { address: other, role: readonlySigner },
      { address: third, role: writableSigner },
      { address: addressOf(4), role: writable },
      lookup(1, 200, readonly),
      { address: addressOf(5), role: readonly },
    ],
    data: Uint8Array.of(1, 2, 3),
  };
  const one = given([instruction]);
  const sponsored = asSponsored(one, PAYER, BLOCKHASH, { ...ADDED, grants: [{ to: third, lamports: 7n }] });
  const [grant, same] = factsOf(sponsored).instructions;
  assert.deepEqual(same, factsOf(one).instructions[0]);
  assert.deepEqual(
    grant?.accounts.map(({ account_key }) => account_key),
    [PAYER, third],
  );
  assert.deepEqual(requiredSigners(sponsored), [PAYER, ...requiredSigners(one)]);
  assert.deepEqual(
    sponsored.lookups.map(({ tableKey }) => tableKey),
    [...TABLES],
  );
  assert.deepEqual(sponsored.accounts[0], { key: PAYER, signer: true, writable: true });
  assert.deepEqual(costOfSponsored(sponsored), { fee: 4n * 5000n + 150n, grants: 7n });
});

test("the payer may be the first signer already, and nothing else", () => {
  const plain = (accounts: Instruction["accounts"], programAddress = PROGRAM): Instruction[] => [
    { programAddress, accounts: accounts ?? [], data: Uint8Array.of(1) },
  ];
  const signs = { address: own, role: writableSigner };
  for (const version of ["legacy", 0] as const) {
    const there = asSponsored(given(plain([signs]), version, PAYER), PAYER, BLOCKHASH, ADDED);
    assert.deepEqual(requiredSigners(there), [PAYER, own]);
    for (const role of [writableSigner, readonlySigner, writable, readonly]) {
      const named = plain([signs, { address: PAYER, role }]);
      for (const payer of [own, PAYER]) {
        refuses(() => asSponsored(given(named, version, payer), PAYER, BLOCKHASH, ADDED), /names the sponsor \w+ in/);
      }
    }
    refuses(
      () => asSponsored(given(plain([signs], PAYER), version), PAYER, BLOCKHASH, ADDED),
      /names the sponsor \w+ in message.instructions\[0\]/,
    );
  }
  const unnamed = given(plain([signs]), "legacy");
  assert.ok(asSponsored(unnamed, PAYER, BLOCKHASH, ADDED));
  // Among the accounts, but in no instruction.
  const message = serializeMessage({
    version: "legacy",
    header: [1, 0, 2],
    keys: [own, PAYER, PROGRAM],
    blockhash: BLOCKHASH,
    instructions: [{ program: 2, accounts: [0], data: Buffer.of(1) }],
    lookups: [],
  });
  const listed = parseTransaction(wireOf({ signatures: [Buffer.alloc(64)], message }), "transaction");
  refuses(() => asSponsored(listed, PAYER, BLOCKHASH, ADDED), /names the sponsor \w+ among its accounts/);
});

test("a limit or a price of its own stays, and nothing is added or listed that is there already", () => {
  const pays: Instruction = {
    programAddress: SYSTEM_PROGRAM,
    accounts: [{ address: own, role: writableSigner }],
    data: Uint8Array.of(9),
  };
  const budget = (data: Buffer): Instruction => ({ programAddress: COMPUTE_BUDGET_PROGRAM as typeof own, data });
  const [limit, price] = [budget(unitLimitData(40_000)), budget(unitPriceData(9n))];
  const grants = [{ to: own, lamports: 7n }];
  const cases: [instructions: Instruction[], added: Omit<Additions, "grants">][] = [
    [[pays], {}],
    [[pays], { unitPrice: 5_000n }],
    [[pays], { unitLimit: 30_000, unitPrice: 5_000n }],
    [[pays, limit], { unitPrice: 5_000n }],
    [[price, pays], { unitLimit: 30_000 }],
    [[price, limit, pays], {}],
  ];
  for (const [instructions, added] of cases) {
    const one = given(instructions);
    for (const additions of [
      { ...added, grants: [] },
      { ...added, grants },
    ]) {
      const sponsored = asSponsored(one, PAYER, BLOCKHASH, additions);
      assert.deepEqual(computeBudgetOf(sponsored), { ...computeBudgetOf(one), ...added });
      assert.deepEqual(additionsIn(sponsored, one), additions);
      assert.equal(
        sponsored.instructions.length,
        instructions.length + Object.keys(added).length + additions.grants.length,
      );
      const keys = [PAYER, ...one.accounts.map(({ key }) => key)];
      if (Object.keys(added).length > 0 && !keys.includes(COMPUTE_BUDGET_PROGRAM)) keys.push(COMPUTE_BUDGET_PROGRAM);
      assert.deepEqual(
        sponsored.accounts.map(({ key }) => key),
        keys,
      );
    }
  }
  const withoutSystem = given([{ ...pays, programAddress: PROGRAM }]);
  const keysOf = (additions: Additions) =>
    asSponsored(withoutSystem, PAYER, BLOCKHASH, additions).accounts.map(({ key }) => key);
  assert.deepEqual(keysOf({ grants: [] }), [PAYER, own, PROGRAM]);
  assert.deepEqual(keysOf({ grants }), [PAYER, own, PROGRAM, SYSTEM_PROGRAM]);
});

test("only signers are granted anything", () => {
  const one = given([
    { programAddress: PROGRAM, accounts: [{ address: third, role: writable }], data: Uint8Array.of() },
  ]);
  for (const to of [third, addressOf(40), PAYER]) {
    assert.throws(() => asSponsored(one, PAYER, BLOCKHASH, { grants: [{ to, lamports: 1n }] }), RangeError);
  }
});

test("what is larger than a packet with what is added is refused", () => {
  const sponsored = (length: number) => {
    const accounts = [{ address: own, role: writableSigner }];
    const one = given([{ programAddress: PROGRAM, accounts, data: new Uint8Array(length) }]);
    return wireOf(asSponsored(one, PAYER, BLOCKHASH, ADDED)).length;
  };
  const most = 800 + 1232 - sponsored(800);
  assert.equal(sponsored(most), 1232);
  refuses(() => sponsored(most + 1), /has 1233 bytes with the fee payer and what else sponsoring adds/);
});

test("fees are those of signatures, of signatures that programs verify, and of the units that are asked for", () => {
  const budget = (data: Buffer): Instruction => ({ programAddress: COMPUTE_BUDGET_PROGRAM as typeof own, data });
  const pays = {
    programAddress: SYSTEM_PROGRAM,
    accounts: [{ address: own, role: writableSigner }],
    data: Uint8Array.of(9),
  };
  assert.equal(feeOf(given([pays])), 5000n);
  assert.equal(
    feeOf(given([pays, budget(unitPriceData(5n))])),
    5000n + 2n,
    "5 for each of 400,000 units, in millionths",
  );
  assert.equal(feeOf(given([budget(unitLimitData(1_000_001)), budget(unitPriceData(1n))])), 5000n + 2n, "rounded up");
  const all = [budget(unitLimitData(0xffff_ffff)), budget(unitPriceData(2n ** 64n - 1n))];
  assert.equal(feeOf(given(all)), 5000n + ((2n ** 64n - 1n) * 1_400_000n + 999_999n) / 1_000_000n);
  const verifying = (programAddress: string, ...data: number[]) =>
    given([{ programAddress: programAddress as typeof own, data: Uint8Array.from(data) }]);
  for (const program of [
    "Ed25519SigVerify111111111111111111111111111",
    "KeccakSecp256k11111111111111111111111111111",
    "Secp256r1SigVerify1111111111111111111111111",
  ]) {
    assert.equal(feeOf(verifying(program, 255, 0)), 5000n * 256n, program);
    assert.equal(feeOf(verifying(program)), 5000n, "none");
  }
  assert.equal(feeOf(verifying(PROGRAM, 255)), 5000n);
  refuses(
    () => feeOf(given([budget(unitPriceData(1n)), budget(unitPriceData(1n))])),
    /sets its compute unit price twice/,
  );
  for (const data of [Buffer.of(2, 0, 0), Buffer.of(2, 0, 0, 0)]) {
    refuses(() => feeOf(given([budget(data)])), /sets a compute unit limit without a number/);
  }
  refuses(() => feeOf(given([budget(Buffer.alloc(8, 3))])), /sets a compute unit price without a number/);
});

test("a limit and a price are set as Solana's own library sets them", () => {
  const { data: limit } = ComputeBudgetProgram.setComputeUnitLimit({ units: 1_234_567 });
  const { data: price } = ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 89n });
  assert.deepEqual(unitLimitData(1_234_567), limit);
  assert.deepEqual(unitPriceData(89n), price);
  assert.equal(COMPUTE_BUDGET_PROGRAM, ComputeBudgetProgram.programId.toBase58());
});
