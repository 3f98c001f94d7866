import { hash } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Curve, Sealed } from "../protocol.ts";
import type { Organization } from "./organization.ts";

/**
 * Secrets that are expensive to derive or to open, cached for a short time and up to a limit. The cache copies secrets in and out, and
 * wipes its own copies when they expire or are evicted.
 */
export interface SecretCache {
  /** The secret under `name`; if there is none, calls `make` and caches the result. The caller wipes it. */
  obtain(name: string, make: () => Uint8Array): Uint8Array;
  /** Wipes all secrets. */
  clear(): void;
}

export interface SecretCacheOptions {
  /** 0 disables the cache. */
  entries: number;
  /** Counted from when the secret was made, however often it is used. 0 disables the cache. */
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
      // The signer exits with its socket and does not wait for its secrets to expire.
      const timer = setTimeout(() => known.forget(name), lifetimeMs).unref();
      known.set(name, { secret: Uint8Array.from(secret), timer });
      return secret;
    },
    clear: known.clear,
  };
}

/**
 * A stored private key. Its cache name includes everything that opening depends on. If a sealed key was changed, moved or requested by
 * another organization, it is opened and refused as if there were no cache. The caller wipes it.
 */
export function cachedKey(
  cache: SecretCache,
  { organizationId, organizationKey, open }: Organization,
  { keyId, curve, sealedKey }: { keyId: string; curve: Curve; sealedKey: Sealed },
): Uint8Array {
  const name = JSON.stringify(["key", organizationId, organizationKey, keyId, curve, sealedKey]);
  return cache.obtain(hash("sha256", name, "base64"), () => open(["key", keyId, curve], sealedKey));
}
