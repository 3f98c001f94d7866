import type { ActivityOperation, ActivityVersion, Operation, Registry } from "./operations.ts";

export const pathOf = ({ kind, path }: Operation): string =>
  `/public/v1/${kind === "query" ? "query" : "submit"}/${path}`;

/** @throws Error if two operations have the same path or activity type */
export function createRegistry(operations: readonly Operation[]): Registry {
  const paths = new Map<string, Operation>();
  const types = new Map<string, { operation: ActivityOperation; version: ActivityVersion }>();
  const claim = <T>(map: Map<string, T>, key: string, value: T) => {
    if (map.has(key)) throw new Error(`two operations claim ${key}`);
    map.set(key, value);
  };
  for (const operation of operations) {
    claim(paths, pathOf(operation), operation);
    if (operation.kind !== "activity") continue;
    for (const version of operation.versions.values()) claim(types, version.type, { operation, version });
  }
  return {
    operations,
    byPath: (path) => paths.get(path),
    findActivityOfType: (type) => types.get(type),
    activityOfType: (type) => {
      const found = types.get(type);
      if (!found) throw new Error(`the database holds an activity of the unknown type ${type}`);
      return found;
    },
  };
}
