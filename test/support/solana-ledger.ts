import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { type Address, getCompiledTransactionMessageDecoder, type Transaction } from "@solana/kit";
import { FailedTransactionMetadata, type LiteSVM, type TransactionMetadata } from "litesvm";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./solana.ts";

/** The blocks of a cluster of one, in the words of Agave's `getBlock`. */

type Json = Record<string, unknown>;

interface LedgerBlock {
  slot: number;
  hash: string;
  transactions: LedgerTransaction[];
  timeMs: number;
}

export interface LedgerTransaction {
  signature: string;
  full: Json;
  accounts: Json;
}

/** What `getBlock` is answered with where there is no block to show. */
export const missing = {
  forgotten: (slot: number, first: number) => ({
    code: -32_001,
    message: `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
  }),
  notYet: (slot: number) => ({ code: -32_004, message: `Block not available for slot ${slot}` }),
  skipped: (slot: number) => ({
    code: -32_007,
    message: `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
  }),
};

export class SolanaLedger {
  /** In the order of their slots. */
  readonly #blocks = new Map<number, LedgerBlock>();
  #firstSlot = 0;

  add(slot: number, hash: string): void {
    this.#blocks.set(slot, { slot, hash, transactions: [], timeMs: Date.now() });
    // As much as any test looks back on.
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > 2000) this.#blocks.delete(oldest as number);
  }

  land(slot: number, transaction: LedgerTransaction): void {
    this.#blocks.get(slot)?.transactions.push(transaction);
  }

  /** Gives all slots after this one other blocks without transactions; the signatures of those that were there. */
  forkAfter(slot: number): string[] {
    const gone = [...this.#blocks.values()].filter((block) => block.slot > slot);
    for (const block of gone) {
      this.#blocks.set(block.slot, { ...block, hash: base58.encode(randomBytes(32)), transactions: [] });
    }
    return gone.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
  }

  forgetBefore(slot: number): void {
    this.#firstSlot = slot;
  }

  get firstSlot(): number {
    return [...this.#blocks.keys()].find((slot) => slot >= this.#firstSlot) ?? this.#firstSlot;
  }

  slots(from: number, to: number): number[] {
    return [...this.#blocks.keys()].filter((slot) => slot >= Math.max(from, this.#firstSlot) && slot <= to);
  }

  /** A transaction as `getTransaction` shows it, of a block that is no newer than this. */
  transaction(signature: string, newest: number): Json | null {
    for (const { slot, timeMs, transactions } of this.#blocks.values()) {
      const found = transactions.find((one) => one.signature === signature);
      if (found) return slot > newest ? null : { slot, blockTime: Math.floor(timeMs / 1000), ...found.full };
    }
    return null;
  }

  block(slot: number, newest: number, options: Json): { result: Json } | { fault: { code: number; message: string } } {
    if (slot < this.#firstSlot) return { fault: missing.forgotten(slot, this.firstSlot) };
    if (slot > newest) return { fault: missing.notYet(slot) };
    const block = this.#blocks.get(slot);
    if (!block) return { fault: missing.skipped(slot) };
    const parent = [...this.#blocks.values()].filter((other) => other.slot < slot).at(-1);
    const shown = {
      none: {},
      signatures: { signatures: block.transactions.map(({ signature }) => signature) },
      accounts: { transactions: block.transactions.map(({ accounts }) => accounts) },
      full: { transactions: block.transactions.map(({ full }) => full) },
    }[String(options.transactionDetails ?? "full")];
    return {
      result: {
        blockHeight: slot,
        blockTime: Math.floor(block.timeMs / 1000),
        blockhash: block.hash,
        parentSlot: parent?.slot ?? slot - 1,
        previousBlockhash: parent?.hash ?? base58.encode(Buffer.alloc(32)),
        ...shown,
      },
    };
  }
}

type Outcome = TransactionMetadata | FailedTransactionMetadata;

/** Runs a transaction, and keeps what nodes tell of it. */
export function executed(
  svm: LiteSVM,
  transaction: Transaction,
  { signatures, run, errorOf }: { signatures: string[]; run: () => Outcome; errorOf: (result: Outcome) => unknown },
): { result: Outcome; landed: LedgerTransaction } {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1) throw new Error("version 1 is not run here");
  const { staticAccounts, header, version } = message;
  const loaded = loadedBy(svm, "addressTableLookups" in message ? (message.addressTableLookups ?? []) : []);
  const keys = [...staticAccounts, ...loaded.writable, ...loaded.readonly];
  const before = stateOf(svm, keys);
  const result = run();
  const after = stateOf(svm, keys);
  const err = errorOf(result) ?? null;
  const meta = result instanceof FailedTransactionMetadata ? result.meta() : result;
  const sum = (balances: bigint[]) => balances.reduce((total, one) => total + one, 0n);
  const outcome = {
    err,
    status: err === null ? { Ok: null } : { Err: err },
    fee: Number(sum(before.lamports) - sum(after.lamports)),
    preBalances: before.lamports.map(Number),
    postBalances: after.lamports.map(Number),
    preTokenBalances: before.tokens,
    postTokenBalances: after.tokens,
  };
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  const isWritable = (index: number) =>
    index < staticAccounts.length
      ? index < numSignerAccounts - numReadonlySignerAccounts ||
        (index >= numSignerAccounts && index < staticAccounts.length - numReadonlyNonSignerAccounts)
      : index < staticAccounts.length + loaded.writable.length;
  const signature = signatures[0] as string;
  const full = {
    version,
    transaction: {
      signatures,
      message: {
        header: {
          numRequiredSignatures: numSignerAccounts,
          numReadonlySignedAccounts: numReadonlySignerAccounts,
          numReadonlyUnsignedAccounts: numReadonlyNonSignerAccounts,
        },
        accountKeys: [...staticAccounts],
        recentBlockhash: message.lifetimeToken,
        instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
          programIdIndex: programAddressIndex,
          accounts: [...accountIndices],
          data: base58.encode(Uint8Array.from(data ?? [])),
          stackHeight: 1,
        })),
      },
    },
    meta: {
      ...outcome,
      innerInstructions: innerOf(meta),
      logMessages: meta.logs(),
      loadedAddresses: loaded,
      computeUnitsConsumed: Number(meta.computeUnitsConsumed()),
      rewards: null,
    },
  };
  const accountKeys = keys.map((pubkey, index) => ({
    pubkey,
    signer: index < numSignerAccounts,
    writable: isWritable(index),
    source: index < staticAccounts.length ? "transaction" : "lookupTable",
  }));
  return {
    result,
    landed: { signature, full, accounts: { version, transaction: { signatures, accountKeys }, meta: outcome } },
  };
}

/** All accounts of a transaction by their places, those of lookup tables included. */
export function keysOf(svm: LiteSVM, { messageBytes }: Pick<Transaction, "messageBytes">): Address[] {
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version === 1) throw new Error("version 1 is not run here");
  const loaded = loadedBy(svm, "addressTableLookups" in message ? (message.addressTableLookups ?? []) : []);
  return [...message.staticAccounts, ...loaded.writable, ...loaded.readonly];
}

export const innerOf = (meta: TransactionMetadata) =>
  meta.innerInstructions().flatMap((called, index) =>
    called.length === 0
      ? []
      : {
          index,
          instructions: called.map((each) => {
            const instruction = each.instruction();
            return {
              programIdIndex: instruction.programIdIndex(),
              accounts: [...instruction.accounts()],
              data: base58.encode(instruction.data()),
              stackHeight: each.stackHeight(),
            };
          }),
        },
  );

/** After the 56 bytes of its own, a lookup table is a list of addresses. */
const TABLE_HEADER = 56;

type Lookup = {
  lookupTableAddress: Address;
  writableIndexes: readonly number[];
  readonlyIndexes: readonly number[];
};

function loadedBy(svm: LiteSVM, lookups: readonly Lookup[]): { writable: Address[]; readonly: Address[] } {
  const loaded = (kind: "writableIndexes" | "readonlyIndexes") =>
    lookups.flatMap((lookup) => {
      const table = svm.getAccount(lookup.lookupTableAddress);
      const data = table.exists ? Buffer.from(table.data) : Buffer.alloc(0);
      return lookup[kind].map((index) => {
        const at = TABLE_HEADER + 32 * index;
        return base58.encode(data.subarray(at, at + 32)) as Address;
      });
    });
  return { writable: loaded("writableIndexes"), readonly: loaded("readonlyIndexes") };
}

function stateOf(svm: LiteSVM, keys: readonly Address[]) {
  const accounts = keys.map((key) => svm.getAccount(key));
  return {
    lamports: accounts.map((account) => (account.exists ? BigInt(account.lamports) : 0n)),
    tokens: accounts.flatMap((account, accountIndex) => {
      const held = account.exists ? tokensIn(account.programAddress, Buffer.from(account.data)) : undefined;
      if (!account.exists || !held) return [];
      const { mint, owner, amount } = held;
      const mintAccount = svm.getAccount(mint);
      const decimals = mintAccount.exists ? (mintAccount.data[44] ?? 0) : 0;
      const uiTokenAmount = { amount: String(amount), decimals, uiAmountString: String(amount) };
      return { accountIndex, mint, owner, programId: account.programAddress, uiTokenAmount };
    }),
  };
}

/** What a token account holds; undefined for any other account. */
export function tokensIn(
  program: Address,
  data: Buffer,
): { mint: Address; owner: Address; amount: bigint } | undefined {
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return undefined;
  const isAccount = data.length === 165 || (data.length > 165 && data[165] === 2);
  if (!isAccount || data[108] === 0) return undefined;
  const key = (at: number) => base58.encode(data.subarray(at, at + 32)) as Address;
  return { mint: key(0), owner: key(32), amount: data.readBigUInt64LE(64) };
}
