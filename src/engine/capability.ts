import type { JobKind } from "./jobs/jobs.ts";
import type { ServiceKeyKind } from "./keys/service-keys.ts";
import type { Operation, OwnedTable } from "./operations.ts";
import type { ProxyCall } from "./proxy-call.ts";

/** All that the rest of the house needs to know of a capability: its folder's index says it, and nothing else lists it. */
export interface Capability<Operations extends readonly Operation[] = readonly Operation[]> {
  /** Its heading in the documentation. */
  title: string;
  operations: Operations;
  /** What people may ask of it through the auth proxy. */
  proxyCalls?: readonly ProxyCall[];
  jobs?: readonly JobKind[];
  /** The types of event that it announces to webhook endpoints. */
  events?: readonly string[];
  /** Keys of the installation that it signs with. */
  serviceKeys?: readonly ServiceKeyKind[];
  /** What goes when an organization is deleted, in this order: rows that refer to others come before them. */
  erases?: readonly OwnedTable[];
  /** Of these, what an organization may have any number of, and no organization's rights or credentials are made of. */
  large?: readonly OwnedTable[];
  /** What stays, and why. */
  keeps?: { readonly [Table in OwnedTable]?: string };
}

/** Declares a capability; it keeps the types of its operations for typed clients. */
export const capability = <const Operations extends readonly Operation[]>(
  manifest: Capability<Operations>,
): Capability<Operations> => manifest;

/** What all capabilities together bring to the house. */
export interface House {
  proxyCalls: readonly ProxyCall[];
  jobs: readonly JobKind[];
  serviceKeys: readonly ServiceKeyKind[];
  erasedTables: readonly OwnedTable[];
  largeTables: readonly OwnedTable[];
}

/** @throws when two capabilities claim the same thing, or one keeps what another erases: a fault of the manifests */
export function houseOf(capabilities: readonly Capability[]): House {
  const proxyCalls = capabilities.flatMap((each) => each.proxyCalls ?? []);
  const jobs = capabilities.flatMap((each) => each.jobs ?? []);
  const serviceKeys = capabilities.flatMap((each) => each.serviceKeys ?? []);
  // Capabilities are listed with their foundations first, so they are erased in the opposite order.
  const erasedTables = capabilities.toReversed().flatMap((each) => each.erases ?? []);
  const isLarge = new Set(capabilities.flatMap((each) => each.large ?? []));
  const largeTables = erasedTables.filter((table) => isLarge.has(table));
  const keptTables = capabilities.flatMap((each) => Object.keys(each.keeps ?? {}));
  refuseTwice(
    "proxy call",
    proxyCalls.map(({ path }) => path),
  );
  refuseTwice(
    "job",
    jobs.map(({ name }) => name),
  );
  refuseTwice(
    "service key",
    serviceKeys.map(({ purpose }) => purpose),
  );
  refuseTwice("table", [...erasedTables, ...keptTables]);
  refuseTwice(
    "event",
    capabilities.flatMap((each) => each.events ?? []),
  );
  return { proxyCalls, jobs, serviceKeys, erasedTables, largeTables };
}

function refuseTwice(kind: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two capabilities claim the ${kind} ${twice}`);
}
