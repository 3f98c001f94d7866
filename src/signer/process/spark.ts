import { createHash, createHmac, randomBytes } from "node:crypto";
import { encodeEcdsaDer } from "../../crypto/ecdsa-der.ts";
import { secp256k1 } from "../../crypto/secp256k1.ts";
import { type Envelope, envelopeTo, open, seal } from "../../crypto/spark/ecies.ts";
import { type FrostSigning, frostShare, SoleSigner } from "../../crypto/spark/frost.ts";
import { add, isScalar, pointOf, signed } from "../../crypto/spark/group.ts";
import { type SparkDerivation, sparkKeyKind } from "../../crypto/spark/keys.ts";
import { leafDigest, leafTweakEntry, type SentLeaf, secretShare, transferDigest } from "../../crypto/spark/messages.ts";
import { withShares } from "../../crypto/spark/shares.ts";
import { toHex, wipe } from "../../kernel/bytes.ts";
import type {
  ClaimSparkTransferRequest,
  PrepareSparkTransferRequest,
  Responses,
  SparkClaim,
  SparkSharing,
  SparkSignature,
  SparkTransfer,
} from "../protocol.ts";
import type { OpenKey } from "./keys.ts";
import { withSecret } from "./organization.ts";
import { SigningRefused } from "./refused.ts";
import { signPayload } from "./sign.ts";

/** The keys of one wallet account in use. */
export interface SparkWallet {
  identity: OpenKey;
  /** The caller wipes it. */
  secretOf(derivation: SparkDerivation): Uint8Array;
}

export type OpenSparkWallet = <T>(use: (wallet: SparkWallet) => T) => T;

/** Makes a share for each signature, each with its own nonces. */
export function signFrost(wallet: SparkWallet, signatures: readonly SparkSignature[]): Responses["signSparkFrost"] {
  const shares: { signatureShare: string; hiding: string; binding: string }[] = [];
  for (const [at, signature] of signatures.entries()) {
    try {
      shares.push(shareOf(wallet, signature));
    } catch (error) {
      if (error instanceof SoleSigner) return { problem: "ownKey", at };
      throw error;
    }
  }
  return { signatures: shares };
}

function shareOf(wallet: SparkWallet, { derivation, ...signature }: SparkSignature) {
  // The key derives preimages and is not meant for signatures.
  if (sparkKeyKind(derivation) === "htlcPreimage") throw new SigningRefused("the key for HTLC preimages must not sign");
  return withSecret(wallet.secretOf(derivation), (secret) => {
    const { share, hiding, binding } = frostShare(secret, signingOf(signature));
    return { signatureShare: toHex(share), hiding: toHex(hiding), binding: toHex(binding) };
  });
}

/**
 * Transfers leaves to a receiver. A slice works on some of the leaves and encrypts the results before it ends, into packages that grow with
 * each slice. So no secret of the wallet is open between two slices.
 */
export function* prepareTransfer(
  openWallet: OpenSparkWallet,
  { transfer }: PrepareSparkTransferRequest,
  slices: readonly SparkTransfer["leaves"][],
): Generator<void, Responses["prepareSparkTransfer"], void> {
  const envelopes = envelopesTo(transfer);
  const newPublicKeys: string[] = [];
  for (const leaves of slices) {
    openWallet((wallet) => {
      for (const leaf of leaves) newPublicKeys.push(sendLeaf(wallet, transfer, leaf, envelopes));
    });
    yield;
  }
  const packages = envelopes.map((envelope) => envelope.finish());
  const { transferId, operatorRecipients } = transfer;
  const named = operatorRecipients.map(({ operatorId }, at) => [operatorId, packages[at] as Buffer] as const);
  const digest = transferDigest(transferId, named);
  const signature = openWallet(({ identity }) => compactSignature(identity, digest));
  return { packages: packages.map(base64), userSignature: toHex(encodeEcdsaDer(signature)), newPublicKeys };
}

/** Claims leaves that somebody sent, in the same way. No ciphertext is decrypted before all signatures are verified. */
export function* claimTransfer(
  openWallet: OpenSparkWallet,
  { claim }: ClaimSparkTransferRequest,
  slices: readonly SparkClaim["leaves"][],
): Generator<void, Responses["claimSparkTransfer"], void> {
  for (const leaves of slices) {
    const unsigned = leaves.find((leaf) => !isSentBySender(claim, leaf));
    if (unsigned) return { problem: "unsigned", leafId: unsigned.leafId };
    yield;
  }
  const envelopes = envelopesTo(claim);
  const newPublicKeys: string[] = [];
  for (const leaves of slices) {
    const undecryptable = openWallet((wallet) =>
      leaves.find((leaf) => {
        const publicKey = claimLeaf(wallet, claim, leaf, envelopes);
        if (publicKey !== undefined) newPublicKeys.push(publicKey);
        return publicKey === undefined;
      }),
    );
    if (undecryptable) return { problem: "undecryptable", leafId: undecryptable.leafId };
    yield;
  }
  return { packages: envelopes.map((envelope) => base64(envelope.finish())), newPublicKeys };
}

/** Creates a preimage that nobody has in full: returns its hash, and a share for each operator. */
export function prepareLightningReceive(
  wallet: SparkWallet,
  sharing: SparkSharing,
): Responses["prepareSparkLightningReceive"] {
  return withSecret(drawPreimage(wallet), (preimage) => {
    const packages = withShares(preimage, sizeOf(sharing), ({ shares, proofs }) =>
      sharing.operatorRecipients.map(({ encryptionPublicKey }, at) => {
        const message = Buffer.concat(secretShare(shares[at] as Uint8Array, proofs));
        return withSecret(message, () => base64(seal(bytes(encryptionPublicKey), message)));
      }),
    );
    return { packages, paymentHash: createHash("sha256").update(preimage).digest("hex") };
  });
}

/**
 * Adds the change of a leaf's key to the packages, and returns the new public key in hex.
 *
 * @throws SigningRefused if a key is not a leaf's key, because the operators and the receiver together could compute it
 */
function sendLeaf(
  wallet: SparkWallet,
  transfer: SparkTransfer,
  { leafId, oldLeafDerivation, newLeafDerivation, ...refunds }: SparkTransfer["leaves"][number],
  envelopes: readonly Envelope[],
): string {
  if ([oldLeafDerivation, newLeafDerivation].some((each) => sparkKeyKind(each) !== "signingLeaf")) {
    throw new SigningRefused("only the keys of leaves can be transferred");
  }
  return withSecret(wallet.secretOf(newLeafDerivation), (fresh) =>
    withSecret(wallet.secretOf(oldLeafDerivation), (old) => {
      const secretCipher = seal(bytes(transfer.receiverPublicKey), fresh);
      const signature = compactSignature(wallet.identity, leafDigest(leafId, transfer.transferId, secretCipher));
      const sent = {
        secretCipher,
        signature,
        refundSignature: bytes(refunds.refundSignature),
        directRefundSignature: bytes(refunds.directRefundSignature),
        directFromCpfpRefundSignature: bytes(refunds.directFromCpfpRefundSignature),
      };
      const tweak = differenceOf(old, fresh);
      if (!tweak) throw new SigningRefused("the new key of a leaf must differ from its old one");
      withSecret(tweak, () => shareTweak(tweak, transfer, { leafId, sent }, envelopes));
      return toHex(pointOf(fresh));
    }),
  );
}

/** The same for a leaf that was received; undefined if what was sent is unusable. */
function claimLeaf(
  wallet: SparkWallet,
  claim: SparkClaim,
  { leafId, ciphertext }: SparkClaim["leaves"][number],
  envelopes: readonly Envelope[],
): string | undefined {
  const inbound = open(wallet.identity.secret, bytes(ciphertext));
  if (!inbound) return undefined;
  return withSecret(inbound, () =>
    withSecret(wallet.secretOf({ signingLeaf: { leafId } }), (own) => {
      const tweak = inbound.length === 32 && isScalar(inbound) ? differenceOf(inbound, own) : undefined;
      if (!tweak) return undefined;
      withSecret(tweak, () => shareTweak(tweak, claim, { leafId }, envelopes));
      return toHex(pointOf(own));
    }),
  );
}

function shareTweak(
  tweak: Uint8Array,
  sharing: SparkSharing,
  leaf: { leafId: string; sent?: SentLeaf },
  envelopes: readonly Envelope[],
): void {
  withShares(tweak, sizeOf(sharing), ({ shares, proofs, points }) => {
    const publicShares = sharing.operatorRecipients.map(
      ({ operatorId }, at) => [operatorId, points[at] as Uint8Array] as const,
    );
    const { before, after } = leafTweakEntry({ ...leaf, proofs, publicShares });
    for (const [at, envelope] of envelopes.entries()) {
      envelope.append(before);
      envelope.append(shares[at] as Uint8Array);
      envelope.append(after);
    }
  });
}

function isSentBySender(
  { transferId, senderIdentityPublicKey }: SparkClaim,
  { leafId, ciphertext, senderSignature }: SparkClaim["leaves"][number],
): boolean {
  const digest = leafDigest(leafId, transferId, bytes(ciphertext));
  try {
    const signature = secp256k1.signatureNormalize(Uint8Array.from(bytes(senderSignature)));
    return secp256k1.ecdsaVerify(signature, digest, bytes(senderIdentityPublicKey));
  } catch {
    // Numbers that are not below the order.
    return false;
  }
}

/** The first minus the second; undefined if they are equal. The caller wipes it. */
function differenceOf(minuend: Uint8Array, subtrahend: Uint8Array): Uint8Array | undefined {
  if (Buffer.compare(minuend, subtrahend) === 0) return undefined;
  return add(signed(subtrahend, true), minuend);
}

/** Derived from the wallet's own key for preimages and fresh randomness. It is a scalar, so that it can be shared. */
function drawPreimage(wallet: SparkWallet): Buffer {
  return withSecret(wallet.secretOf({ htlcPreimage: {} }), (key) => {
    for (;;) {
      const random = randomBytes(32);
      const preimage = createHmac("sha256", key).update("keystead/spark/preimage/v1").update(random).digest();
      wipe(random);
      if (isScalar(preimage)) return preimage;
    }
  });
}

/** r and s, 64 bytes. */
function compactSignature(identity: OpenKey, digest: Uint8Array): Buffer {
  const { r, s } = signPayload(identity, "none", digest);
  return Buffer.from(r + s, "hex");
}

const signingOf = ({
  message,
  verifyingKey,
  operatorCommitments,
  adaptorPublicKey,
}: Omit<SparkSignature, "derivation">): FrostSigning => ({
  message: bytes(message),
  verifyingKey: bytes(verifyingKey),
  commitments: operatorCommitments.map(({ id, hiding, binding }) => ({
    id: bytes(id),
    hiding: bytes(hiding),
    binding: bytes(binding),
  })),
  ...(adaptorPublicKey ? { adaptor: bytes(adaptorPublicKey) } : {}),
});

const envelopesTo = ({ operatorRecipients }: SparkSharing): Envelope[] =>
  operatorRecipients.map(({ encryptionPublicKey }) => envelopeTo(bytes(encryptionPublicKey)));

const sizeOf = ({ threshold, operatorRecipients }: SparkSharing) => ({ threshold, count: operatorRecipients.length });
const bytes = (hex = ""): Buffer => Buffer.from(hex, "hex");
const base64 = (packed: Uint8Array): string => Buffer.from(packed).toString("base64");
