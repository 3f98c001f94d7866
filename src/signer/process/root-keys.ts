import { createHmac } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import type { Sealed } from "../protocol.ts";
import { seal, unseal } from "./seal.ts";

/** The root keys of a file, open in memory. There are two during a rotation: one seals, and both open what either has sealed. */
export class RootKeys {
  /** The first one seals. */
  readonly #keys: readonly Buffer[];
  readonly ids: readonly string[];

  /** @param sealsWith the id of the one that seals; by default, or if there is none with this id, the first */
  constructor(keys: readonly Buffer[], sealsWith?: string) {
    const isChosen = (key: Buffer) => rootKeyId(key) === sealsWith;
    this.#keys = [...keys.filter(isChosen), ...keys.filter((key) => !isChosen(key))];
    this.ids = this.#keys.map(rootKeyId);
  }

  /** For another file with the same keys, or some of them. They are wiped with these. */
  get keys(): readonly Buffer[] {
    return this.#keys;
  }

  seal(context: readonly string[], plaintext: Uint8Array): Sealed {
    return seal(this.#sealing, context, plaintext);
  }

  /** The plaintext, which the caller wipes; undefined if it was not sealed with any of these keys, or for something else. */
  unseal(context: readonly string[], sealed: Sealed): Buffer | undefined {
    for (const key of this.#keys) {
      const plaintext = unseal(key, context, sealed);
      if (plaintext) return plaintext;
    }
    return undefined;
  }

  /** The same sealed with the key that seals, and unchanged if it is already; undefined if it cannot be opened. */
  reseal(context: readonly string[], sealed: Sealed): Sealed | undefined {
    const current = unseal(this.#sealing, context, sealed);
    const plaintext = current ?? this.unseal(context, sealed);
    if (!plaintext) return undefined;
    try {
      return current ? sealed : this.seal(context, plaintext);
    } finally {
      wipe(plaintext);
    }
  }

  wipe(): void {
    for (const key of this.#keys) wipe(key);
  }

  get #sealing(): Buffer {
    return this.#keys[0] as Buffer;
  }
}

/** An id for a root key that reveals nothing about it. The database stores the id of the root key that seals its organizations' keys. */
export function rootKeyId(rootKey: Uint8Array): string {
  return createHmac("sha256", rootKey).update("keystead root key id").digest("hex").slice(0, 32);
}
