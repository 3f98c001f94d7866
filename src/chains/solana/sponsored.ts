import { fail } from "../../kernel/errors.ts";
import { MAX_SOLANA_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import { COMPUTE_BUDGET_PROGRAM, computeBudgetOf, feeOf, unitLimitData, unitPriceData } from "./compute-budget.ts";
import {
  type MessageAccount,
  parseTransaction,
  requiredSigners,
  type SolanaTransaction,
  serializeMessage,
  wireOf,
} from "./transaction.ts";
import { SYSTEM_PROGRAM, systemTransfer, transferData } from "./transfers.ts";

/**
 * A transaction for which somebody else pays. The payer becomes its first signer and has no other role: no instruction of the given
 * transaction names the payer, so none can use the payer's assets. The accounts and data of these instructions stay unchanged, and so do
 * the permissions of each account.
 */

/** Lamports that the payer transfers to a signer, before anything else happens. */
export interface Grant {
  to: string;
  lamports: bigint;
}

/** What is added to a transaction in addition to a payer. */
export interface Additions {
  /** Only if the transaction has none of its own. */
  unitLimit?: number;
  /** Only if the transaction has none of its own; millionths of a lamport. */
  unitPrice?: bigint;
  grants: readonly Grant[];
}

/**
 * The transaction to sign, with empty signatures. Grants come before the transaction's own instructions. Limit and price come after them,
 * so that without grants, instructions that refer to others by index still refer to the same ones.
 *
 * @param given may already have the payer as its first signer
 * @param blockhash in base58
 * @throws KeysteadError TRANSACTION_INVALID if it names the payer anywhere else, or becomes too large
 */
export function asSponsored(
  given: SolanaTransaction,
  payer: string,
  blockhash: string,
  { unitLimit, unitPrice, grants }: Additions,
): SolanaTransaction {
  const { field, version, accounts, instructions, lookups } = given;
  refusePartOfPayer(given, payer);
  const stranger = grants.find(({ to }) => accounts.every(({ key, signer }) => !signer || key !== to));
  if (stranger) throw new RangeError(`${stranger.to} signs nothing, and is granted nothing`);
  const statics = accounts.filter(({ lookup, key }) => lookup === undefined && key !== payer);
  const budget = [
    ...(unitLimit === undefined ? [] : [unitLimitData(unitLimit)]),
    ...(unitPrice === undefined ? [] : [unitPriceData(unitPrice)]),
  ];
  const programs = [
    ...(budget.length > 0 ? [COMPUTE_BUDGET_PROGRAM] : []),
    ...(grants.length > 0 ? [SYSTEM_PROGRAM] : []),
  ].filter((program) => statics.every(({ key }) => key !== program));
  const keys = [payer, ...statics.map(({ key }) => key), ...programs];
  const placeOfKey = (key: string): number => keys.indexOf(key);
  const places = new Map<MessageAccount, number>([
    ...statics.map((account): [MessageAccount, number] => [account, placeOfKey(account.key)]),
    ...accounts
      .filter(({ lookup }) => lookup !== undefined)
      .map((account, index): [MessageAccount, number] => [account, keys.length + index]),
  ]);
  const placeOf = (account: MessageAccount): number => places.get(account) as number;
  const count = (isWanted: (account: MessageAccount) => boolean): number => statics.filter(isWanted).length;
  const message = serializeMessage({
    version,
    header: [
      1 + count(({ signer }) => signer),
      count(({ signer, writable }) => signer && !writable),
      count(({ signer, writable }) => !signer && !writable) + programs.length,
    ],
    keys,
    blockhash,
    instructions: [
      ...grants.map(({ to, lamports }) => ({
        program: placeOfKey(SYSTEM_PROGRAM),
        accounts: [0, placeOfKey(to)],
        data: transferData(lamports),
      })),
      ...instructions.map((each) => ({
        program: placeOf(each.program),
        accounts: each.accounts.map(placeOf),
        data: each.data,
      })),
      ...budget.map((data) => ({ program: placeOfKey(COMPUTE_BUDGET_PROGRAM), accounts: [], data })),
    ],
    lookups,
  });
  const signatures = Array.from({ length: 1 + count(({ signer }) => signer) }, () => Buffer.alloc(64));
  const wire = wireOf({ signatures, message });
  if (wire.length > MAX_SOLANA_TRANSACTION_BYTES) {
    const reason = `has ${wire.length} bytes with the fee payer and what else sponsoring adds; the network takes at most ${MAX_SOLANA_TRANSACTION_BYTES}`;
    fail("TRANSACTION_INVALID", { field, reason });
  }
  return parseTransaction(wire, field);
}

function refusePartOfPayer({ field, accounts, instructions }: SolanaTransaction, payer: string): void {
  const refuse = (place: string): never =>
    fail("TRANSACTION_INVALID", {
      field,
      reason: `names the sponsor ${payer} ${place}; it can be the fee payer and nothing else`,
    });
  for (const [index, { program, accounts: named }] of instructions.entries()) {
    if ([program, ...named].some(({ key }) => key === payer)) refuse(`in message.instructions[${index}]`);
  }
  if (accounts.findIndex(({ key }) => key === payer) > 0) refuse("among its accounts");
}

/**
 * The additions of a sponsored transaction compared with the given one, as far as the two reveal them. If `sponsored` really results from
 * `given`, applying these additions to `given` yields it.
 */
export function additionsIn(sponsored: SolanaTransaction, given: SolanaTransaction): Additions {
  const own = computeBudgetOf(given);
  const { unitLimit, unitPrice } = computeBudgetOf(sponsored);
  return {
    ...(own.unitLimit === undefined && unitLimit !== undefined ? { unitLimit } : {}),
    ...(own.unitPrice === undefined && unitPrice !== undefined ? { unitPrice } : {}),
    grants: grantsIn(sponsored),
  };
}

function grantsIn(sponsored: SolanaTransaction): Grant[] {
  const [payer] = requiredSigners(sponsored);
  return sponsored.instructions
    .map(systemTransfer)
    .filter((transfer) => transfer !== undefined)
    .filter(({ from }) => from === payer)
    .map(({ to, amount }) => ({ to, lamports: amount }));
}

/** Lamports that a sponsored transaction costs its payer: the fee in any case, the grants if it succeeds. */
export function costOfSponsored(sponsored: SolanaTransaction): { fee: bigint; grants: bigint } {
  const grants = grantsIn(sponsored).reduce((sum, { lamports }) => sum + lamports, 0n);
  return { fee: feeOf(sponsored), grants };
}
