/**
 * A bounded map with several holders, none of which can evict what another one uses. If the map is full, values that are over go first. Then
 * the holder with the most bytes drops its least recently used values, as long as it has more than a share; and if nobody has, the youngest
 * holder does. So many young holders with little each evict nothing of an older one. A value is kept as long as it has a holder.
 *
 * Holders are compared by their names: the later in order is the younger, as it is with identifiers of version 7.
 */
export interface FairlyKept<Value> {
  /** The value of `key` or undefined. Does not count as a use. */
  look(key: string): Value | undefined;
  /** The value of `key` or undefined. Counts as a use by this holder, who becomes a holder of the value. */
  use(key: string, holder: string): Value | undefined;
  /** Stores `value` for this holder and for all holders of the previous value. A value that exceeds the bound by itself is not stored. */
  set(key: string, value: Value, holder: string): void;
  /** The bytes of all values together, including the records of their holders. */
  bytes(): number;
}

export interface FairlyKeptOptions<Value> {
  /** The maximum bytes of the map. */
  bytes: number;
  /** The bytes that a holder may have before it is the first to drop some. */
  share: number;
  /** Whether a value is of no more use. */
  isOver: (value: Value) => boolean;
  /** The approximate bytes of a value and its key. Called once, when it is set. */
  sizeOf: (value: Value, key: string) => number;
}

/** The approximate bytes of two map entries with their keys. */
const BYTES_OF_A_HOLD = 512;

interface Entry<Value> {
  value: Value;
  size: number;
  holders: Set<string>;
}

/** The keys of a holder, the least recently used first, and their bytes. */
interface Held {
  keys: Set<string>;
  bytes: number;
}

export function fairlyKept<Value>({
  bytes: mostBytes,
  share,
  isOver,
  sizeOf,
}: FairlyKeptOptions<Value>): FairlyKept<Value> {
  const entries = new Map<string, Entry<Value>>();
  const holders = new Map<string, Held>();
  let bytes = 0;

  const hold = (key: string, entry: Entry<Value>, holder: string): void => {
    const held = holders.get(holder) ?? { keys: new Set(), bytes: 0 };
    holders.set(holder, held);
    // A Set iterates in insertion order.
    if (!held.keys.delete(key)) {
      entry.holders.add(holder);
      held.bytes += entry.size + BYTES_OF_A_HOLD;
      bytes += BYTES_OF_A_HOLD;
    }
    held.keys.add(key);
  };

  const letGo = (key: string, holder: string): void => {
    const [entry, held] = [entries.get(key), holders.get(holder)];
    if (!entry || !held?.keys.delete(key)) return;
    held.bytes -= entry.size + BYTES_OF_A_HOLD;
    if (held.keys.size === 0) holders.delete(holder);
    bytes -= BYTES_OF_A_HOLD;
    entry.holders.delete(holder);
    if (entry.holders.size > 0) return;
    entries.delete(key);
    bytes -= entry.size;
  };

  /** Who drops something next: the holder with the most bytes if it exceeds its share, otherwise the youngest. */
  const nextToDrop = (): string => {
    let [most, mostHeld, youngest] = ["", 0, ""];
    for (const [holder, held] of holders) {
      if (held.bytes > mostHeld) [most, mostHeld] = [holder, held.bytes];
      if (holder > youngest) youngest = holder;
    }
    return mostHeld > share ? most : youngest;
  };

  const dropOver = (): void => {
    for (const [key, entry] of entries) {
      if (isOver(entry.value)) for (const holder of [...entry.holders]) letGo(key, holder);
    }
  };

  const makeRoom = (): void => {
    if (bytes > mostBytes) dropOver();
    while (bytes > mostBytes) {
      const holder = nextToDrop();
      const oldest = holders.get(holder)?.keys.values().next().value;
      if (oldest === undefined) return;
      letGo(oldest, holder);
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
      const holdersBefore = [...(entries.get(key)?.holders ?? [])];
      for (const each of holdersBefore) letGo(key, each);
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
