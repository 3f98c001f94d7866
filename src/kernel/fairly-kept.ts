/**
 * A bounded map whose values are used by several holders, none of which drives out what another one uses: where it is too much, the holder of
 * the most bytes lets go of what it has not used for longest. A value is kept for as long as anybody holds it.
 */
export interface FairlyKept<Value> {
  /** The value of `key`, or undefined; who looks at it does not count as a holder. */
  look(key: string): Value | undefined;
  /** The value of `key`, or undefined. This holder uses it: it holds it from now on, as the newest of what it holds. */
  use(key: string, holder: string): Value | undefined;
  /** Remembers `value`, for this holder and for those of the value before it. One that is too large alone is not kept. */
  set(key: string, value: Value, holder: string): void;
  /** The bytes of all values together, with what it takes to know their holders. */
  bytes(): number;
}

export interface FairlyKeptOptions<Value> {
  /** Most bytes of all. */
  bytes: number;
  /** About how many bytes a value takes, with its key; asked once, when it is set. */
  sizeOf: (value: Value, key: string) => number;
}

/** About the bytes of two entries of maps, with their keys. */
const BYTES_OF_A_HOLD = 512;

interface Entry<Value> {
  value: Value;
  size: number;
  holders: Set<string>;
}

/** What a holder has, the key that is unused for longest first, and the bytes of all of it. */
interface Held {
  keys: Set<string>;
  bytes: number;
}

export function fairlyKept<Value>({ bytes: mostBytes, sizeOf }: FairlyKeptOptions<Value>): FairlyKept<Value> {
  const entries = new Map<string, Entry<Value>>();
  const holders = new Map<string, Held>();
  let bytes = 0;

  const hold = (key: string, entry: Entry<Value>, holder: string): void => {
    const held = holders.get(holder) ?? { keys: new Set(), bytes: 0 };
    holders.set(holder, held);
    // A Set iterates in order of insertion.
    if (!held.keys.delete(key)) {
      entry.holders.add(holder);
      held.bytes += entry.size + BYTES_OF_A_HOLD;
      bytes += BYTES_OF_A_HOLD;
    }
    held.keys.add(key);
  };

  const letGo = (key: string, entry: Entry<Value>, holder: string): void => {
    const held = holders.get(holder) as Held;
    held.keys.delete(key);
    held.bytes -= entry.size + BYTES_OF_A_HOLD;
    if (held.keys.size === 0) holders.delete(holder);
    bytes -= BYTES_OF_A_HOLD;
    entry.holders.delete(holder);
    if (entry.holders.size > 0) return;
    entries.delete(key);
    bytes -= entry.size;
  };

  const holderOfMost = (): [string, Held] => {
    const all = [...holders];
    return all.reduce((most, next) => (next[1].bytes > most[1].bytes ? next : most), all[0] as [string, Held]);
  };

  const makeRoom = (): void => {
    while (bytes > mostBytes) {
      const [holder, { keys }] = holderOfMost();
      const [oldest] = keys as Set<string> & Iterable<string>;
      letGo(oldest as string, entries.get(oldest as string) as Entry<Value>, holder);
    }
  };

  return {
    look: (key) => entries.get(key)?.value,
    use(key, holder) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      hold(key, entry, holder);
      makeRoom();
      return entry.value;
    },
    set(key, value, holder) {
      const before = entries.get(key);
      const holdersBefore = [...(before?.holders ?? [])];
      for (const each of holdersBefore) letGo(key, before as Entry<Value>, each);
      const size = sizeOf(value, key);
      if (size > mostBytes) return;
      const entry = { value, size, holders: new Set<string>() };
      entries.set(key, entry);
      bytes += size;
      for (const each of [...holdersBefore, holder]) hold(key, entry, each);
      makeRoom();
    },
    bytes: () => bytes,
  };
}
