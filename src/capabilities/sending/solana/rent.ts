import { type AccountStep, accountSteps, parsedAccountSteps } from "../../../chains/solana/created-accounts.ts";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import type { Grant } from "../../../chains/solana/sponsored.ts";
import { type SolanaTransaction, wireOf } from "../../../chains/solana/transaction.ts";
import { KeysteadError } from "../../../kernel/errors.ts";
import { LENT_LAMPORTS, MAX_CREATED_ACCOUNTS } from "../../../kernel/limits.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { type AccountSize, accountSizes, exemptionOf, type Trial, tryUnsigned } from "../../../nodes/solana-calls.ts";

/**
 * The rent of accounts that a sponsored transaction creates. The sponsor grants the signers that pay for these accounts exactly the lamports
 * that the accounts lack to be rent-exempt; not further deposits, nor what the accounts had before.
 *
 * The accounts are found by simulating the transaction, because most are created by programs that it calls.
 */

interface Tried {
  solana: SolanaNodes;
  caip2: SolanaChain;
  given: SolanaTransaction;
  payer: string;
  /** The sponsored transaction with these grants. */
  withGrants: (grants: readonly Grant[]) => SolanaTransaction;
}

/**
 * The grants for a transaction. Empty if it creates nothing, or would fail anyway; the error is then reported when the signed transaction is
 * simulated. Undefined if no node simulates it.
 */
export async function rentGrants({ solana, caip2, given, payer, withGrants }: Tried): Promise<Grant[] | undefined> {
  const signers = given.accounts.filter(({ signer, writable, key }) => signer && writable && key !== payer);
  const found = await findTrial(
    { solana, caip2, withGrants },
    lendings(
      given,
      signers.map(({ key }) => key),
    ),
  );
  if (found === "not tried") return undefined;
  if (found === "fails") return [];
  const { wire, trial } = found;
  const steps = stepsOf(given, trial);
  const made = steps.filter((step) => step.does === "make").map(({ account }) => account);
  const candidates = [...new Set(made)].slice(0, MAX_CREATED_ACCOUNTS);
  if (candidates.length === 0) return [];
  const before = await accountSizes(solana, caip2, candidates);
  const after = (await tryUnsigned(solana, caip2, wire, candidates))?.accounts;
  if (!after) return undefined;
  const created = candidates.flatMap((account, index) => createdFrom(account, before[index], after[index]));
  const exemptions = await exemptionsOf(solana, caip2, created);
  const granted = new Map(signers.map(({ key }) => [key, 0n]));
  for (const { account, space, had } of created) {
    let missing = (exemptions.get(space) ?? 0n) - had;
    for (const step of steps) {
      if (step.does !== "pay" || step.to !== account || missing <= 0n) continue;
      const sofar = granted.get(step.from);
      if (sofar === undefined) continue;
      const part = step.lamports < missing ? step.lamports : missing;
      granted.set(step.from, sofar + part);
      missing -= part;
    }
  }
  return [...granted].flatMap(([to, lamports]) => (lamports > 0n ? [{ to, lamports }] : []));
}

interface Created {
  account: string;
  /** The size of its data in bytes. */
  space: number;
  /** Its lamports before the transaction. */
  had: bigint;
}

function createdFrom(
  account: string,
  was: AccountSize | null | undefined,
  is: AccountSize | null | undefined,
): Created[] {
  const isCreated = is && (!was || (was.space === 0 && is.space > 0));
  return isCreated ? [{ account, space: is.space, had: was?.lamports ?? 0n }] : [];
}

/** The lamports for rent exemption by size; each size is requested once. */
async function exemptionsOf(
  solana: SolanaNodes,
  caip2: SolanaChain,
  created: readonly Created[],
): Promise<Map<number, bigint>> {
  const sizes = [...new Set(created.map(({ space }) => space))];
  return new Map(
    await Promise.all(sizes.map(async (space) => [space, await exemptionOf(solana, caip2, space)] as const)),
  );
}

/**
 * The signers to whom the simulation lends lamports, as alternatives to try in order. First all signers that the transaction itself does not
 * create, because new accounts must have no lamports. Then only the first one, in case a program creates the others.
 */
function lendings(given: SolanaTransaction, signers: readonly string[]): string[][] {
  const made = given.instructions.flatMap(accountSteps).flatMap((step) => (step.does === "make" ? [step.account] : []));
  const others = signers.filter((key) => !made.includes(key));
  return others.length > 1 ? [others, others.slice(0, 1)] : [others];
}

/** The first simulation that succeeds. If no node simulates one, the others are not tried. */
async function findTrial(
  { solana, caip2, withGrants }: Pick<Tried, "solana" | "caip2" | "withGrants">,
  lent: readonly (readonly string[])[],
): Promise<{ wire: Buffer; trial: Trial } | "fails" | "not tried"> {
  for (const to of lent) {
    const wire = wireIfFits(() => withGrants(to.map((key) => ({ to: key, lamports: LENT_LAMPORTS }))));
    if (!wire) continue;
    const trial = await tryUnsigned(solana, caip2, wire);
    if (!trial) return "not tried";
    if (!trial.isFailure) return { wire, trial };
  }
  return "fails";
}

/** Undefined if the transaction is too large with the loans. */
function wireIfFits(build: () => SolanaTransaction): Buffer | undefined {
  try {
    return wireOf(build());
  } catch (error) {
    if (error instanceof KeysteadError && !error.isTransient) return undefined;
    throw error;
  }
}

const stepsOf = (given: SolanaTransaction, { inner }: Trial): AccountStep[] => [
  ...given.instructions.flatMap(accountSteps),
  ...inner.flatMap(parsedAccountSteps),
];
