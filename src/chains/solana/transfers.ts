import type { CompiledInstruction, MessageAccount } from "./transaction.ts";

/** Lamports moved by the System program. */
export type SystemTransfer = { from: string; to: string; amount: bigint };

/** Tokens moved between token accounts; `token_mint` is '' where the instruction does not name it. */
export type SplTransfer = {
  from: string;
  to: string;
  amount: bigint;
  /** Who allows it: the owner of `from`, or a delegate. */
  owner: string;
  /** Those who sign for an owner that is a multisignature account; empty for any other. */
  signers: string[];
  token_mint: string;
};

export const SYSTEM_PROGRAM = "11111111111111111111111111111111";
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";

/** Where an instruction has what makes up a transfer: positions of accounts, and of the amount in the data. */
type Layout = {
  /** The data begin with these bytes ... */
  readonly tag: readonly number[];
  /** ... and have at least this length. The programs read no further, and neither must this. */
  readonly dataLength: number;
  readonly from: number;
  readonly to: number;
};

type SplLayout = Layout & { readonly owner: number; readonly mint?: number };

const TRANSFER: Layout = { tag: [2, 0, 0, 0], dataLength: 12, from: 0, to: 1 };
/** From an account that the signer at position 1 derived; base, seed and owner of the derivation follow the amount. */
const TRANSFER_WITH_SEED = { tag: [11, 0, 0, 0], dataLength: 52, from: 0, to: 2 } satisfies Layout;

const SPL_TRANSFER: SplLayout = { tag: [3], dataLength: 9, from: 0, to: 1, owner: 2 };
const SPL_TRANSFER_CHECKED: SplLayout = { tag: [12], dataLength: 10, from: 0, mint: 1, to: 2, owner: 3 };
const SPL_TRANSFER_CHECKED_WITH_FEE: SplLayout = { tag: [26, 1], dataLength: 19, from: 0, mint: 1, to: 2, owner: 3 };

const SPL_LAYOUTS = new Map<string, readonly SplLayout[]>([
  [TOKEN_PROGRAM, [SPL_TRANSFER, SPL_TRANSFER_CHECKED]],
  [TOKEN_2022_PROGRAM, [SPL_TRANSFER, SPL_TRANSFER_CHECKED, SPL_TRANSFER_CHECKED_WITH_FEE]],
]);

/**
 * The transfer that an instruction of the System program is. Bytes and accounts beyond those it needs make no difference,
 * because the program ignores them; one that lacks some fails on the chain and is none.
 */
export function systemTransfer({ program, accounts, data }: CompiledInstruction): SystemTransfer | undefined {
  if (program.key !== SYSTEM_PROGRAM) return undefined;
  const layout = [TRANSFER, TRANSFER_WITH_SEED].find((each) => fits(each, data));
  return layout && moved(layout, accounts, data);
}

/** The data of a transfer of the System program. */
export function transferData(lamports: bigint): Buffer {
  const { tag, dataLength } = TRANSFER;
  const data = Buffer.alloc(dataLength);
  data.set(tag);
  data.writeBigUInt64LE(lamports, tag.length);
  return data;
}

/** The transfer that an instruction of the Token program or of Token-2022 is, with the same tolerance. */
export function splTransfer({ program, accounts, data }: CompiledInstruction): SplTransfer | undefined {
  const layout = SPL_LAYOUTS.get(program.key)?.find((each) => fits(each, data));
  if (layout === undefined) return undefined;
  const transfer = moved(layout, accounts, data);
  const owner = accounts[layout.owner];
  if (transfer === undefined || owner === undefined) return undefined;
  // Accounts that do not sign follow the owner too: those of a transfer hook, or anything.
  const signers = accounts.slice(layout.owner + 1).filter(({ signer }) => signer);
  const mint = layout.mint === undefined ? undefined : accounts[layout.mint];
  return { ...transfer, owner: owner.key, signers: signers.map(({ key }) => key), token_mint: mint?.key ?? "" };
}

const fits = ({ tag, dataLength }: Layout, data: Buffer): boolean =>
  data.length >= dataLength && tag.every((byte, index) => data[index] === byte);

function moved(layout: Layout, accounts: readonly MessageAccount[], data: Buffer): SystemTransfer | undefined {
  const from = accounts[layout.from];
  const to = accounts[layout.to];
  if (from === undefined || to === undefined) return undefined;
  return { from: from.key, to: to.key, amount: data.readBigUInt64LE(layout.tag.length) };
}
