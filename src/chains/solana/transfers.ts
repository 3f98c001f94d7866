import type { CompiledInstruction, MessageAccount } from "./transaction.ts";

/** A transfer of lamports by the System program. */
export type SystemTransfer = { from: string; to: string; amount: bigint };

/** A transfer between token accounts; `token_mint` is '' if the instruction does not name it. */
export type SplTransfer = {
  from: string;
  to: string;
  amount: bigint;
  /** The authority: the owner of `from`, or a delegate. */
  owner: string;
  /** The signers, if the owner is a multisignature account; otherwise empty. */
  signers: string[];
  token_mint: string;
};

export const SYSTEM_PROGRAM = "11111111111111111111111111111111";
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";

/** Where an instruction has the parts of a transfer: indexes of accounts, and the offset of the amount in the data. */
type Layout = {
  /** The data begins with these bytes. */
  readonly tag: readonly number[];
  /** The data has at least this length. The programs read no further, so this must not either. */
  readonly dataLength: number;
  readonly from: number;
  readonly to: number;
};

type SplLayout = Layout & { readonly owner: number; readonly mint?: number };

const TRANSFER: Layout = { tag: [2, 0, 0, 0], dataLength: 12, from: 0, to: 1 };
/** From a derived account whose base account, at index 1, signs; base, seed and owner of the derivation follow the amount. */
const TRANSFER_WITH_SEED = { tag: [11, 0, 0, 0], dataLength: 52, from: 0, to: 2 } satisfies Layout;

const SPL_TRANSFER: SplLayout = { tag: [3], dataLength: 9, from: 0, to: 1, owner: 2 };
const SPL_TRANSFER_CHECKED: SplLayout = { tag: [12], dataLength: 10, from: 0, mint: 1, to: 2, owner: 3 };
const SPL_TRANSFER_CHECKED_WITH_FEE: SplLayout = { tag: [26, 1], dataLength: 19, from: 0, mint: 1, to: 2, owner: 3 };

const SPL_LAYOUTS = new Map<string, readonly SplLayout[]>([
  [TOKEN_PROGRAM, [SPL_TRANSFER, SPL_TRANSFER_CHECKED]],
  [TOKEN_2022_PROGRAM, [SPL_TRANSFER, SPL_TRANSFER_CHECKED, SPL_TRANSFER_CHECKED_WITH_FEE]],
]);

/**
 * The transfer made by an instruction of the System program. Additional bytes and accounts make no difference, because the program ignores
 * them. An instruction that lacks some fails on the chain and is not a transfer.
 */
export function systemTransfer({ program, accounts, data }: CompiledInstruction): SystemTransfer | undefined {
  if (program.key !== SYSTEM_PROGRAM) return undefined;
  const layout = [TRANSFER, TRANSFER_WITH_SEED].find((each) => fits(each, data));
  return layout && moved(layout, accounts, data);
}

/** The data of a transfer by the System program. */
export function transferData(lamports: bigint): Buffer {
  const { tag, dataLength } = TRANSFER;
  const data = Buffer.alloc(dataLength);
  data.set(tag);
  data.writeBigUInt64LE(lamports, tag.length);
  return data;
}

/** The transfer made by an instruction of the Token program or of Token-2022, with the same tolerance. */
export function splTransfer({ program, accounts, data }: CompiledInstruction): SplTransfer | undefined {
  const layout = SPL_LAYOUTS.get(program.key)?.find((each) => fits(each, data));
  if (layout === undefined) return undefined;
  const transfer = moved(layout, accounts, data);
  const owner = accounts[layout.owner];
  if (transfer === undefined || owner === undefined) return undefined;
  // Accounts that do not sign may follow the owner too: those of a transfer hook, or any others.
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
