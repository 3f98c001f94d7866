import { MAX_AUTHORITY_CLAIMS } from "../../../kernel/limits.ts";
import { type Fact, goneFact, goneOfFact, nameOf } from "./facts.ts";
import {
  type FactsOfActivity,
  findArchivedBefore,
  findKeyTime,
  type Reading,
  readActivities,
  readRows,
} from "./read.ts";
import { keptSources, sources } from "./rows.ts";
import { allowlistThere, featureThere, mfaPolicyThere, policyThere } from "./rules.ts";
import type { Claim, ClaimingRow, Source } from "./source.ts";

/**
 * Checks that every row of authority is accounted for by completed activities, which users stamped. A row that is not was written by somebody
 * other than a server; likewise, a row that is missing although no activity removed it was deleted by somebody else. The order of activities
 * is ignored, because it is not certain with several servers.
 */

export interface Tracing extends Omit<Reading, "beforePage"> {
  /** Called before each page; true gives up. */
  isLate?: () => boolean;
  /** The most claims held in memory. Whenever that many are collected, all activities are read. */
  claimsAtOnce?: number;
}

export interface Traced {
  /** The numbers of rows checked and accounted for. */
  rows: number;
  accountedFor: number;
  unaccounted: RowProblem[];
  /** Not accounted for by stored activities, but archived ones may account for them. */
  unknown: RowProblem[];
  /** The time before which activities may be archived, in milliseconds; 0 if none are. */
  archivedBefore: number;
}

export interface RowProblem {
  /** What is wrong, in the plural. */
  what: string;
  count: number;
  /** The names of some of the rows. */
  examples: string[];
}

/** The number of examples. */
const EXAMPLES = 3;

class TooLate extends Error {}

/** @returns undefined if `isLate` gave up */
export async function traceAuthority({
  isLate = () => false,
  claimsAtOnce = MAX_AUTHORITY_CLAIMS,
  ...reading
}: Tracing): Promise<Traced | undefined> {
  const beforePage = () => {
    if (isLate()) throw new TooLate();
  };
  try {
    return await trace({ ...reading, beforePage }, claimsAtOnce);
  } catch (error) {
    if (error instanceof TooLate) return undefined;
    throw error;
  }
}

async function trace(reading: Reading, claimsAtOnce: number): Promise<Traced> {
  const report = new Report();
  let claims = new OpenClaims();
  const settle = async () => {
    await strikeOff(reading, claims);
    report.add(claims, await findArchivedBefore(reading));
    claims = new OpenClaims();
  };
  for await (const rows of rowsOf(reading, sources)) {
    for (const row of rows) claims.add(row);
    if (claims.size >= claimsAtOnce) await settle();
  }
  for await (const activities of readActivities(reading, making)) {
    for (const row of await madeBy(reading, activities)) claims.addOnce(row);
    if (claims.size >= claimsAtOnce) await settle();
  }
  await settle();
  return report.traced();
}

/** Compares the held claims with all activities. Servers keep writing meanwhile, so the order of reads matters. */
async function strikeOff(reading: Reading, claims: OpenClaims): Promise<void> {
  // A row that is missing by now was removed by an activity that is stored by now.
  if (claims.hasMade) {
    for await (const rows of rowsOf(reading, keptSources))
      claims.strike(rows.flatMap(({ there }) => (there ? [there] : [])));
  }
  for await (const activities of readActivities(reading)) {
    for (const { facts } of activities) claims.strike(facts);
  }
  // A row that was removed since it was read does not exist any more.
  const refuted = claims.refuted();
  if (refuted.size === 0) return;
  for await (const rows of rowsOf(reading, sources)) for (const row of rows) refuted.delete(nameOfRow(row));
  for (const claim of refuted.values()) claim.isMet = true;
}

async function* rowsOf(reading: Reading, those: readonly Source[]): AsyncGenerator<ClaimingRow[]> {
  for (const source of those) yield* readRows(reading, source);
}

const nameOfRow = ({ organizationId, id }: Pick<ClaimingRow, "organizationId" | "id">): string =>
  `${id} of organization ${organizationId}`;

/** Operations that create rows whose absence may give somebody power. */
const making: ReadonlySet<string> = new Set([
  ...["create_policy", "create_policies", "create_mfa_policy", "set_ip_allowlist", "set_organization_feature"],
]);

/** Rows that activities created: each must still exist, or have been removed by itself or with its owner. */
async function madeBy(
  reading: Reading,
  activities: readonly FactsOfActivity[],
): Promise<(ClaimingRow & { key: string })[]> {
  const made = await Promise.all(activities.flatMap(({ facts, at }) => facts.map((fact) => madeAs(reading, fact, at))));
  return made.flatMap((row) => (row ? [row] : []));
}

async function madeAs(reading: Reading, fact: Fact, since: number) {
  const [kind, organizationId, third, fourth] = fact as [string, string, string | null, string];
  const gone = (id: string, what: string, facts: readonly Fact[]) => ({
    ...{ organizationId, id, since, key: nameOf([kind, organizationId, third]) },
    claims: [
      { what: `${what} that are gone although no activity removed them`, facts: [...facts, goneFact(organizationId)] },
    ],
  });
  switch (kind) {
    case "policy": {
      const id = third as string;
      return gone(id, "policies", [policyThere(organizationId, id), goneFact(id)]);
    }
    case "MFA policy": {
      const id = third as string;
      return gone(id, "MFA policies", [mfaPolicyThere(organizationId, id), goneFact(id), goneFact(fourth)]);
    }
    case "feature was set": {
      const name = third as string;
      return gone(name, "features", [featureThere(organizationId, name), goneOfFact(organizationId, "feature", name)]);
    }
    case "allowlist": {
      // A key's list is removed with the key.
      if (third !== null && !(await wasKeyAt(reading, { organizationId, publicKey: third, at: since })))
        return undefined;
      const facts = [allowlistThere(organizationId, third), goneOfFact(organizationId, "allowlist", third)];
      return gone(third ?? organizationId, "IP allowlists", facts);
    }
    default:
      return undefined;
  }
}

async function wasKeyAt(
  reading: Reading,
  { organizationId, publicKey, at }: { organizationId: string; publicKey: string; at: number },
): Promise<boolean> {
  const since = await findKeyTime(reading, organizationId, publicKey);
  return since !== undefined && since <= at;
}

/** A claim of a row, and whether an activity read so far meets it. */
interface OpenClaim {
  what: string;
  row: Pick<ClaimingRow, "organizationId" | "id" | "since">;
  isMet: boolean;
  isRefuted: boolean;
}

class OpenClaims {
  /** The claims that a fact would meet, by its name. */
  readonly #byFact = new Map<string, OpenClaim[]>();
  /** The claims of each row, existing or removed. */
  readonly #rows: OpenClaim[][] = [];
  readonly #gone: OpenClaim[][] = [];
  readonly #made = new Set<string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get hasMade(): boolean {
    return this.#made.size > 0;
  }

  add({ claims, ...row }: ClaimingRow): void {
    this.#rows.push(claims.map((claim) => this.#open(row, claim)));
  }

  /** Adds a row only once, even if several activities are about it. */
  addOnce({ key, ...row }: ClaimingRow & { key: string }): void {
    if (this.#made.has(key)) return;
    this.#made.add(key);
    this.#gone.push(row.claims.map((claim) => this.#open(row, claim)));
  }

  strike(facts: readonly Fact[]): void {
    for (const fact of facts) {
      for (const claim of this.#byFact.get(nameOf(fact)) ?? []) claim.isMet = !claim.isRefuted;
    }
  }

  /** Rows that an activity removed, by name. */
  refuted(): Map<string, OpenClaim> {
    const unmet = this.#rows.flat().filter(({ isRefuted, isMet }) => isRefuted && !isMet);
    return new Map(unmet.map((claim) => [nameOfRow(claim.row), claim]));
  }

  get rows(): readonly (readonly OpenClaim[])[] {
    return this.#rows;
  }

  get gone(): readonly (readonly OpenClaim[])[] {
    return this.#gone;
  }

  #open(row: OpenClaim["row"], { what, facts, isRefuted = false }: Claim): OpenClaim {
    const open = { what, row, isMet: isRefuted, isRefuted };
    for (const fact of facts) {
      const name = nameOf(fact);
      const same = this.#byFact.get(name);
      if (same) same.push(open);
      else this.#byFact.set(name, [open]);
    }
    this.#size++;
    return open;
  }
}

class Report {
  #rows = 0;
  #accountedFor = 0;
  readonly #unaccounted = new Map<string, RowProblem>();
  readonly #unknown = new Map<string, RowProblem>();
  #archivedBefore = 0;

  add({ rows, gone }: OpenClaims, archivedBefore: number): void {
    this.#archivedBefore = archivedBefore;
    this.#rows += rows.length;
    this.#accountedFor += rows.filter((claims) => claims.every(({ isMet }) => isMet)).length;
    for (const claims of [...rows, ...gone]) {
      // A row with several unmet claims of the same kind is reported once.
      const unmet = new Map(claims.flatMap((claim) => (claim.isMet ? [] : [[claim.what, claim]])));
      for (const [what, { row, isRefuted }] of unmet) {
        const isUnknown = !isRefuted && row.since < archivedBefore;
        note(isUnknown ? this.#unknown : this.#unaccounted, what, nameOfRow(row));
      }
    }
  }

  traced(): Traced {
    return {
      rows: this.#rows,
      accountedFor: this.#accountedFor,
      unaccounted: [...this.#unaccounted.values()],
      unknown: [...this.#unknown.values()],
      archivedBefore: this.#archivedBefore,
    };
  }
}

function note(problems: Map<string, RowProblem>, what: string, name: string): void {
  const known = problems.get(what) ?? { what, count: 0, examples: [] };
  known.count++;
  if (known.examples.length < EXAMPLES) known.examples.push(name);
  problems.set(what, known);
}
