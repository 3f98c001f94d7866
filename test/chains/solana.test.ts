import assert from "node:assert/strict";
import { createPrivateKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { test } from "node:test";
import {
  AccountRole,
  type Address,
  createAddressWithSeed,
  getAddressDecoder,
  getAddressEncoder,
  getTransactionDecoder,
  getU64Encoder,
  type Instruction,
  lamports,
} from "@solana/kit";
import { FailedTransactionMetadata, LiteSVM } from "litesvm";
import { solanaFacts } from "../../src/chains/solana/facts.ts";
import { parseProgramInterface } from "../../src/chains/solana/program-interface.ts";
import { insertSignature, messageOf, parseTransaction } from "../../src/chains/solana/transaction.ts";
import { Budget } from "../../src/policy/budget.ts";
import { compile } from "../../src/policy/compile.ts";
import { PolicyError } from "../../src/policy/errors.ts";
import type { SolanaTransactionFacts } from "../../src/policy/facts.ts";
import { addressOf, compiled, lookup, SYSTEM_PROGRAM, TOKEN_PROGRAM } from "../support/solana.ts";

const FIELD = "parameters.unsignedTransaction";
const SOL = 1_000_000_000n;
const { READONLY, READONLY_SIGNER, WRITABLE, WRITABLE_SIGNER } = AccountRole;

type Signer = { address: Address; key: KeyObject };

function newSigner(): Signer {
  const seed = randomBytes(32);
  // The PKCS#8 frame of an Ed25519 seed (RFC 8410).
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x = "" } = key.export({ format: "jwk" });
  return { address: getAddressDecoder().decode(Buffer.from(x, "base64url")), key };
}

function signedBy(wire: Uint8Array, ...signers: Signer[]): Uint8Array {
  return signers.reduce<Uint8Array>((each, { address, key }) => {
    const transaction = parseTransaction(each, FIELD);
    return insertSignature(transaction, address, sign(undefined, messageOf(transaction), key));
  }, wire);
}

function newChain(payer: Signer): LiteSVM {
  const chain = new LiteSVM();
  chain.airdrop(payer.address, lamports(10n * SOL));
  return chain;
}

/** The error of a transaction that failed on the chain, or that it does not take; undefined where it went through. */
function failureOf(chain: LiteSVM, wire: Uint8Array): string | undefined {
  const result = chain.sendTransaction(getTransactionDecoder().decode(wire));
  return result instanceof FailedTransactionMetadata ? result.toString() : undefined;
}

const transferData = (amount: bigint, ...rest: number[]) =>
  Uint8Array.from([2, 0, 0, 0, ...getU64Encoder().encode(amount), ...rest]);

const transferTo = (payer: Signer, to: Address, amount: bigint, ...rest: number[]): Instruction => ({
  programAddress: SYSTEM_PROGRAM,
  accounts: [
    { address: payer.address, role: WRITABLE_SIGNER },
    { address: to, role: WRITABLE },
  ],
  data: transferData(amount, ...rest),
});

const wireOf = (chain: LiteSVM, payer: Signer, instructions: Instruction[], version: "legacy" | 0 = "legacy") =>
  compiled({ version, payer: payer.address, blockhash: chain.latestBlockhash(), instructions });

for (const version of ["legacy", 0] as const) {
  test(`the chain takes a ${version} transfer with the signature that was inserted, and none that was changed`, () => {
    const payer = newSigner();
    const chain = newChain(payer);
    const to = newSigner().address;
    const wire = signedBy(wireOf(chain, payer, [transferTo(payer, to, SOL)], version), payer);
    // Two bytes of the signature, and one of the amount.
    for (const at of [1, 40, wire.length - 5]) {
      const tampered = Buffer.from(wire);
      tampered.writeUInt8((wire[at] ?? 0) ^ 1, at);
      assert.match(failureOf(chain, tampered) ?? "", /SignatureFailure/);
    }
    assert.equal(chain.getBalance(to), null);
    assert.equal(failureOf(chain, wire), undefined);
    assert.equal(chain.getBalance(to), SOL);
  });
}

test("two signers sign one after the other, in either order", () => {
  for (const reversed of [false, true]) {
    const payer = newSigner();
    const other = newSigner();
    const chain = newChain(payer);
    chain.airdrop(other.address, lamports(5n * SOL));
    const to = newSigner().address;
    const wire = wireOf(chain, payer, [transferTo(payer, to, SOL), transferTo(other, to, SOL)]);
    const signers = reversed ? [other, payer] : [payer, other];
    assert.throws(() => failureOf(chain, signedBy(wire, payer)), /missing signatures for addresses/);
    assert.equal(failureOf(chain, signedBy(wire, ...signers)), undefined);
    assert.equal(chain.getBalance(to), 2n * SOL);
  }
});

const factsOf = (wire: Uint8Array): SolanaTransactionFacts => solanaFacts(parseTransaction(wire, FIELD));

test("what the chain executes as a transfer is seen as one, with bytes and accounts that it ignores", () => {
  const payer = newSigner();
  const to = newSigner().address;
  const plain = transferTo(payer, to, SOL);
  const more = { ...plain, accounts: [...(plain.accounts ?? []), { address: addressOf(7), role: READONLY }] };
  for (const instruction of [plain, transferTo(payer, to, SOL, 1, 2, 3), more]) {
    const chain = newChain(payer);
    const wire = wireOf(chain, payer, [instruction]);
    assert.deepEqual(factsOf(wire).transfers, [{ from: payer.address, to, amount: SOL }]);
    assert.equal(failureOf(chain, signedBy(wire, payer)), undefined);
    assert.equal(chain.getBalance(to), SOL);
  }
});

test("what is seen as no transfer moves nothing on the chain", () => {
  const payer = newSigner();
  const to = newSigner().address;
  const [from] = transferTo(payer, to, SOL).accounts ?? [];
  assert(from !== undefined);
  const plain = transferTo(payer, to, SOL);
  const broken: Instruction[] = [
    { ...plain, data: transferData(SOL).subarray(0, 11) },
    { ...plain, accounts: [from] },
    { ...plain, data: transferData(SOL).with(3, 1) },
  ];
  for (const instruction of broken) {
    const chain = newChain(payer);
    const wire = wireOf(chain, payer, [instruction]);
    assert.deepEqual(factsOf(wire).transfers, []);
    assert.notEqual(failureOf(chain, signedBy(wire, payer)), undefined);
    assert.equal(chain.getBalance(to), null);
  }
});

test("a transfer with seed moves from the derived account", async () => {
  const payer = newSigner();
  const chain = newChain(payer);
  const to = newSigner().address;
  const from = await createAddressWithSeed({
    baseAddress: payer.address,
    programAddress: SYSTEM_PROGRAM,
    seed: "save",
  });
  chain.airdrop(from, lamports(5n * SOL));
  const seed = [...getU64Encoder().encode(4n), ...Buffer.from("save"), ...getAddressEncoder().encode(SYSTEM_PROGRAM)];
  const instruction: Instruction = {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: WRITABLE },
      { address: payer.address, role: READONLY_SIGNER },
      { address: to, role: WRITABLE },
    ],
    data: Uint8Array.from([11, 0, 0, 0, ...getU64Encoder().encode(SOL), ...seed]),
  };
  const wire = wireOf(chain, payer, [instruction]);
  assert.deepEqual(factsOf(wire).transfers, [{ from, to, amount: SOL }]);
  assert.equal(failureOf(chain, signedBy(wire, payer)), undefined);
  assert.equal(chain.getBalance(to), SOL);
});

/** A token account as the Token program stores it: mint, owner, amount, no delegate, initialized. */
function tokenAccount(chain: LiteSVM, mint: Address, owner: Address, amount: bigint): Address {
  const address = newSigner().address;
  const data = Buffer.alloc(165);
  data.set(getAddressEncoder().encode(mint), 0);
  data.set(getAddressEncoder().encode(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  setTokenData(chain, address, data);
  return address;
}

function setTokenData(chain: LiteSVM, address: Address, data: Buffer): void {
  const balance = chain.minimumBalanceForRentExemption(BigInt(data.length));
  chain.setAccount({
    address,
    data,
    executable: false,
    lamports: lamports(balance),
    programAddress: TOKEN_PROGRAM,
    space: BigInt(data.length),
  });
}

test("token transfers are seen as the Token program executes them", () => {
  const payer = newSigner();
  const chain = newChain(payer);
  const mint = newSigner().address;
  const mintData = Buffer.alloc(82);
  mintData.writeBigUInt64LE(1000n, 36);
  mintData.writeUInt8(1, 45);
  setTokenData(chain, mint, mintData);
  const from = tokenAccount(chain, mint, payer.address, 1000n);
  const to = tokenAccount(chain, mint, addressOf(9), 0n);
  const amount = getU64Encoder().encode(10n);
  const source = { address: from, role: WRITABLE };
  const destination = { address: to, role: WRITABLE };
  const owner = { address: payer.address, role: READONLY_SIGNER };
  const seen = { from, to, amount: 10n, owner: payer.address, signers: [] };
  const cases: [Instruction, string][] = [
    [{ programAddress: TOKEN_PROGRAM, accounts: [source, destination, owner], data: Uint8Array.of(3, ...amount) }, ""],
    [
      {
        programAddress: TOKEN_PROGRAM,
        accounts: [source, destination, owner],
        data: Uint8Array.of(3, ...amount, 9, 9),
      },
      "",
    ],
    [
      {
        programAddress: TOKEN_PROGRAM,
        accounts: [source, { address: mint, role: READONLY }, destination, owner],
        data: Uint8Array.of(12, ...amount, 0, 9),
      },
      mint,
    ],
  ];
  for (const [index, [instruction, token_mint]] of cases.entries()) {
    const wire = wireOf(chain, payer, [instruction]);
    assert.deepEqual(factsOf(wire).spl_transfers, [{ ...seen, token_mint }]);
    assert.equal(failureOf(chain, signedBy(wire, payer)), undefined);
    const account = chain.getAccount(to);
    assert(account.exists);
    assert.equal(Buffer.from(account.data).readBigUInt64LE(64), 10n * BigInt(index + 1));
  }
});

/** What a condition comes to for a transaction. */
function decide(condition: string, tx: SolanaTransactionFacts): boolean | "error" {
  try {
    const activity = { type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2" };
    const budget = new Budget(Number.POSITIVE_INFINITY);
    return compile(condition, "condition").evaluate({ activity, solana: { tx } }, budget);
  } catch (error) {
    if (error instanceof PolicyError) return "error";
    throw error;
  }
}

test("policies decide on the facts", () => {
  const payer = newSigner();
  const chain = newChain(payer);
  const [a, b, program] = [addressOf(0xa), addressOf(0xb), addressOf(0xc)];
  const toA = transferTo(payer, a, 5n);
  const call: Instruction = { programAddress: program, accounts: [], data: Uint8Array.of(1) };
  const hidden: Instruction = {
    ...toA,
    accounts: [{ address: payer.address, role: WRITABLE_SIGNER }, lookup(0, 3, WRITABLE)],
  };
  const allToA = `solana.tx.transfers.all(t, t.to == '${a}')`;
  const onlyToA = `${allToA} && solana.tx.instructions.count() == solana.tx.transfers.count()`;
  const decided = (condition: string, ...instructions: Instruction[]) =>
    decide(condition, factsOf(wireOf(chain, payer, instructions, 0)));
  assert.equal(decided(onlyToA, toA), true);
  assert.equal(decided(onlyToA, toA, transferTo(payer, b, 1n)), false);
  assert.equal(decided(allToA, toA, hidden), false);
  // A call of a program may move anything, and is no transfer.
  assert.equal(decided(allToA, toA, call), true);
  assert.equal(decided(onlyToA, toA, call), false);
  assert.equal(decided(`solana.tx.program_keys.all(p, p == '${SYSTEM_PROGRAM}')`, toA, call), false);
  assert.equal(decided("solana.tx.address_table_lookups.count() > 0", hidden), true);
  assert.equal(decided("solana.tx.transfers.count == 1 && solana.tx.transfers[0].amount <= 5", toA), true);
});

test("policies decide on decoded instructions, and err where none was decoded", () => {
  const program = addressOf(0xc);
  const types = [
    {
      name: "Side",
      type: { kind: "enum", variants: [{ name: "Buy" }, { name: "Limit", fields: [{ name: "price", type: "u64" }] }] },
    },
  ];
  const args = [
    { name: "amount", type: "u64" },
    { name: "side", type: { defined: { name: "Side" } } },
    { name: "max", type: { option: "u8" } },
  ];
  const order = { name: "order", discriminator: [9], accounts: [{ name: "owner" }], args };
  const interfaces = new Map([
    [program as string, parseProgramInterface(JSON.stringify({ instructions: [order], types }), FIELD)],
  ]);
  const payer = newSigner();
  const chain = newChain(payer);
  const decided = (condition: string, ...data: number[]) => {
    const accounts = [{ address: payer.address, role: WRITABLE_SIGNER }];
    const wire = wireOf(chain, payer, [{ programAddress: program, accounts, data: Uint8Array.from(data) }]);
    return decide(condition, solanaFacts(parseTransaction(wire, FIELD), interfaces));
  };
  const parsed = "solana.tx.instructions[0].parsed_instruction_data";
  const amount = [7, 0, 0, 0, 0, 0, 0, 0];
  const buy = [9, ...amount, 0, 0];
  const limit = [9, ...amount, 1, ...amount, 1, 3];
  assert.equal(decided(`${parsed}.instruction_name == 'order' && ${parsed}.discriminator == '09'`, ...buy), true);
  assert.equal(decided(`${parsed}.named_accounts['owner'] == '${payer.address}'`, ...buy), true);
  assert.equal(decided(`${parsed}.program_call_args['amount'] == 7`, ...buy), true);
  assert.equal(decided(`${parsed}.program_call_args['side'] == 'Buy'`, ...buy), true);
  assert.equal(decided(`${parsed}.program_call_args['side']['Limit']['price'] <= 7`, ...limit), true);
  assert.equal(decided(`${parsed}.program_call_args['side']['Limit']['price'] <= 7`, ...buy), "error");
  assert.equal(decided(`${parsed}.program_call_args['max'] <= 3`, ...limit), true);
  assert.equal(decided(`${parsed}.program_call_args['max'] <= 3`, ...buy), "error");
  assert.equal(decided(`${parsed}.program_call_args['max'].count() == 0`, ...buy), true);
  assert.equal(decided(`${parsed}.program_call_args['max'].count() == 0`, ...limit), "error");
  assert.equal(decided(`${parsed}.instruction_name == 'order'`, ...buy, 0), "error");
  assert.equal(decided(`${parsed}.instruction_name == 'order'`, 8, ...buy), "error");
});
