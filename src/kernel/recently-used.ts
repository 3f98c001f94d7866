/** A bounded map that drops the least recently used entries. */
export type RecentlyUsed<Value> = {
  /** The value of `key` or undefined. Counts as a use. */
  get(key: string): Value | undefined;
  /** Stores `value`. If the map is full, the least recently used entries are dropped. */
  set(key: string, value: Value): void;
  forget(key: string): void;
  clear(): void;
  size(): number;
  /** The bytes of all values together. 0 if bytes are not bounded. */
  bytes(): number;
};

export type RecentlyUsedOptions<Value> = {
  /** The maximum number of entries, at least 1. */
  entries: number;
  /** Called with each value that is dropped, for any reason. */
  dispose?: (value: Value) => void;
} & (
  | {
      /** The maximum bytes of all values together. A value that is larger than this by itself is not stored. */
      bytes: number;
      /** The approximate bytes of a value and its key. Called once, when it is set. */
      sizeOf: (value: Value, key: string) => number;
    }
  | { bytes?: never; sizeOf?: never }
);

export function recentlyUsed<Value>(options: RecentlyUsedOptions<Value>): RecentlyUsed<Value> {
  const { entries: mostEntries, bytes: mostBytes = 0, sizeOf = () => 0, dispose = () => {} } = options;
  // A Map iterates in insertion order, so the first key is the least recently used.
  const entries = new Map<string, { value: Value; size: number }>();
  let bytes = 0;
  /** The most recently used key, stored or not. It need not be moved, which is common: many keys are requested repeatedly. */
  let newest: string | undefined;
  const forget = (key: string): void => {
    const entry = entries.get(key);
    if (!entry) return;
    entries.delete(key);
    bytes -= entry.size;
    dispose(entry.value);
  };
  const makeRoom = (size: number): void => {
    for (const key of entries.keys()) {
      if (entries.size < mostEntries && bytes + size <= mostBytes) return;
      forget(key);
    }
  };
  return {
    get(key) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (key !== newest) {
        entries.delete(key);
        entries.set(key, entry);
        newest = key;
      }
      return entry.value;
    },
    set(key, value) {
      forget(key);
      const size = sizeOf(value, key);
      if (size > mostBytes) return dispose(value);
      makeRoom(size);
      entries.set(key, { value, size });
      newest = key;
      bytes += size;
    },
    forget,
    clear() {
      for (const key of [...entries.keys()]) forget(key);
    },
    size: () => entries.size,
    bytes: () => bytes,
  };
}
