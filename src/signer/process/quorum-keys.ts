import { createHash, randomBytes } from "node:crypto";
import { parseP256Point } from "../../crypto/hpke.ts";
import { type Provisioning, readProvisioning } from "../../crypto/manifests/provisioning.ts";
import { QUORUM_SEED_BYTES, quorumPublicKeyOf, shareDigest } from "../../crypto/manifests/quorum-keys.ts";
import { openQuorumEnvelope, sealQuorumEnvelope } from "../../crypto/quorum-encryption.ts";
import { splitSecret } from "../../crypto/secret-sharing.ts";
import { toHex, wipe } from "../../kernel/bytes.ts";
import type { CreateQuorumKeyRequest, ReEncryptQuorumShareRequest, Responses } from "../protocol.ts";
import { withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";

/** The signer keeps nothing of the key: each share goes to one operator. */
export function createQuorumKey({
  threshold,
  operatorEncryptKeys,
}: CreateQuorumKeyRequest): Responses["createQuorumKey"] {
  const receivers = operatorEncryptKeys.map(pointOf);
  const { seed, publicKey } = newSeed();
  const shares = withSecret(seed, () => splitSecret(seed, { threshold, shares: receivers.length }));
  try {
    return {
      publicKey,
      shares: receivers.map((receiver, index) => {
        const share = shares[index] as Buffer;
        return { encryptedShare: toHex(sealQuorumEnvelope(receiver, share)), digest: shareDigest(share) };
      }),
    };
  } finally {
    wipe(...shares);
  }
}

function newSeed(): { seed: Buffer; publicKey: string } {
  for (;;) {
    const seed = randomBytes(QUORUM_SEED_BYTES);
    const publicKey = quorumPublicKeyOf(seed);
    if (publicKey !== undefined) return { seed, publicKey };
    wipe(seed);
  }
}

/** The installation's statement for this deployment and manifest, if it made the document; otherwise undefined. */
export function statedProvisioning(
  {
    deploymentId,
    attestationDocB64,
    manifestB64,
  }: Pick<ReEncryptQuorumShareRequest, "deploymentId" | "attestationDocB64" | "manifestB64">,
  publicKeys: readonly string[],
): Provisioning | undefined {
  const stated = readProvisioning(Buffer.from(attestationDocB64, "base64"), publicKeys);
  const hash = createHash("sha256").update(Buffer.from(manifestB64, "base64")).digest("hex");
  return stated?.deploymentId === deploymentId && stated.manifestHash === hash ? stated : undefined;
}

/** The share encrypted to another recipient, in hex; undefined if it was not encrypted to this operator. */
export function reEncryptedTo(target: string, secret: Uint8Array, encryptedShare: string): string | undefined {
  const receiver = pointOf(target);
  const share = openQuorumEnvelope(secret, Buffer.from(encryptedShare, "hex"));
  return share && withSecret(share, () => toHex(sealQuorumEnvelope(receiver, share)));
}

function pointOf(hex: string): Buffer {
  const point = parseP256Point(hex);
  if (!point) throw new SigningRefused("the key to encrypt to is not a point of P-256");
  return point;
}
