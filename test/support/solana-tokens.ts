import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { AccountRole, type Address, getU64Encoder, type Instruction, lamports } from "@solana/kit";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./solana.ts";
import type { SolanaNode } from "./solana-node.ts";

/** Tokens of the Token program and of Token-2022 on a node of tests, as their instructions would leave them. */

const newAddress = (): Address => base58.encode(randomBytes(32)) as Address;
const bytesOf = (address: Address): Uint8Array => base58.decode(address);
const u64 = (amount: bigint): Uint8Array => Uint8Array.from(getU64Encoder().encode(amount));

function put({ svm }: SolanaNode, data: Buffer, program = TOKEN_PROGRAM): Address {
  const address = newAddress();
  const rent = svm.minimumBalanceForRentExemption(BigInt(data.length));
  svm.setAccount({
    address,
    data,
    executable: false,
    lamports: lamports(rent),
    programAddress: program,
    space: BigInt(data.length),
  });
  return address;
}

/** What stands behind mints and accounts with extensions, from here on: which of them it is, then a type, a length and the data of each. */
const EXTENSIONS = 165;
const [MINT, ACCOUNT] = [1, 2];
const [TRANSFER_FEE_CONFIG, TRANSFER_FEE_AMOUNT, PERMANENT_DELEGATE] = [1, 2, 12];

function extended(base: Buffer, kind: number, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(5, kind);
  head.writeUInt16LE(type, 1);
  head.writeUInt16LE(data.length, 3);
  return Buffer.concat([base, Buffer.alloc(EXTENSIONS - base.length), head, data]);
}

/** A token of which this authority can make as many as it likes. */
export const newMint = (node: SolanaNode, authority: Address, decimals = 6): Address =>
  put(node, mintData(authority, decimals));

/**
 * A token of Token-2022.
 *
 * @param feeBps the part of each transfer that is withheld from whom it goes to, in basis points; for a mint without fees undefined
 */
export function newMint2022(node: SolanaNode, authority: Address, feeBps?: number): Address {
  const data = mintData(authority, 6);
  if (feeBps === undefined) return put(node, data, TOKEN_2022_PROGRAM);
  // Two authorities, none here; what is withheld; the fee of before, and that which is in force since an epoch.
  const config = Buffer.alloc(108);
  for (const at of [72, 90]) {
    config.writeBigUInt64LE(2n ** 64n - 1n, at + 8);
    config.writeUInt16LE(feeBps, at + 16);
  }
  return put(node, extended(data, MINT, TRANSFER_FEE_CONFIG, config), TOKEN_2022_PROGRAM);
}

/** A token of Token-2022 of which somebody may take from everybody. */
export const newMintWithDelegate = (node: SolanaNode, authority: Address, delegate: Address): Address =>
  put(
    node,
    extended(mintData(authority, 6), MINT, PERMANENT_DELEGATE, Buffer.from(bytesOf(delegate))),
    TOKEN_2022_PROGRAM,
  );

/** What Token-2022 adds to a mint, by its number, and what it adds to each account of it then. */
export interface Extension {
  mint: readonly [type: number, data: Buffer];
  account?: readonly [type: number, data: Buffer];
}

/** Of mints that are transferred in their own way, or not at all. @param hook the program that is asked about each transfer */
export const extensionsOf = (authority: Address, hook: Address) => {
  const rate = Buffer.alloc(52);
  rate.set(bytesOf(authority), 0);
  rate.writeInt16LE(500, 42);
  rate.writeInt16LE(500, 50);
  const pair = Buffer.concat([bytesOf(authority), bytesOf(hook)]);
  return {
    confidential: { mint: [4, Buffer.concat([bytesOf(authority), Buffer.alloc(33)])] },
    "bearing interest": { mint: [10, rate] },
    "not transferable": { mint: [9, Buffer.alloc(0)], account: [13, Buffer.alloc(0)] },
    "asking a hook": { mint: [14, pair], account: [15, Buffer.alloc(1)] },
  } satisfies Record<string, Extension>;
};

/** A token of Token-2022 that is extended, and accounts of it. */
export const newExtendedMint = (node: SolanaNode, authority: Address, { mint }: Extension): Address =>
  put(node, extended(mintData(authority, 6), MINT, ...mint), TOKEN_2022_PROGRAM);
export function newExtendedAccount(node: SolanaNode, holding: Holding, { account }: Extension): Address {
  const data = holdingData(holding);
  return put(node, account ? extended(data, ACCOUNT, ...account) : data, TOKEN_2022_PROGRAM);
}

/** What owns token accounts in the place of people, each of whom may sign alone. */
export function newMultisig(node: SolanaNode, members: readonly Address[]): Address {
  const data = Buffer.alloc(355);
  data.set([1, members.length, 1]);
  for (const [index, member] of members.entries()) data.set(bytesOf(member), 3 + 32 * index);
  return put(node, data);
}

function mintData(authority: Address, decimals: number): Buffer {
  const data = Buffer.alloc(82);
  data.writeUInt32LE(1, 0);
  data.set(bytesOf(authority), 4);
  data.writeBigUInt64LE(10n ** 15n, 36);
  data.writeUInt8(decimals, 44);
  data.writeUInt8(1, 45);
  return data;
}

/** An account of this owner with so many tokens. */
export const newTokenAccount = (node: SolanaNode, holding: Holding): Address => put(node, holdingData(holding));

/** The same of Token-2022. @param hasFees whether transfers to it are charged */
export function newTokenAccount2022(node: SolanaNode, holding: Holding, hasFees = false): Address {
  const data = holdingData(holding);
  const kept = hasFees ? extended(data, ACCOUNT, TRANSFER_FEE_AMOUNT, Buffer.alloc(8)) : data;
  return put(node, kept, TOKEN_2022_PROGRAM);
}

interface Holding {
  mint: Address;
  owner: Address;
  amount?: bigint;
  /** Who may take all of it beside its owner. */
  delegate?: Address;
  closeAuthority?: Address;
}

function holdingData({ mint, owner, amount = 0n, delegate, closeAuthority }: Holding): Buffer {
  const data = Buffer.alloc(165);
  data.set(bytesOf(mint), 0);
  data.set(bytesOf(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  if (delegate !== undefined) {
    data.writeUInt32LE(1, 72);
    data.set(bytesOf(delegate), 76);
    data.writeBigUInt64LE(amount, 121);
  }
  if (closeAuthority !== undefined) {
    data.writeUInt32LE(1, 129);
    data.set(bytesOf(closeAuthority), 133);
  }
  return data;
}

const writable = (address: Address) => ({ address, role: AccountRole.WRITABLE });
const signing = (address: Address) => ({ address, role: AccountRole.READONLY_SIGNER });
const instruction = (accounts: Instruction["accounts"], data: number[]): Instruction => ({
  programAddress: TOKEN_PROGRAM,
  accounts: accounts ?? [],
  data: Uint8Array.from(data),
});

export const moveTokens = (from: Address, to: Address, owner: Address, amount: bigint): Instruction =>
  instruction([writable(from), writable(to), signing(owner)], [3, ...u64(amount)]);

/** Of either program, with its mint and 6 decimals: what is withheld of it comes out of what is moved. */
export const moveCheckedTokens = (
  program: Address,
  { from, to, mint, owner }: { from: Address; to: Address; mint: Address; owner: Address },
  amount: bigint,
): Instruction => ({
  programAddress: program,
  accounts: [writable(from), { address: mint, role: AccountRole.READONLY }, writable(to), signing(owner)],
  data: Uint8Array.from([12, ...u64(amount), 6]),
});

export const makeTokens = (mint: Address, to: Address, authority: Address, amount: bigint): Instruction =>
  instruction([writable(mint), writable(to), signing(authority)], [7, ...u64(amount)]);

/** Lets somebody else take so many. */
export const approveTokens = (account: Address, delegate: Address, owner: Address, amount: bigint): Instruction =>
  instruction(
    [writable(account), { address: delegate, role: AccountRole.READONLY }, signing(owner)],
    [4, ...u64(amount)],
  );

/** Gives the account itself to somebody else (2), or the right to close it (3). */
export const passTokenAccount = (account: Address, owner: Address, to: Address, right: 2 | 3): Instruction =>
  instruction([writable(account), signing(owner)], [6, right, 1, ...bytesOf(to)]);

/** How many tokens an account holds. */
export const tokensIn = ({ svm }: SolanaNode, account: Address): bigint => {
  const found = svm.getAccount(account);
  return found.exists ? Buffer.from(found.data).readBigUInt64LE(64) : 0n;
};

/** Its rent goes to the wallet named. */
export const closeTokenAccount = (account: Address, to: Address, owner: Address): Instruction =>
  instruction([writable(account), writable(to), signing(owner)], [9]);
