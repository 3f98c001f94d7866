/** A bounded map that forgets what was used longest ago. */
export type RecentlyUsed<Value> = {
  /** The value of `key`, which counts as its newest use, or undefined. */
  get(key: string): Value | undefined;
  /** Remembers `value`; where that is too much, the entries unused for longest go. */
  set(key: string, value: Value): void;
  forget(key: string): void;
  /** Forgets all. */
  clear(): void;
  /** How many entries there are. */
  size(): number;
  /** The bytes of all values together; 0 where they are not counted. */
  bytes(): number;
};

export type RecentlyUsedOptions<Value> = {
  /** Most entries kept, at least 1. */
  entries: number;
  /** Told of each value that is kept no longer, for whichever reason. */
  dispose?: (value: Value) => void;
} & (
  | {
      /** Most bytes of all values together. A value that is larger alone is not kept. */
      bytes: number;
      /** About how many bytes a value takes, with its key; asked once, when it is set. */
      sizeOf: (value: Value, key: string) => number;
    }
  | { bytes?: never; sizeOf?: never }
);

export function recentlyUsed<Value>(options: RecentlyUsedOptions<Value>): RecentlyUsed<Value> {
  const { entries: mostEntries, bytes: mostBytes = 0, sizeOf = () => 0, dispose = () => {} } = options;
  // A Map iterates in order of insertion, so the first key is the one unused for longest.
  const entries = new Map<string, { value: Value; size: number }>();
  let bytes = 0;
  /** The last key, which needs no moving: many are asked for again and again. */
  let newest: string | undefined;
  const forget = (key: string): void => {
    const entry = entries.get(key);
    if (!entry) return;
    entries.delete(key);
    if (key === newest) newest = undefined;
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
