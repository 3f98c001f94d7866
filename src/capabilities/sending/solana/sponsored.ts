import { type Static, Type } from "typebox";
import { computeBudgetOf, MAX_COMPUTE_UNITS, UNITS_PER_INSTRUCTION } from "../../../chains/solana/compute-budget.ts";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import { type Additions, asSponsored, costOfSponsored } from "../../../chains/solana/sponsored.ts";
import { NO_BLOCKHASH, requiredSigners, type SolanaTransaction, wireOf } from "../../../chains/solana/transaction.ts";
import { fail } from "../../../kernel/errors.ts";
import {
  LEAST_UNIT_PRICE,
  MAX_SPONSORED_FEE_LAMPORTS,
  MAX_SPONSORED_RENT_LAMPORTS,
  MOST_UNIT_PRICE,
} from "../../../kernel/limits.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { recentUnitPrices, tryUnsigned } from "../../../nodes/solana-calls.ts";
import { rentGrants } from "./rent.ts";

/** Transactions that this installation pays for: what is added to them, and what they may cost. */

const Lamports = Type.String({ pattern: "^[0-9]{1,20}$" });

/** The parts of the message that are not in the request. Only the blockhash is still open after these. */
export const SponsoredPart = Type.Object({
  /** In base58. */
  payer: Type.String(),
  unitLimit: Type.Optional(Type.Integer()),
  /** Millionths of a lamport. */
  unitPrice: Type.Optional(Type.String({ pattern: "^[0-9]{1,20}$" })),
  /** The rent of created accounts, for the signers that pay for their creation. */
  grants: Type.Array(Type.Object({ to: Type.String(), lamports: Lamports })),
  /** US dollars for one SOL, if known. */
  nativePrice: Type.Optional(Type.String()),
});
export type SponsoredPart = Static<typeof SponsoredPart>;

/** Added to the compute units that a transaction used in its simulation, in addition to a fifth of them. */
const SPARE_UNITS = 1000;

export const additionsOf = ({ unitLimit, unitPrice, grants }: Omit<SponsoredPart, "payer">): Additions => ({
  ...(unitLimit === undefined ? {} : { unitLimit }),
  ...(unitPrice === undefined ? {} : { unitPrice: BigInt(unitPrice) }),
  grants: grants.map(({ to, lamports }) => ({ to, lamports: BigInt(lamports) })),
});

export interface Sponsoring {
  solana: SolanaNodes;
  caip2: SolanaChain;
  payer: string;
  /** Whether the sponsor also pays the rent of created accounts. */
  paysRent: boolean;
}

/**
 * Plans the additions to a transaction: the missing parts of its compute budget, and the rent of the accounts that it creates.
 *
 * @throws KeysteadError TRANSACTION_INVALID if it is then too large or too expensive, or if it names the sponsor; CHAIN_UNAVAILABLE
 */
export async function planAdditions(
  { solana, caip2, payer, paysRent }: Sponsoring,
  given: SolanaTransaction,
): Promise<Pick<SponsoredPart, "unitLimit" | "unitPrice" | "grants">> {
  const own = computeBudgetOf(given);
  const roomy: Additions = {
    ...(own.unitLimit === undefined ? { unitLimit: MAX_COMPUTE_UNITS } : {}),
    ...(own.unitPrice === undefined ? { unitPrice: 0n } : {}),
    grants: [],
  };
  // Check this before sending any request to a node.
  requireAffordable(asSponsored(given, payer, NO_BLOCKHASH, roomy));
  const withGrants = (grants: Additions["grants"]) => asSponsored(given, payer, NO_BLOCKHASH, { ...roomy, grants });
  const grants = (paysRent ? await rentGrants({ solana, caip2, given, payer, withGrants }) : undefined) ?? [];
  const unitLimit = own.unitLimit === undefined ? await unitsFor(solana, caip2, withGrants(grants), given) : undefined;
  const unitPrice = own.unitPrice === undefined ? await usualPrice(solana, caip2, given) : undefined;
  const additions: Additions = {
    ...(unitLimit === undefined ? {} : { unitLimit }),
    ...(unitPrice === undefined ? {} : { unitPrice }),
    grants,
  };
  requireAffordable(asSponsored(given, payer, NO_BLOCKHASH, additions));
  return {
    ...(unitLimit === undefined ? {} : { unitLimit }),
    ...(unitPrice === undefined ? {} : { unitPrice: String(unitPrice) }),
    grants: grants.map(({ to, lamports }) => ({ to, lamports: String(lamports) })),
  };
}

/**
 * Refuses a transaction if others have created its accounts since it was planned, because the signers would keep the granted rent.
 *
 * @throws KeysteadError TRANSACTION_INVALID, CHAIN_UNAVAILABLE
 */
export async function requireSameRent(
  { solana, caip2 }: Pick<Sponsoring, "solana" | "caip2">,
  given: SolanaTransaction,
  { payer, ...part }: SponsoredPart,
): Promise<void> {
  const additions = additionsOf(part);
  const withGrants = (grants: Additions["grants"]) => asSponsored(given, payer, NO_BLOCKHASH, { ...additions, grants });
  const grants =
    (await rentGrants({ solana, caip2, given, payer, withGrants })) ??
    fail("CHAIN_UNAVAILABLE", { chain: caip2, reason: "no node simulates transactions" });
  const isSame =
    grants.length === additions.grants.length &&
    grants.every(({ to, lamports }, index) => {
      const planned = additions.grants[index];
      return planned?.to === to && planned.lamports === lamports;
    });
  if (isSame) return;
  const reason = "creates other accounts than when it was submitted, with a different rent; submit it again";
  fail("TRANSACTION_INVALID", { field: given.field, reason });
}

/** @throws KeysteadError TRANSACTION_INVALID */
function requireAffordable(sponsored: SolanaTransaction): void {
  const { fee, grants } = costOfSponsored(sponsored);
  const refuse = (what: string, most: bigint, remedy: string): never => {
    const reason = `${what}, and this service pays at most ${most} for one transaction; ${remedy}`;
    return fail("TRANSACTION_INVALID", { field: sponsored.field, reason });
  };
  if (fee > MAX_SPONSORED_FEE_LAMPORTS) {
    const remedy = "lower its compute unit price or limit, or set `sponsor` to false";
    refuse(`costs a fee of ${fee} lamports`, MAX_SPONSORED_FEE_LAMPORTS, remedy);
  }
  if (grants > MAX_SPONSORED_RENT_LAMPORTS) {
    const remedy = "create fewer or smaller accounts at a time";
    refuse(`creates accounts whose rent is ${grants} lamports`, MAX_SPONSORED_RENT_LAMPORTS, remedy);
  }
}

/** The compute units that it used in its simulation plus a fifth and a reserve. If the simulation fails, the chain's default limit. */
async function unitsFor(
  solana: SolanaNodes,
  caip2: SolanaChain,
  sponsored: SolanaTransaction,
  given: SolanaTransaction,
): Promise<number> {
  const trial = await tryUnsigned(solana, caip2, wireOf(sponsored));
  const units =
    trial?.isFailure === false && trial.unitsConsumed !== undefined
      ? Math.ceil(trial.unitsConsumed * 1.2) + SPARE_UNITS
      : UNITS_PER_INSTRUCTION * given.instructions.length;
  return Math.min(units, MAX_COMPUTE_UNITS);
}

/** The 75th percentile of the prices that recent transactions with the same accounts paid, within bounds. */
async function usualPrice(solana: SolanaNodes, caip2: SolanaChain, given: SolanaTransaction): Promise<bigint> {
  const written = given.accounts.filter(({ writable, lookup }) => writable && !lookup).map(({ key }) => key);
  const prices = (await recentUnitPrices(solana, caip2, written)).sort((one, other) => one - other);
  const usual = prices[Math.floor(prices.length * 0.75)] ?? 0;
  return BigInt(Math.min(MOST_UNIT_PRICE, Math.max(LEAST_UNIT_PRICE, usual)));
}

/**
 * Refuses a request that does not name every signer except the sponsor. Signatures from outside would not be valid for the changed message.
 *
 * @param signers the named signers, in the transaction's order
 * @throws KeysteadError FIELD_INVALID
 */
export function requireAllSigners(given: SolanaTransaction, payer: string, signers: readonly string[]): void {
  const wanted = requiredSigners(given).filter((address) => address !== payer);
  if (wanted.length === signers.length) return;
  const reason = `must name every signer of a sponsored transaction, in this order: ${wanted.join(", ")}`;
  fail("FIELD_INVALID", { field: "parameters.signWiths", reason });
}
