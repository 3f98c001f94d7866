import { type Static, Type } from "typebox";
import { ECIES_OVERHEAD } from "../../crypto/spark/ecies.ts";
import { USER_ID } from "../../crypto/spark/frost.ts";
import { isPoint, isScalar } from "../../crypto/spark/group.ts";
import { leafIndex, type SparkDerivation, sparkKeyKinds } from "../../crypto/spark/keys.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_OPERATOR_ID_LENGTH,
  MAX_REFUND_SIGNATURE_BYTES,
  MAX_SPARK_LEAVES,
  MAX_SPARK_OPERATORS,
  MAX_SPARK_PACKAGES_BYTES,
  MAX_SPARK_SIGNATURES,
} from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";

/**
 * The parameters of Spark's operations. Every number and point has exactly one spelling, lowercase hex without prefix. Policies compare
 * texts, and another spelling would bypass them.
 */

const hexOf = (bytes: number, what: string) =>
  Type.String({
    pattern: `^[0-9a-f]{${2 * bytes}}$`,
    description: `${what}: ${bytes} bytes in lowercase hex without prefix`,
  });
const POINT = "0[23][0-9a-f]{64}";
const Point = Type.String({
  pattern: `^${POINT}$`,
  description: "a compressed point of secp256k1: 33 bytes in lowercase hex without prefix",
});
const PointOrEmpty = Type.String({
  pattern: `^(${POINT})?$`,
  description: "a compressed point of secp256k1 in lowercase hex without prefix, or empty for none",
});
const SECRET_CIPHER_BYTES = ECIES_OVERHEAD + 32;
const SecretCipher = hexOf(SECRET_CIPHER_BYTES, "an encrypted secret");
const RefundSignature = Type.Optional(
  Type.String({
    pattern: `^([0-9a-f]{2}){0,${MAX_REFUND_SIGNATURE_BYTES}}$`,
    description: `a signature of up to ${MAX_REFUND_SIGNATURE_BYTES} bytes in lowercase hex, or empty for none`,
  }),
);

/** Exactly one of these members must be given, which `checkDerivation` enforces. */
const Derivation = Strict({
  identity: Type.Optional(Strict({})),
  signingLeaf: Type.Optional(Strict({ leafId: Id })),
  deposit: Type.Optional(Strict({})),
  staticDeposit: Type.Optional(Strict({ index: Type.Integer({ minimum: 0, maximum: 0x7fffffff }) })),
  htlcPreimage: Type.Optional(Strict({})),
});

export const Signatures = SomeOf(
  Strict({
    derivation: Derivation,
    message: hexOf(32, "a message"),
    verifyingKey: Point,
    operatorCommitments: SomeOf(
      Strict({ id: hexOf(32, "an operator's number"), hiding: Point, binding: Point }),
      MAX_SPARK_OPERATORS,
    ),
    adaptorPublicKey: Type.Optional(PointOrEmpty),
  }),
  MAX_SPARK_SIGNATURES,
);

const sharing = {
  threshold: Type.Integer({ minimum: 2, maximum: MAX_SPARK_OPERATORS }),
  operatorRecipients: SomeOf(
    Strict({
      operatorId: Type.String({
        minLength: 1,
        maxLength: MAX_OPERATOR_ID_LENGTH,
        pattern: "^[^\\u0000-\\u001f\\u007f]+$",
        description: `an operator's identifier of 1 to ${MAX_OPERATOR_ID_LENGTH} printable characters`,
      }),
      encryptionPublicKey: Point,
    }),
    MAX_SPARK_OPERATORS,
  ),
};

export const Transfer = Strict({
  transferId: Id,
  leaves: SomeOf(
    Strict({
      leafId: Id,
      oldLeafDerivation: Derivation,
      newLeafDerivation: Derivation,
      refundSignature: RefundSignature,
      directRefundSignature: RefundSignature,
      directFromCpfpRefundSignature: RefundSignature,
    }),
    MAX_SPARK_LEAVES,
  ),
  ...sharing,
  receiverPublicKey: Point,
});

export const Claim = Strict({
  leaves: SomeOf(
    Strict({ leafId: Id, ciphertext: SecretCipher, senderSignature: hexOf(64, "a compact signature") }),
    MAX_SPARK_LEAVES,
  ),
  ...sharing,
  transferId: Id,
  senderIdentityPublicKey: Point,
});

export const LightningReceive = Strict(sharing);

export const OperatorPackages = Type.Array(Type.Object({ operatorId: Type.String(), encryptedPackage: Type.String() }));
export const LeafPublicKeys = Type.Array(Type.Object({ leafId: Type.String(), publicKey: Type.String() }));

type Sharing = Static<typeof LightningReceive>;

/** The organization on whose behalf a check runs; long checks wait for its turn. */
type Turns = { organizationId: string };

/** @throws KeysteadError FIELD_INVALID */
export async function checkSignatures(signatures: Static<typeof Signatures>, turns: Turns): Promise<void> {
  for (const [at, signature] of signatures.entries()) {
    const field = `parameters.signatures.${at}`;
    checkDerivation(signature.derivation, `${field}.derivation`);
    if (signature.derivation.htlcPreimage) {
      refuse(`${field}.derivation`, "must name a key that signs; the key of `htlcPreimage` only makes preimages");
    }
    await checkPoint(signature.verifyingKey, `${field}.verifyingKey`, turns);
    if (signature.adaptorPublicKey) await checkPoint(signature.adaptorPublicKey, `${field}.adaptorPublicKey`, turns);
    checkIds(signature.operatorCommitments, `${field}.operatorCommitments`);
    for (const [index, { hiding, binding }] of signature.operatorCommitments.entries()) {
      await checkPoint(hiding, `${field}.operatorCommitments.${index}.hiding`, turns);
      await checkPoint(binding, `${field}.operatorCommitments.${index}.binding`, turns);
    }
  }
}

/** @throws KeysteadError FIELD_INVALID */
export async function checkTransfer(transfer: Static<typeof Transfer>, turns: Turns): Promise<void> {
  const { leaves, receiverPublicKey } = transfer;
  const field = "parameters.transfer";
  await checkSharing(transfer, field, turns);
  await checkPoint(receiverPublicKey, `${field}.receiverPublicKey`, turns);
  const newLeafIds = leaves.map((leaf, at) => {
    const name = `${field}.leaves.${at}`;
    const old = leafOf(leaf.oldLeafDerivation, `${name}.oldLeafDerivation`);
    const fresh = leafOf(leaf.newLeafDerivation, `${name}.newLeafDerivation`);
    if (leafIndex(old) === leafIndex(fresh)) {
      refuse(`${name}.newLeafDerivation`, "must name a key other than `oldLeafDerivation`");
    }
    return fresh;
  });
  checkDistinct(
    leaves.map(({ leafId }) => leafId),
    (at) => `${field}.leaves.${at}.leafId`,
  );
  const place = (at: number) => `${field}.leaves.${at}.newLeafDerivation`;
  checkDistinct(newLeafIds.map(leafIndex), place);
  checkPackages(transfer, `${field}.leaves`);
}

/** @throws KeysteadError FIELD_INVALID */
export async function checkClaim(claim: Static<typeof Claim>, turns: Turns): Promise<void> {
  const field = "parameters.claim";
  await checkSharing(claim, field, turns);
  await checkPoint(claim.senderIdentityPublicKey, `${field}.senderIdentityPublicKey`, turns);
  checkDistinct(
    claim.leaves.map(({ leafId }) => leafId),
    (at) => `${field}.leaves.${at}.leafId`,
  );
  checkPackages(claim, `${field}.leaves`);
}

/** @throws KeysteadError FIELD_INVALID */
export const checkLightningReceive = (receive: Sharing, turns: Turns): Promise<void> =>
  checkSharing(receive, "parameters.lightningReceive", turns);

async function checkSharing({ threshold, operatorRecipients }: Sharing, field: string, turns: Turns): Promise<void> {
  if (threshold > operatorRecipients.length) {
    refuse(`${field}.threshold`, `must be 2 to ${operatorRecipients.length}, the number of operatorRecipients`);
  }
  for (const [at, { operatorId, encryptionPublicKey }] of operatorRecipients.entries()) {
    const name = `${field}.operatorRecipients.${at}`;
    if (!operatorId.isWellFormed()) refuse(`${name}.operatorId`, "must be Unicode without half surrogate pairs");
    await checkPoint(encryptionPublicKey, `${name}.encryptionPublicKey`, turns);
  }
  // An operator with two shares would count twice toward the threshold. Policies also rely on each key in the list being a different operator's.
  for (const member of ["operatorId", "encryptionPublicKey"] as const) {
    const values = operatorRecipients.map((recipient) => recipient[member]);
    checkDistinct(values, (at) => `${field}.operatorRecipients.${at}.${member}`);
  }
}

function checkDerivation(derivation: SparkDerivation, field: string): void {
  const named = sparkKeyKinds.filter((kind) => derivation[kind] !== undefined);
  if (named.length !== 1) refuse(field, `must have exactly one member of ${sparkKeyKinds.join(", ")}`);
}

function leafOf(derivation: SparkDerivation, field: string): string {
  checkDerivation(derivation, field);
  return derivation.signingLeaf?.leafId ?? refuse(field, "must be a `signingLeaf`: only leaves can be transferred");
}

function checkIds(commitments: readonly { id: string }[], field: string): void {
  for (const [at, { id }] of commitments.entries()) {
    const bytes = Buffer.from(id, "hex");
    if (!isScalar(bytes)) refuse(`${field}.${at}.id`, "must be a number from 1 to one below the order of secp256k1");
    if (bytes.equals(USER_ID)) refuse(`${field}.${at}.id`, "must be an operator's, not the user's own");
  }
  checkDistinct(
    commitments.map(({ id }) => id),
    (at) => `${field}.${at}.id`,
  );
}

function checkDistinct(values: readonly unknown[], fieldOf: (at: number) => string): void {
  const seen = new Set<unknown>();
  for (const [at, value] of values.entries()) {
    if (seen.has(value)) refuse(fieldOf(at), "must differ from those before it in the list");
    seen.add(value);
  }
}

async function checkPoint(hex: string, field: string, { organizationId }: Turns): Promise<void> {
  await pause(organizationId);
  if (!isPoint(Buffer.from(hex, "hex"))) refuse(field, "must be a point of secp256k1: it is not on the curve");
}

/** The maximum overhead of each entry of a message. */
const FRAME_BYTES = 8;

/** Rejects a request if an upper bound for the size of its packages exceeds the limit. */
function checkPackages(
  { leaves, threshold, operatorRecipients }: Sharing & { leaves: readonly Refunds[] },
  field: string,
): void {
  const operators = operatorRecipients.reduce(
    (sum, { operatorId }) => sum + Buffer.byteLength(operatorId) + 33 + 2 * FRAME_BYTES,
    0,
  );
  const fixed = 36 + 32 + 64 + SECRET_CIPHER_BYTES + 8 * FRAME_BYTES;
  const perLeaf = fixed + threshold * (33 + FRAME_BYTES) + operators;
  const refunds = leaves.reduce((sum, leaf) => sum + refundBytes(leaf), 0);
  const bytes = operatorRecipients.length * (ECIES_OVERHEAD + leaves.length * perLeaf + refunds);
  if (bytes > MAX_SPARK_PACKAGES_BYTES) {
    refuse(field, `would make packages of more than ${MAX_SPARK_PACKAGES_BYTES} bytes; send fewer leaves at a time`);
  }
}

interface Refunds {
  leafId: string;
  refundSignature?: string;
  directRefundSignature?: string;
  directFromCpfpRefundSignature?: string;
}

function refundBytes({ refundSignature, directRefundSignature, directFromCpfpRefundSignature }: Refunds): number {
  const signatures = [refundSignature, directRefundSignature, directFromCpfpRefundSignature];
  return signatures.reduce((sum, hex = "") => sum + hex.length / 2, 0);
}

function refuse(field: string, reason: string): never {
  return fail("FIELD_INVALID", { field, reason });
}
