import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { AccountRole, type Address, type Instruction, isSignerRole } from "@solana/kit";
import { Assembly } from "./sbf.ts";
import { addressOf } from "./solana.ts";

/**
 * A program of tests that does what it is told: it calls another program with the accounts and the data that it is given, and signs for its
 * vault. So a router that swaps honestly, and every one that does not, are lists of such calls.
 *
 * Its first account is the program to call, the others are that one's, each named once. Its data are the seed of the vault's address (one
 * byte), the vault's place among those accounts (255 where it is not among them), and the data of the call.
 */

const HEAP = 0x3_0000_0000n;
/** On the heap: the call and its seeds, its accounts' rights behind, and what it is told of accounts. */
const METAS = 0x100;
const INFOS = 0x1000;
const SEED = 64;
const SIGNER = 80;

/** As `sol_invoke_signed_c` takes it: the structures of Solana's C library. */
export const ROUTER_PROGRAM = new Assembly()
  .move(6, 1)
  .load(7, 6, 0)
  .add(6, 8)
  // The program to call has a place before the first of the rights, and so its key one where it is found again.
  .set(8, HEAP + BigInt(METAS - 16))
  .set(9, HEAP + BigInt(INFOS))
  .label("account")
  .jumpIf(7, 0, "call")
  .move(2, 6)
  .add(2, 8)
  .store(9, 0, 2)
  .store(8, 0, 2)
  .move(3, 6)
  .add(3, 72)
  .store(9, 8, 3)
  .load(4, 6, 80)
  .store(9, 16, 4)
  .add(3, 16)
  .store(9, 24, 3)
  .move(3, 6)
  .add(3, 40)
  .store(9, 32, 3)
  .loadByte(5, 6, 1)
  .storeByte(9, 48, 5)
  .storeByte(8, 9, 5)
  .loadByte(5, 6, 2)
  .storeByte(9, 49, 5)
  .storeByte(8, 8, 5)
  .loadByte(5, 6, 3)
  .storeByte(9, 50, 5)
  // Its data, room for them to grow, and its rent epoch.
  .add(4, 10_240 + 7)
  .mask(4, -8)
  .addFrom(6, 4)
  .add(6, 88 + 8)
  .add(8, 16)
  .add(9, 56)
  .add(7, -1)
  .jump("account")
  .label("call")
  .load(2, 6, 0)
  .add(6, 8)
  .set(4, HEAP + BigInt(METAS))
  .loadByte(3, 6, 1)
  .jumpIf(3, 255, "signed")
  .multiply(3, 16)
  .addFrom(3, 4)
  .set(5, 1n)
  .storeByte(3, 9, 5)
  .label("signed")
  .set(1, HEAP)
  .load(3, 1, METAS - 16)
  .store(1, 0, 3)
  .store(1, 8, 4)
  .subtract(8, 4)
  .divide(8, 16)
  .store(1, 16, 8)
  .move(3, 6)
  .add(3, 2)
  .store(1, 24, 3)
  .add(2, -2)
  .store(1, 32, 2)
  .store(1, SEED, 6)
  .set(5, 1n)
  .store(1, SEED + 8, 5)
  .move(3, 1)
  .add(3, SEED)
  .store(1, SIGNER, 3)
  .store(1, SIGNER + 8, 5)
  .set(2, HEAP + BigInt(INFOS))
  .move(3, 9)
  .subtract(3, 2)
  .divide(3, 56)
  .move(4, 1)
  .add(4, SIGNER)
  .call("sol_invoke_signed_c")
  .exit()
  .program();

export const ROUTER = addressOf(0x52);
const MARKER = Buffer.from("ProgramDerivedAddress");

/** An address that has no key: the first of those that the seed's byte makes. */
export const [VAULT_SEED, VAULT] = vault();

function vault(): [number, Address] {
  for (let seed = 0; seed < 256; seed++) {
    const hash = createHash("sha256").update(Buffer.of(seed)).update(base58.decode(ROUTER)).update(MARKER).digest();
    if (!isOnCurve(hash)) return [seed, base58.encode(hash) as Address];
  }
  throw new Error("the router has no vault");
}

/** Whether 32 bytes are a point of Ed25519 (RFC 8032): whether y has an x. */
function isOnCurve(bytes: Buffer): boolean {
  const p = 2n ** 255n - 19n;
  const power = (base: bigint, exponent: bigint): bigint => {
    let [result, square] = [1n, base % p];
    for (let left = exponent; left > 0n; left >>= 1n) {
      if (left & 1n) result = (result * square) % p;
      square = (square * square) % p;
    }
    return result;
  };
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) & (2n ** 255n - 1n);
  const d = (-121_665n * power(121_666n, p - 2n)) % p;
  const square = (((y * y - 1n) % p) * power((d * y * y + 1n + p * p) % p, p - 2n)) % p;
  const x2 = (square + p) % p;
  return x2 === 0n || power(x2, (p - 1n) / 2n) === 1n;
}

/** The instruction by which the router makes a call; it signs for its vault where that has to. */
export function throughRouter({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Instruction {
  const place = accounts.findIndex(({ address }) => address === VAULT);
  return {
    programAddress: ROUTER,
    accounts: [
      { address: programAddress, role: AccountRole.READONLY },
      ...accounts.map(({ address, role }) =>
        address === VAULT && isSignerRole(role)
          ? { address, role: role === AccountRole.WRITABLE_SIGNER ? AccountRole.WRITABLE : AccountRole.READONLY }
          : { address, role },
      ),
    ],
    data: Uint8Array.from([VAULT_SEED, place === -1 ? 255 : place, ...data]),
  };
}
