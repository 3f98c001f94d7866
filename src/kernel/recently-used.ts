/** A bounded map that forgets what was used longest ago. */
export type RecentlyUsed<Value> = {
  /** The value of `key`, which counts as its newest use, or undefined. */
  get(key: string): Value | undefined;
  /** Remembers `value`; at capacity the entry unused for longest goes. */
  set(key: string, value: Value): void;
  forget(key: string): void;
  /** Forgets all. */
  clear(): void;
  size(): number;
};

/**
 * @param capacity most entries kept, at least 1
 * @param dispose told of each value that is kept no longer, for whichever reason
 */
export function recentlyUsed<Value>(capacity: number, dispose: (value: Value) => void = () => {}): RecentlyUsed<Value> {
  // A Map iterates in order of insertion, so the first key is the one unused for longest.
  const entries = new Map<string, Value>();
  const remove = (key: string) => {
    const value = entries.get(key);
    if (entries.delete(key)) dispose(value as Value);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      remove(key);
      const oldest = entries.size >= capacity ? entries.keys().next().value : undefined;
      if (oldest !== undefined) remove(oldest);
      entries.set(key, value);
    },
    forget: remove,
    clear() {
      for (const key of [...entries.keys()]) remove(key);
    },
    size: () => entries.size,
  };
}
