import assert from "node:assert/strict";
import { test } from "node:test";
import { PublicKey, SystemProgram, type TransactionInstruction } from "@solana/web3.js";
import { type AccountStep, accountSteps, parsedAccountSteps } from "./created-accounts.ts";
import { ADDRESS_TABLE_LOOKUP, type CompiledInstruction, type MessageAccount } from "./transaction.ts";
import { SYSTEM_PROGRAM } from "./transfers.ts";

/** Who creates accounts and pays for them, in instructions as Solana's own library makes them: a sponsor grants rent by this. */

const keyOf = (byte: number) => new PublicKey(Buffer.alloc(32, byte));
const [payer, base, owner] = [keyOf(1), keyOf(2), keyOf(3)];
const lamports = 1_234_567;
const space = 165;

const fromLookup: MessageAccount = {
  key: ADDRESS_TABLE_LOOKUP,
  signer: false,
  writable: true,
  lookup: { tableKey: "table", index: 0 },
};
const account = (key: string): MessageAccount => ({ key, signer: true, writable: true });

/** The instruction in a message; of the accounts, the one at `looked` comes from a lookup table. */
function inMessage({ programId, keys, data }: TransactionInstruction, looked?: number): CompiledInstruction {
  const accounts = keys.map(({ pubkey }, index) => (index === looked ? fromLookup : account(pubkey.toBase58())));
  return { program: account(programId.toBase58()), accounts, data };
}

function ofKind(kind: number, data: Buffer): Buffer {
  const changed = Buffer.from(data);
  changed.writeUInt32LE(kind);
  return changed;
}

const make = (of: PublicKey): AccountStep => ({ does: "make", account: of.toBase58() });
const pay = (to: PublicKey): AccountStep => ({
  does: "pay",
  from: payer.toBase58(),
  to: to.toBase58(),
  lamports: BigInt(lamports),
});

const created = keyOf(4);
const programId = owner;
const plain: [made: TransactionInstruction, steps: AccountStep[]][] = [
  [
    SystemProgram.createAccount({ fromPubkey: payer, newAccountPubkey: created, lamports, space, programId }),
    [make(created), pay(created)],
  ],
  [SystemProgram.allocate({ accountPubkey: created, space }), [make(created)]],
  [SystemProgram.assign({ accountPubkey: created, programId }), [make(created)]],
  [SystemProgram.transfer({ fromPubkey: payer, toPubkey: created, lamports }), [pay(created)]],
];

test("an account that is created, allocated or assigned is made, and lamports are paid by who gives them", () => {
  for (const [made, steps] of plain) assert.deepEqual(accountSteps(inMessage(made)), steps);
});

test("the address of an account with a seed is derived where a lookup table supplies it", async () => {
  for (const seed of ["", "a", "0".repeat(32)]) {
    const derived = await PublicKey.createWithSeed(base, seed, owner);
    const withSeed = { basePubkey: base, seed, programId };
    const ofAccount = { accountPubkey: derived, ...withSeed };
    const creating = { fromPubkey: payer, newAccountPubkey: derived, lamports, space, ...withSeed };
    const cases: [made: TransactionInstruction, place: number, steps: AccountStep[]][] = [
      [SystemProgram.createAccountWithSeed(creating), 1, [make(derived), pay(derived)]],
      [SystemProgram.allocate({ ...ofAccount, space }), 0, [make(derived)]],
      [SystemProgram.assign(ofAccount), 0, [make(derived)]],
    ];
    for (const [made, place, steps] of cases) {
      assert.deepEqual(accountSteps(inMessage(made)), steps, seed);
      assert.deepEqual(accountSteps(inMessage(made, place)), steps, seed);
    }
  }
});

test("an address that the message names is taken as it is, whatever the seed says", () => {
  const named = keyOf(9);
  const made = SystemProgram.assign({ accountPubkey: named, basePubkey: base, seed: "another", programId });
  assert.deepEqual(accountSteps(inMessage(made)), [make(named)]);
});

test("what the System program would refuse, and other instructions, do nothing", () => {
  const [creation, , , transfer] = plain.map(([made]) => inMessage(made)) as [
    CompiledInstruction,
    CompiledInstruction,
    CompiledInstruction,
    CompiledInstruction,
  ];
  const seeded = inMessage(
    SystemProgram.createAccountWithSeed({
      fromPubkey: payer,
      newAccountPubkey: created,
      basePubkey: base,
      seed: "seed",
      lamports,
      space,
      programId,
    }),
  );
  // Its seed is longer than any: the program takes 32 bytes at most.
  const longSeed = Buffer.from(seeded.data);
  longSeed.writeBigUInt64LE(33n, 36);
  for (const each of [
    { ...creation, program: account(owner.toBase58()) },
    { ...creation, accounts: creation.accounts.slice(0, 1) },
    { ...creation, accounts: [] },
    { ...creation, data: creation.data.subarray(0, 11) },
    { ...creation, data: creation.data.subarray(0, 3) },
    { ...creation, data: Buffer.alloc(0) },
    { ...transfer, accounts: transfer.accounts.slice(0, 1) },
    { ...seeded, data: seeded.data.subarray(0, 36 + 7) },
    { ...seeded, data: seeded.data.subarray(0, 44 + 4 + 7) },
    { ...seeded, data: Buffer.concat([longSeed, Buffer.alloc(64)]) },
    { ...inMessage(SystemProgram.allocate({ accountPubkey: created, space })), accounts: [] },
    inMessage(SystemProgram.nonceAdvance({ noncePubkey: created, authorizedPubkey: payer })),
    // Of another kind, whatever its data would be in an instruction that creates an account.
    { ...seeded, data: ofKind(5, seeded.data) },
  ]) {
    assert.deepEqual(accountSteps(each), []);
  }
});

test("an address of a lookup table stays unknown where nothing says how it is derived", () => {
  const { data, ...rest } = inMessage(
    SystemProgram.assign({ accountPubkey: created, basePubkey: base, seed: "s", programId }),
    0,
  );
  const unknown = [{ does: "make", account: ADDRESS_TABLE_LOOKUP }];
  for (let length = 4; length < data.length; length++) {
    assert.deepEqual(accountSteps({ ...rest, data: data.subarray(0, length) }), unknown, `${length}`);
  }
  for (const [name, kind] of Object.entries({ assign: 1, allocate: 8 })) {
    assert.deepEqual(accountSteps({ ...rest, data: ofKind(kind, data) }), unknown, `${name} has no seed`);
  }
});

test("inner instructions, as nodes parse them, say the same", () => {
  const steps = (type: string, info: Record<string, unknown>, program = SYSTEM_PROGRAM) =>
    parsedAccountSteps({ programId: program, type, info });
  const [source, to] = [payer.toBase58(), created.toBase58()];
  const paid = { source, lamports };
  for (const type of ["createAccount", "createAccountWithSeed"]) {
    assert.deepEqual(steps(type, { ...paid, newAccount: to, space }), [make(created), pay(created)]);
  }
  for (const type of ["transfer", "transferWithSeed"]) {
    assert.deepEqual(steps(type, { ...paid, destination: to }), [pay(created)]);
  }
  for (const type of ["allocate", "allocateWithSeed", "assign", "assignWithSeed"]) {
    assert.deepEqual(steps(type, { account: to, space }), [make(created)]);
  }
  assert.deepEqual(steps("transfer", { source, lamports: 0, destination: to }), [{ ...pay(created), lamports: 0n }]);
});

test("inner instructions that are others, or without what is needed, do nothing", () => {
  const [source, to] = [payer.toBase58(), created.toBase58()];
  const whole = { source, lamports, newAccount: to, destination: to };
  const cases: [type: string, info: Record<string, unknown>, program?: string][] = [
    ["createAccount", whole, owner.toBase58()],
    ["createAccount", { ...whole, source: undefined }],
    ["createAccount", { ...whole, newAccount: undefined }],
    ["createAccount", { ...whole, lamports: "5" }],
    ["createAccount", { ...whole, lamports: 2 ** 53 }],
    ["transfer", { ...whole, destination: 5 }],
    ["withdrawFromNonce", whole],
    ["advanceNonce", { account: to }],
    ["reallocate", { account: to }],
    ["allocate", { account: 5 }],
    ["assign", {}],
  ];
  for (const [type, info, program = SYSTEM_PROGRAM] of cases) {
    assert.deepEqual(parsedAccountSteps({ programId: program, type, info }), [], `${type} ${JSON.stringify(info)}`);
  }
});
