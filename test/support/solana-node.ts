import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { base58 } from "@scure/base";
import { type Address, type EncodedAccount, getTransactionDecoder, lamports, type Transaction } from "@solana/kit";
import { FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from "litesvm";
import { compiled, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./solana.ts";
import { executed, innerOf, keysOf, SolanaLedger, tokensIn } from "./solana-ledger.ts";
import { type SolanaRpc, solanaNodeAt, TEST_GENESIS } from "./solana-rpc.ts";
import { newStranger, transfer } from "./solana-sender.ts";

/**
 * A node of a Solana cluster of one: JSON-RPC in the words of Agave, over litesvm. It has slots of 400 ms, blockhashes that 150 blocks
 * know, and commitments: a block is processed at once, confirmed after 1 slot and final after 32. Blocks that pass by themselves and not
 * by `pass` age blockhashes at a tenth of that: what a busy machine takes its time for is not too late on the chain.
 */

const SLOT_MS = 400;
const FINAL_AFTER_SLOTS = 32;
const BLOCKHASH_AGE = 150;
const AGEING = 0.1;
const MAX_BYTES = 1232;
const FAUCET_LAMPORTS = 500_000n * 1_000_000_000n;

export interface SolanaNode extends SolanaRpc {
  svm: LiteSVM;
  /** Has so many blocks pass at once. */
  pass(blocks: number): void;
  /** Has so many slots pass without a block. */
  skip(slots: number): void;
  /**
   * The chain goes on from an earlier block: the newest so many slots get other blocks, and what was in them has not happened. What it did
   * to accounts stays done, which no node would leave so.
   */
  fork(slots: number): void;
  /** Forgets the blocks of all slots before this one, as nodes do that keep a bounded ledger. */
  forgetBefore(slot: number): void;
  close(): Promise<void>;
}

type Json = Record<string, unknown>;
class RpcFault extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Landed {
  slot: number;
  err: unknown;
}

/** @param standsStill whether blocks pass with transactions and by `pass` alone, so that nothing is final before a test says so */
export async function startSolanaNode({ genesis = TEST_GENESIS, standsStill = false } = {}): Promise<SolanaNode> {
  // Blockhashes are held to their age here: litesvm knows the newest alone.
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  const start = Date.now();
  let passed = 1000;
  let seenSlot = 0;
  /** By blockhash, the slot of its block, and when it was made. */
  const blockhashes = new Map<string, { slot: number; atMs: number }>();
  const landed = new Map<string, Landed>();
  /** By messages, the signatures of transactions with them. */
  const executedAs = new Map<string, string>();
  const ledger = new SolanaLedger();
  const faucet = newStranger();
  svm.airdrop(faucet.address, lamports(FAUCET_LAMPORTS));

  /** The slot that it is. Each has a block with a blockhash of its own; those that nobody looked at are made up for while they count. */
  const newestSlot = (): number => {
    const slot = passed + (standsStill ? 0 : Math.floor((Date.now() - start) / SLOT_MS));
    while (seenSlot < slot) {
      seenSlot = Math.max(seenSlot + 1, slot - BLOCKHASH_AGE);
      svm.warpToSlot(BigInt(seenSlot));
      svm.expireBlockhash();
      blockhashes.set(svm.latestBlockhash(), { slot: seenSlot, atMs: Date.now() });
      ledger.add(seenSlot, svm.latestBlockhash());
    }
    return slot;
  };
  const slotAt = (commitment: unknown): number =>
    newestSlot() - ({ processed: 0, confirmed: 1 }[String(commitment)] ?? FINAL_AFTER_SLOTS);
  const isValid = (blockhash: string, atSlot: number): boolean => {
    const made = blockhashes.get(blockhash);
    if (made === undefined || made.slot > atSlot) return false;
    const forgiven = standsStill ? 0 : Math.floor(((1 - AGEING) * (Date.now() - made.atMs)) / SLOT_MS);
    return atSlot - made.slot <= BLOCKHASH_AGE + forgiven;
  };
  const inContext = (slot: number, value: unknown) => ({ context: { slot, apiVersion: "2.3.6" }, value });

  const tryOut = (wire: Buffer, transaction: Transaction, wanted: Json = {}) => {
    const fails = (err: unknown) => ({ err, logs: [], unitsConsumed: 0, innerInstructions: null });
    const slot = newestSlot();
    if (wanted.replaceRecentBlockhash !== true && !isValid(blockhashOf(wire), slot)) return fails("BlockhashNotFound");
    // By what is signed: that is how nodes know it when it is tried out without signatures.
    if (landed.has(executedAs.get(messageIn(wire)) ?? "")) return fails("AlreadyProcessed");
    svm.withSigverify(wanted.sigVerify !== false);
    const result = svm.simulateTransaction(transaction);
    svm.withSigverify(true);
    const { addresses } = (wanted.accounts ?? {}) as { addresses?: Address[] };
    const after = result instanceof FailedTransactionMetadata ? [] : result.postAccounts();
    return {
      err: errorOf(result),
      ...metaOf(result.meta(), wanted.innerInstructions === true ? keysOf(svm, transaction) : undefined),
      accounts: addresses ? addresses.map((address) => shownAfter(after, address)) : null,
    };
  };
  type Shown = { data: ArrayLike<number>; lamports: bigint; programAddress: Address };
  const shown = (account: Shown | undefined, { offset = 0, length = account?.data.length ?? 0 } = {}) =>
    account
      ? {
          data: [
            Buffer.from(Uint8Array.from(account.data).subarray(offset, offset + length)).toString("base64"),
            "base64",
          ],
          executable: false,
          lamports: Number(account.lamports),
          owner: account.programAddress,
          rentEpoch: 0,
          space: account.data.length,
        }
      : null;
  /** As nodes show accounts after a simulation: those that it did not load as they are, and closed ones without lamports. */
  const shownAfter = (after: readonly EncodedAccount[], address: Address) => {
    const account = after.find((each) => each.address === address) ?? svm.getAccount(address);
    return shown("exists" in account && !account.exists ? undefined : (account as EncodedAccount));
  };

  /** Runs it, and has it in the newest block if it was more than looked at. */
  const run = (wire: Buffer, transaction: Transaction): unknown => {
    const slot = newestSlot();
    const signatures = Array.from({ length: wire.readUInt8(0) }, (_, index) =>
      base58.encode(wire.subarray(1 + 64 * index, 65 + 64 * index)),
    );
    const { result, landed: shown } = executed(svm, transaction, {
      signatures,
      run: () => svm.sendTransaction(transaction),
      errorOf,
    });
    const err = errorOf(result);
    const isExecuted = err === null || typeof err === "object";
    if (isExecuted) {
      landed.set(shown.signature, { slot, err });
      executedAs.set(messageIn(wire), shown.signature);
      ledger.land(slot, shown);
      if (standsStill) passed++;
    }
    return err;
  };

  const methods: Record<string, (params: unknown[]) => unknown> = {
    getGenesisHash: () => genesis,
    getHealth: () => "ok",
    getSlot: ([options]) => slotAt((options as Json | undefined)?.commitment),
    getBlockHeight: ([options]) => slotAt((options as Json | undefined)?.commitment),
    getLatestBlockhash([options]) {
      const slot = slotAt((options as Json | undefined)?.commitment);
      newestSlot();
      const made = [...blockhashes].map(([blockhash, { slot: at }]) => ({ blockhash, at }));
      const { blockhash, at } = made.findLast((each) => each.at <= slot) ?? (made.at(-1) as (typeof made)[number]);
      return inContext(slot, { blockhash, lastValidBlockHeight: at + BLOCKHASH_AGE });
    },
    isBlockhashValid([blockhash, options]) {
      const slot = slotAt((options as Json | undefined)?.commitment);
      return inContext(slot, isValid(String(blockhash), slot));
    },
    getSignatureStatuses([signatures]) {
      const slot = newestSlot();
      const statusOf = (signature: string) => {
        const found = landed.get(signature);
        if (!found) return null;
        const depth = slot - found.slot;
        const isFinal = depth >= FINAL_AFTER_SLOTS;
        const confirmationStatus = isFinal ? "finalized" : depth > 0 ? "confirmed" : "processed";
        const { err } = found;
        const status = err === null ? { Ok: null } : { Err: err };
        return { slot: found.slot, confirmations: isFinal ? null : depth, err, status, confirmationStatus };
      };
      return inContext(slot, (signatures as string[]).map(statusOf));
    },
    simulateTransaction([encoded, options]) {
      const { wire, transaction } = decoded(encoded, options);
      const { sigVerify = false, ...wanted } = (options ?? {}) as Json;
      return inContext(newestSlot(), {
        accounts: null,
        returnData: null,
        ...tryOut(wire, transaction, { ...wanted, sigVerify }),
      });
    },
    sendTransaction([encoded, options]) {
      const { wire, transaction } = decoded(encoded, options);
      const signature = signatureOf(wire);
      const unsigned = new RpcFault(-32_003, "Transaction signature verification failure");
      // litesvm cannot read one whose signatures are zeros.
      if (wire.subarray(1, 65).every((byte) => byte === 0)) throw unsigned;
      const { err, ...meta } = tryOut(wire, transaction);
      if (err === "SignatureFailure") throw unsigned;
      if (err !== null && (options as Json | undefined)?.skipPreflight !== true) {
        const message = `Transaction simulation failed: ${JSON.stringify(err)}`;
        throw new RpcFault(-32_002, message, { err, accounts: null, returnData: null, ...meta });
      }
      // Without being tried out, what is too old or there already is forwarded, and no leader takes it.
      if (err === "BlockhashNotFound" || err === "AlreadyProcessed") return signature;
      run(wire, transaction);
      return signature;
    },
    getBlock([slot, options]) {
      const wanted = (options ?? {}) as Json;
      if (wanted.encoding !== "json") throw new RpcFault(-32_602, "only json is shown here");
      const shown = ledger.block(Number(slot), slotAt(wanted.commitment), wanted);
      if ("fault" in shown) throw new RpcFault(shown.fault.code, shown.fault.message);
      return shown.result;
    },
    getTransaction: ([signature, options]) =>
      ledger.transaction(String(signature), slotAt((options as Json | undefined)?.commitment)),
    getBlocks: ([from, to, options]) =>
      ledger.slots(Number(from), Math.min(Number(to), slotAt((options as Json | undefined)?.commitment))),
    getBlocksWithLimit: ([from, limit, options]) =>
      ledger.slots(Number(from), slotAt((options as Json | undefined)?.commitment)).slice(0, Number(limit)),
    getFirstAvailableBlock: () => ledger.firstSlot,
    getTokenAccountsByOwner([owner, filter, options]) {
      const { programId } = filter as { programId: Address };
      if (programId !== TOKEN_PROGRAM && programId !== TOKEN_2022_PROGRAM)
        throw new RpcFault(-32_602, "unknown program");
      const { offset, length } = (options as { dataSlice: { offset: number; length: number } }).dataSlice;
      const owned = svm
        .getProgramAccounts(programId)
        .filter(({ data }) => tokensIn(programId, Buffer.from(data))?.owner === owner);
      return inContext(
        newestSlot(),
        owned.map(({ address: pubkey, data, lamports: rent }) => ({
          pubkey,
          account: {
            data: [
              Buffer.from(data)
                .subarray(offset, offset + length)
                .toString("base64"),
              "base64",
            ],
            executable: false,
            lamports: Number(rent),
            owner: programId,
            rentEpoch: 0,
            space: data.length,
          },
        })),
      );
    },
    getMultipleAccounts: ([addresses, options]) =>
      inContext(
        newestSlot(),
        (addresses as Address[]).map((address) => {
          const account = svm.getAccount(address);
          const { dataSlice } = (options ?? {}) as { dataSlice?: { offset: number; length: number } };
          return shown(account.exists ? account : undefined, dataSlice);
        }),
      ),
    getRecentPrioritizationFees: () => [{ slot: newestSlot(), prioritizationFee: 0 }],
    getBalance: ([address]) => inContext(newestSlot(), Number(svm.getBalance(address as Address) ?? 0n)),
    getMinimumBalanceForRentExemption: ([size]) => Number(svm.minimumBalanceForRentExemption(BigInt(Number(size)))),
    requestAirdrop([address, amount]) {
      newestSlot();
      const instructions = [transfer(faucet.address, address as Address, BigInt(Number(amount)))];
      const blockhash = svm.latestBlockhash();
      const wire = faucet.sign(compiled({ version: "legacy", payer: faucet.address, blockhash, instructions }));
      if (run(wire, getTransactionDecoder().decode(wire)) !== null) throw new RpcFault(-32_603, "no airdrop");
      return signatureOf(wire);
    },
  };

  const answer = (method: string, params: unknown[]): Json => {
    try {
      const act = methods[method];
      if (!act) throw new RpcFault(-32_601, "Method not found");
      return { result: act(params) };
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      const { code, message, data } = error;
      return { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { id, method, params = [] } = JSON.parse(Buffer.concat(chunks).toString());
      const body = JSON.stringify({ jsonrpc: "2.0", id, ...answer(method, params) });
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...solanaNodeAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    svm,
    pass(blocks) {
      passed += blocks;
    },
    skip(slots) {
      newestSlot();
      passed += slots;
      // The next slot has a block, whenever somebody looks.
      seenSlot += slots - 1;
    },
    fork(slots) {
      for (const signature of ledger.forkAfter(newestSlot() - slots)) landed.delete(signature);
    },
    forgetBefore: (slot) => ledger.forgetBefore(slot),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function decoded(encoded: unknown, options: unknown): { wire: Buffer; transaction: Transaction } {
  const { encoding = "base58" } = (options ?? {}) as { encoding?: string };
  const text = String(encoded);
  const wire = Buffer.from(encoding === "base64" ? Buffer.from(text, "base64") : base58.decode(text));
  if (wire.length > MAX_BYTES) {
    throw new RpcFault(
      -32_602,
      `decoded solana_transaction::Transaction too large: ${wire.length} bytes (max: ${MAX_BYTES} bytes)`,
    );
  }
  try {
    return { wire, transaction: getTransactionDecoder().decode(wire) };
  } catch {
    throw new RpcFault(-32_602, "failed to deserialize solana_transaction::versioned::VersionedTransaction");
  }
}

const messageIn = (wire: Buffer): string => wire.toString("base64", 1 + 64 * wire.readUInt8(0));
const signatureOf = (wire: Buffer): string => base58.encode(wire.subarray(1, 65));

/** After the signatures, the version if there is one, three counts and the keys, so few that each number is one byte. */
function blockhashOf(wire: Buffer): string {
  const message = wire.subarray(1 + 64 * wire.readUInt8(0));
  const header = message.readUInt8(0) >= 0x80 ? 4 : 3;
  const at = header + 1 + 32 * message.readUInt8(header);
  return base58.encode(message.subarray(at, at + 32));
}

/** The error as nodes write it in JSON, from what litesvm writes in Rust's way; null where there is none. */
function errorOf(result: unknown): unknown {
  if (!(result instanceof FailedTransactionMetadata)) return null;
  const text = result.toString();
  const instruction = /err: InstructionError\((\d+), (\w+)(?:\((\d+)\))?/.exec(text);
  if (instruction) {
    const [, index, name = "", code] = instruction;
    return { InstructionError: [Number(index), code === undefined ? name : { [name]: Number(code) }] };
  }
  const withAccount = /err: (\w+) \{ account_index: (\d+) \}/.exec(text);
  if (withAccount) return { [withAccount[1] as string]: { account_index: Number(withAccount[2]) } };
  return /err: (\w+)/.exec(text)?.[1] ?? "SanitizeFailure";
}

/** @param keys where inner instructions are wanted */
const metaOf = (meta: TransactionMetadata, keys?: readonly string[]) => ({
  logs: meta.logs(),
  unitsConsumed: Number(meta.computeUnitsConsumed()),
  innerInstructions: keys ? innerOf(meta).map((each) => parsedInner(each, keys)) : [],
});

type Inner = ReturnType<typeof innerOf>[number];

/** Those of the System program as nodes parse them; of others what they call, and no more. */
function parsedInner({ index, instructions }: Inner, keys: readonly string[]) {
  return {
    index,
    instructions: instructions.map(({ programIdIndex, accounts, data: encoded, stackHeight }) => {
      const programId = keys[programIdIndex] as string;
      const named = accounts.map((each) => keys[each] as string);
      const parsed =
        programId === SYSTEM_PROGRAM ? parsedSystem(named, Buffer.from(base58.decode(encoded))) : undefined;
      return parsed
        ? { program: "system", programId, parsed, stackHeight }
        : { programId, accounts: named, data: encoded, stackHeight };
    }),
  };
}

function parsedSystem([first, second]: string[], data: Buffer) {
  const u64 = (at: number) => Number(data.readBigUInt64LE(at));
  const address = (at: number) => base58.encode(data.subarray(at, at + 32));
  switch (data.readUInt32LE()) {
    case 0:
      return {
        type: "createAccount",
        info: { source: first, newAccount: second, lamports: u64(4), space: u64(12), owner: address(20) },
      };
    case 1:
      return { type: "assign", info: { account: first, owner: address(4) } };
    case 2:
      return { type: "transfer", info: { source: first, destination: second, lamports: u64(4) } };
    case 8:
      return { type: "allocate", info: { account: first, space: u64(4) } };
    default:
      return undefined;
  }
}
