import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import type { CompiledInstruction, MessageAccount } from "./transaction.ts";
import { SYSTEM_PROGRAM, systemTransfer } from "./transfers.ts";

/** How the System program creates accounts, and who pays the lamports. */
export type AccountStep =
  /** An account gets data or another owner. */
  { does: "make"; account: string } | { does: "pay"; from: string; to: string; lamports: bigint };

const CREATE = 0;
const ASSIGN = 1;
const CREATE_WITH_SEED = 3;
const ALLOCATE = 8;
const ALLOCATE_WITH_SEED = 9;
const ASSIGN_WITH_SEED = 10;
/** For instructions with a seed: the number of bytes between the seed and the owner. */
const SEEDED: Readonly<Record<number, number>> = {
  [CREATE_WITH_SEED]: 16,
  [ALLOCATE_WITH_SEED]: 8,
  [ASSIGN_WITH_SEED]: 0,
};
const MAKING: readonly number[] = [ASSIGN, ALLOCATE, ALLOCATE_WITH_SEED, ASSIGN_WITH_SEED];

/** The steps of a transaction's instruction; none if it neither creates nor pays anything. */
export function accountSteps(instruction: CompiledInstruction): AccountStep[] {
  const { program, accounts, data } = instruction;
  if (program.key !== SYSTEM_PROGRAM || data.length < 4) return [];
  const transfer = systemTransfer(instruction);
  if (transfer) return [{ does: "pay", from: transfer.from, to: transfer.to, lamports: transfer.amount }];
  const kind = data.readUInt32LE();
  const [first, second] = accounts;
  if (MAKING.includes(kind) && first) return [{ does: "make", account: addressOf(first, kind, data) }];
  const lamports = kind === CREATE ? readU64(data, 4) : kind === CREATE_WITH_SEED ? lamportsWithSeed(data) : undefined;
  if (lamports === undefined || !first || !second) return [];
  return created(first.key, addressOf(second, kind, data), lamports);
}

/** A lookup table may supply an account that does not sign; the address of such an account is derived from a seed. */
const addressOf = ({ key, lookup }: MessageAccount, kind: number, data: Buffer): string =>
  (lookup && seededAddress(kind, data)) ?? key;

/** In base58; undefined if the data ends too early. */
function seededAddress(kind: number, data: Buffer): string | undefined {
  const [seed, between] = [seedOf(data), SEEDED[kind]];
  if (seed === undefined || between === undefined) return undefined;
  const ownerAt = SEED_AT + seed.length + between;
  const owner = data.subarray(ownerAt, ownerAt + KEY_LENGTH);
  if (owner.length < KEY_LENGTH) return undefined;
  return base58.encode(createHash("sha256").update(data.subarray(4, 36)).update(seed).update(owner).digest());
}

const created = (from: string, account: string, lamports: bigint): AccountStep[] => [
  { does: "make", account },
  { does: "pay", from, to: account, lamports },
];

const KEY_LENGTH = 32;
/** The base of 32 bytes comes first, followed by the seed's length and the seed. */
const SEED_AT = 44;

function seedOf(data: Buffer): Buffer | undefined {
  const length = readU64(data, 36);
  return length === undefined || length > 32n ? undefined : data.subarray(SEED_AT, SEED_AT + Number(length));
}

function lamportsWithSeed(data: Buffer): bigint | undefined {
  const seed = seedOf(data);
  return seed && readU64(data, SEED_AT + seed.length);
}

const readU64 = (data: Buffer, at: number): bigint | undefined =>
  data.length >= at + 8 ? data.readBigUInt64LE(at) : undefined;

/** The same for an inner instruction, as nodes parse those of the System program. */
export function parsedAccountSteps({
  programId,
  type,
  info,
}: {
  programId: string;
  type: string;
  info: Record<string, unknown>;
}): AccountStep[] {
  if (programId !== SYSTEM_PROGRAM) return [];
  const { source, newAccount, destination, account } = info;
  const lamports = Number.isSafeInteger(info.lamports) ? BigInt(info.lamports as number) : undefined;
  if (typeof account === "string" && /^(allocate|assign)/.test(type)) return [{ does: "make", account }];
  if (typeof source !== "string" || lamports === undefined) return [];
  if (typeof newAccount === "string" && /^createAccount/.test(type)) return created(source, newAccount, lamports);
  if (typeof destination !== "string" || !/^transfer/.test(type)) return [];
  return [{ does: "pay", from: source, to: destination, lamports }];
}
