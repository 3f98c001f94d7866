import { forgetServiceKeyOwners } from "../../engine/keys/service-keys.ts";
import type { Logger } from "../../kernel/log.ts";
import type { SignerProcess } from "../../signer/client.ts";
import type { Reader } from "../../storage/engine.ts";
import { findRootKeys, type RememberedRootKeys } from "./remembered.ts";

/** What a server says of its root keys, in its row of `servers`; the command that rotates waits for it. */
export interface RootKeysOfServer {
  /** The ids of the root keys that its signer has open, of which the first seals. */
  open: readonly string[];
  /** Whether it takes part in a rotation: caches nothing that the previous root key sealed once it is false. */
  isRotating: boolean;
}

type FollowedSigner = Pick<SignerProcess, "rootKeyIds" | "sealsWith" | "readRootKeysAgain" | "sealWith">;

/** Follows a rotation of the root key with this server's signer, as the database tells. */
export class RootKeyFollower {
  readonly #signer: FollowedSigner;
  readonly #read: Reader;
  readonly #log: Logger;
  /** The state that was applied last. */
  #applied: RememberedRootKeys | undefined;
  /** Why the file could not be read again; logged once. */
  #problem: string | undefined;

  constructor({ signer, read, log }: { signer: FollowedSigner; read: Reader; log: Logger }) {
    this.#signer = signer;
    this.#read = read;
    this.#log = log;
  }

  /** Reads the database's root keys, and applies what has changed. */
  async look(): Promise<void> {
    const remembered = await findRootKeys(this.#read);
    if (!remembered) return;
    const before = this.#applied;
    this.#applied = remembered;
    const { current, previous, next } = remembered;
    if (this.#signer.sealsWith !== current) {
      this.#log.warn({ rootKeyId: current }, "the root key is being rotated: the new one seals from now on");
      await this.#signer.sealWith(current);
    }
    if (next !== undefined) await this.#getReadyFor(next);
    if (before?.previous !== undefined && previous === undefined) {
      forgetServiceKeyOwners();
      this.#log.warn({ rootKeyId: current }, "the root key was rotated: nothing is sealed with the previous one");
    }
  }

  get said(): RootKeysOfServer {
    return { open: this.#signer.rootKeyIds, isRotating: this.#applied?.previous !== undefined };
  }

  async #getReadyFor(rootKeyId: string): Promise<void> {
    const { rootKeyIds } = this.#signer;
    // A sealed signer has none open, and cannot open any.
    if (rootKeyIds.length === 0 || rootKeyIds.includes(rootKeyId)) return;
    try {
      await this.#signer.readRootKeysAgain();
      this.#problem = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem) this.#log.error({ reason: message }, "the root key file could not be read again");
      this.#problem = message;
    }
  }
}
