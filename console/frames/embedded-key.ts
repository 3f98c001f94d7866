import { generateP256KeyPair, getPublicKey } from "@turnkey/crypto";
import { uint8ArrayToHexString } from "@turnkey/encoding";

/**
 * The key that messages to a frame are encrypted to. It outlives a visit, as what is sent to it may come by e-mail; browsers keep it apart
 * for each site that shows the frame.
 */

const KEPT_MS = 48 * 3_600_000;
/** Whatever the page asks for. */
const LONGEST_KEPT_MS = 30 * 24 * 3_600_000;

interface Stored {
  /** In hex. */
  privateKey: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

export class EmbeddedKey {
  readonly #name: string;
  /** Where the browser lets the frame keep nothing, it lasts as long as the frame. */
  #inMemory: string | null = null;

  /** @param frame whose key it is: each has one of its own */
  constructor(frame: string) {
    this.#name = `keystead.${frame}.embedded-key`;
  }

  /** The uncompressed point in hex; that of a new key where there is none. */
  ensure(lifetimeMs?: unknown): string {
    if (!this.#stored()) this.#store({ privateKey: generateP256KeyPair().privateKey, expiresAt: expiryOf(lifetimeMs) });
    return this.publicKey() as string;
  }

  /** The uncompressed point in hex; null where there is no key. */
  publicKey(): string | null {
    const stored = this.#stored();
    return stored ? uint8ArrayToHexString(getPublicKey(stored.privateKey, false)) : null;
  }

  /** In hex. @throws Error where there is none */
  privateKey(): string {
    const stored = this.#stored();
    if (!stored) throw new Error("the frame has no key; initialize it first");
    return stored.privateKey;
  }

  clear(): void {
    this.#inMemory = null;
    withStorage((storage) => storage.removeItem(this.#name));
  }

  #stored(): Stored | undefined {
    const text = withStorage((storage) => storage.getItem(this.#name)) ?? this.#inMemory;
    const stored = text === null ? undefined : (JSON.parse(text) as Stored);
    if (stored && stored.expiresAt <= Date.now()) this.clear();
    return stored && stored.expiresAt > Date.now() ? stored : undefined;
  }

  #store(stored: Stored): void {
    const text = JSON.stringify(stored);
    const isKept = withStorage((storage) => {
      storage.setItem(this.#name, text);
      return true;
    });
    // A copy beside the stored key would outlive its clearing by another tab.
    this.#inMemory = isKept ? null : text;
  }
}

function expiryOf(lifetimeMs: unknown): number {
  const asked = typeof lifetimeMs === "number" && lifetimeMs > 0 ? lifetimeMs : KEPT_MS;
  return Date.now() + Math.min(asked, LONGEST_KEPT_MS);
}

/** Undefined where the browser keeps nothing for a frame of another site. */
function withStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(localStorage);
  } catch {
    return undefined;
  }
}
