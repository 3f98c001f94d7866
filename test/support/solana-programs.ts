import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { AccountRole, type Address, getProgramDerivedAddress, type Instruction, lamports } from "@solana/kit";
import { SYSTEM_PROGRAM, TOKEN_PROGRAM } from "./solana.ts";
import type { SolanaNode } from "./solana-node.ts";

/** What other programs than those of tokens have and do. */

const LOOKUP_TABLES = "AddressLookupTab1e1111111111111111111111111" as Address;
const ASSOCIATED = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL" as Address;

/** The associated token account of an owner, whether it is there or not. */
export async function associated(owner: Address, mint: Address, program = TOKEN_PROGRAM): Promise<Address> {
  const seeds = [owner, program, mint].map((address) => base58.decode(address));
  return (await getProgramDerivedAddress({ programAddress: ASSOCIATED, seeds }))[0];
}

/** Makes that account, whether there is one already or not. */
export const makeAssociated = (
  payer: Address,
  owner: Address,
  mint: Address,
  account: Address,
  program = TOKEN_PROGRAM,
): Instruction => ({
  programAddress: ASSOCIATED,
  accounts: [
    { address: payer, role: AccountRole.WRITABLE_SIGNER },
    { address: account, role: AccountRole.WRITABLE },
    ...[owner, mint, SYSTEM_PROGRAM, program].map((address) => ({ address, role: AccountRole.READONLY })),
  ],
  data: Uint8Array.of(1),
});

/** Gives an account to a program. */
export const assign = (account: Address, program: Address): Instruction => ({
  programAddress: SYSTEM_PROGRAM,
  accounts: [{ address: account, role: AccountRole.WRITABLE_SIGNER }],
  data: Uint8Array.from([1, 0, 0, 0, ...base58.decode(program)]),
});

/** A lookup table that holds these. */
export function putLookupTable({ svm }: SolanaNode, addresses: readonly Address[]): Address {
  const data = Buffer.alloc(56 + 32 * addresses.length);
  data.writeUInt32LE(1, 0);
  data.writeBigUInt64LE(2n ** 64n - 1n, 4);
  data.set(Buffer.concat(addresses.map((address) => base58.decode(address))), 56);
  const address = base58.encode(randomBytes(32)) as Address;
  const rent = svm.minimumBalanceForRentExemption(BigInt(data.length));
  const account = { address, data, executable: false, lamports: lamports(rent), programAddress: LOOKUP_TABLES };
  svm.setAccount({ ...account, space: BigInt(data.length) });
  return address;
}
