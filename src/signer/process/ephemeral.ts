import { generateReceiver } from "../../crypto/hpke.ts";
import { toHex, wipe } from "../../kernel/bytes.ts";
import type { KeyReference, PolicyOutcome, SignedPayload } from "../protocol.ts";
import { generateSecret } from "./keys.ts";
import { publicPoint } from "./p256.ts";
import { signPayload } from "./sign.ts";

/** The keys of one run of the signer, which sign its statements. They are never stored and disappear with the process. */
export interface EphemeralKeys {
  /** Hex of the encryption key and the signing key, each an uncompressed P-256 point. */
  publicKey: string;
  /** When they were generated, in milliseconds. */
  startedAt: number;
  sign(payload: string): SignedPayload;
  forget(): void;
}

export function ephemeralKeys(): EphemeralKeys {
  const encryption = generateReceiver();
  // Nothing is encrypted to this key yet, and a secret that does not exist cannot leak.
  wipe(encryption.secret);
  const secret = generateSecret("CURVE_P256");
  const publicKey = toHex(encryption.publicKey) + toHex(publicPoint(secret));
  const key = { curve: "CURVE_P256", secret, origin: "ephemeral" } as const;
  return {
    publicKey,
    startedAt: Date.now(),
    sign(payload) {
      const { r, s } = signPayload(key, "sha256", Buffer.from(payload));
      return { payload, signature: r + s };
    },
    forget: () => wipe(secret),
  };
}

/** The statement that the signer derived this address from a key of the organization; `now` in milliseconds. */
export function addressPayload(organizationId: string, key: KeyReference, address: string, now: number): string {
  const origin = key.kind === "walletAccount" ? { walletId: key.walletId, derivationPath: key.path } : {};
  return JSON.stringify({
    type: "APP_PROOF_TYPE_ADDRESS_DERIVATION",
    timestampMs: String(now),
    addressDerivationProof: { organizationId, ...origin, address },
  });
}

/** The server's statement about an outcome. The signer sets the type itself, so that no such statement can pass as one about an address. */
export const outcomePayload = (policyOutcomeProof: PolicyOutcome, timestampMs: string): string =>
  JSON.stringify({ type: "APP_PROOF_TYPE_POLICY_OUTCOME", timestampMs, policyOutcomeProof });
