import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { AccountRole, type Address, getU64Encoder, type Instruction, lamports } from "@solana/kit";
import { TOKEN_PROGRAM } from "./solana.ts";
import type { SolanaNode } from "./solana-node.ts";

/** Tokens of the Token program on a node of tests, as its instructions would leave them. */

const newAddress = (): Address => base58.encode(randomBytes(32)) as Address;
const bytesOf = (address: Address): Uint8Array => base58.decode(address);
const u64 = (amount: bigint): Uint8Array => Uint8Array.from(getU64Encoder().encode(amount));

function put({ svm }: SolanaNode, data: Buffer): Address {
  const address = newAddress();
  const rent = svm.minimumBalanceForRentExemption(BigInt(data.length));
  svm.setAccount({
    address,
    data,
    executable: false,
    lamports: lamports(rent),
    programAddress: TOKEN_PROGRAM,
    space: BigInt(data.length),
  });
  return address;
}

/** A token of which this authority can make as many as it likes. */
export function newMint(node: SolanaNode, authority: Address, decimals = 6): Address {
  const data = Buffer.alloc(82);
  data.writeUInt32LE(1, 0);
  data.set(bytesOf(authority), 4);
  data.writeBigUInt64LE(10n ** 15n, 36);
  data.writeUInt8(decimals, 44);
  data.writeUInt8(1, 45);
  return put(node, data);
}

/** An account of this owner with so many tokens. */
export function newTokenAccount(
  node: SolanaNode,
  { mint, owner, amount = 0n }: { mint: Address; owner: Address; amount?: bigint },
): Address {
  const data = Buffer.alloc(165);
  data.set(bytesOf(mint), 0);
  data.set(bytesOf(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  return put(node, data);
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
