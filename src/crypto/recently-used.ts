/** A bounded map that forgets what was used longest ago. */
export type RecentlyUsed<Value> = {
  /** The value of `key`, which counts as its newest use, or undefined. */
  get(key: string): Value | undefined;
  /** Remembers `value`; at capacity the entry unused for longest goes. */
  set(key: string, value: Value): void;
  forget(key: string): void;
  size(): number;
};

/** @param capacity most entries kept */
export function recentlyUsed<Value>(capacity: number): RecentlyUsed<Value> {
  // A Map iterates in order of insertion, so the first key is the one unused for longest.
  const entries = new Map<string, Value>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      const oldest = entries.size >= capacity ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
      entries.set(key, value);
    },
    forget: (key) => void entries.delete(key),
    size: () => entries.size,
  };
}
