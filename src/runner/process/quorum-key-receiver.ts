import { generateReceiver } from "../../crypto/hpke.ts";
import { quorumPublicKeyOf, shareDigest } from "../../crypto/manifests/quorum-keys.ts";
import { openQuorumEnvelope } from "../../crypto/quorum-encryption.ts";
import { combineShares } from "../../crypto/secret-sharing.ts";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { MAX_TVC_OPERATORS_OF_SET } from "../../kernel/limits.ts";
import type { AwaitedQuorumKey, ProvisioningState } from "../runner.ts";

/** Receives the shares of one deployment's quorum key, encrypted to its own key, and combines them into the quorum key. */
export class QuorumKeyReceiver {
  readonly #secret: Buffer;
  readonly #publicKey: string;
  /** Valid shares by digest. They are kept, even if the same operator submits something else later. */
  readonly #shares = new Map<string, Buffer>();
  /** Current submissions that are not a share of the key: the expected digest and the envelope. */
  #wrong = new Set<string>();
  #seed: Buffer | undefined;

  constructor() {
    const { secret, publicKey } = generateReceiver();
    this.#secret = secret;
    this.#publicKey = toHex(publicKey);
  }

  get state(): ProvisioningState {
    const isProvisioned = this.#seed !== undefined;
    return { ephemeralPublicKey: this.#publicKey, isProvisioned, wrongShares: this.#wrong.size };
  }

  /** The quorum key, once complete. Must not be modified. */
  get seed(): Uint8Array | undefined {
    return this.#seed;
  }

  /** Reads the submitted shares. Returns whether the quorum key is complete. */
  take({ publicKey, threshold, shares }: AwaitedQuorumKey): boolean {
    if (this.#seed) return true;
    const wrong = new Set<string>();
    for (const { share: envelope, digest } of shares) {
      if (this.#shares.has(digest) || this.#shares.size >= MAX_TVC_OPERATORS_OF_SET) continue;
      const name = `${digest} ${envelope}`;
      const share = this.#wrong.has(name) ? undefined : this.#open(envelope, digest);
      if (share) this.#shares.set(digest, share);
      else wrong.add(name);
    }
    this.#wrong = wrong;
    const right = [...this.#shares.values()];
    if (right.length < threshold) return false;
    const seed = combineShares(right.slice(0, threshold));
    if (!seed) return false;
    if (quorumPublicKeyOf(seed) === publicKey) {
      this.#seed = seed;
      this.#forgetShares();
      return true;
    }
    wipe(seed);
    return false;
  }

  /** Wipes all secrets. No further shares are accepted. */
  forget(): void {
    this.#forgetShares();
    if (this.#seed) wipe(this.#seed);
    wipe(this.#secret);
  }

  #open(envelope: string, digest: string): Buffer | undefined {
    const share = openQuorumEnvelope(this.#secret, Buffer.from(envelope, "hex"));
    if (!share || shareDigest(share) === digest) return share;
    wipe(share);
    return undefined;
  }

  #forgetShares(): void {
    wipe(...this.#shares.values());
    this.#shares.clear();
    this.#wrong.clear();
  }
}
