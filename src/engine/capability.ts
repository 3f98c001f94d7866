import type { JobKind } from "./jobs/jobs.ts";
import type { ServiceKeyKind } from "./keys/service-keys.ts";
import type { Operation, OwnedTable } from "./operations.ts";
import type { ProxyCall } from "./proxy-call.ts";

/** The manifest of a capability, exported by its folder's index: everything the rest of the server needs to know about it. */
export interface Capability<Operations extends readonly Operation[] = readonly Operation[]> {
  /** Its heading in the documentation. */
  title: string;
  operations: Operations;
  /** Its calls through the auth proxy, for people without a credential. */
  proxyCalls?: readonly ProxyCall[];
  jobs?: readonly JobKind[];
  /** The types of webhook events that it emits. */
  events?: readonly string[];
  /** Keys of the installation that it signs with. */
  serviceKeys?: readonly ServiceKeyKind[];
  /** The tables to erase when an organization is deleted, in this order: a row that refers to another is deleted first. */
  erases?: readonly OwnedTable[];
  /** Those of the erased tables that can hold any number of rows and grant nobody any right, so that a job may erase them later. */
  large?: readonly OwnedTable[];
  /** The tables that are kept when an organization is deleted, each with the reason. */
  keeps?: { readonly [Table in OwnedTable]?: string };
}

/** Declares a capability; it keeps the types of its operations for typed clients. */
export const capability = <const Operations extends readonly Operation[]>(
  manifest: Capability<Operations>,
): Capability<Operations> => manifest;

/** What all manifests provide together. */
export interface CombinedManifests {
  proxyCalls: readonly ProxyCall[];
  jobs: readonly JobKind[];
  serviceKeys: readonly ServiceKeyKind[];
  erasedTables: readonly OwnedTable[];
  largeTables: readonly OwnedTable[];
}

/** @throws Error if two capabilities claim the same name, or one keeps a table that another erases: a bug in the manifests */
export function combineManifests(capabilities: readonly Capability[]): CombinedManifests {
  const proxyCalls = capabilities.flatMap((each) => each.proxyCalls ?? []);
  const jobs = capabilities.flatMap((each) => each.jobs ?? []);
  const serviceKeys = capabilities.flatMap((each) => each.serviceKeys ?? []);
  // Capabilities are listed after those they depend on, so their tables are erased in reverse order.
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
