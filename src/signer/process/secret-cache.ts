import { hash } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Curve, Sealed } from "../protocol.ts";
import type { Organization } from "./organization.ts";

/**
 * Secrets that are costly to make or to open, kept for a short while and for a bounded number. What goes in and what comes out are
 * copies; those in here are wiped when they expire or give way to others.
 */
export interface SecretCache {
  /** The secret under `name`, made and remembered if there is none. The caller wipes it. */
  obtain(name: string, make: () => Uint8Array): Uint8Array;
  /** Wipes all. */
  clear(): void;
}

export interface SecretCacheOptions {
  /** 0 remembers nothing. */
  entries: number;
  /** Counted from the making, however often the secret is used. 0 remembers nothing. */
  lifetimeMs: number;
}

export function secretCache({ entries, lifetimeMs }: SecretCacheOptions): SecretCache {
  if (entries === 0 || lifetimeMs === 0) return { obtain: (_name, make) => make(), clear() {} };
  const known = recentlyUsed<{ secret: Uint8Array; timer: NodeJS.Timeout }>({
    entries,
    dispose({ secret, timer }) {
      clearTimeout(timer);
      wipe(secret);
    },
  });
  return {
    obtain(name, make) {
      const entry = known.get(name);
      if (entry) return Uint8Array.from(entry.secret);
      const secret = make();
      // The signer ends with its socket and does not wait for its secrets to expire.
      const timer = setTimeout(() => known.forget(name), lifetimeMs).unref();
      known.set(name, { secret: Uint8Array.from(secret), timer });
      return secret;
    },
    clear: known.clear,
  };
}

/**
 * A stored private key. Its name takes in everything that opening it depends on, so that what was changed, moved or asked for by
 * another organization is opened, and refused, as if there were no cache. The caller wipes it.
 */
export function cachedKey(
  cache: SecretCache,
  { organizationId, organizationKey, open }: Organization,
  { keyId, curve, sealedKey }: { keyId: string; curve: Curve; sealedKey: Sealed },
): Uint8Array {
  const name = JSON.stringify(["key", organizationId, organizationKey, keyId, curve, sealedKey]);
  return cache.obtain(hash("sha256", name, "base64"), () => open(["key", keyId, curve], sealedKey));
}
