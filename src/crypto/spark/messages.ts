import { createHash } from "node:crypto";

/** The messages of Spark's operators (proto3): empty fields are omitted. Parts are not copied before they are sent. */

type Part = Uint8Array;

/** A bytes or string field: its tag and length, then its content. */
function field(number: number, ...content: readonly Part[]): Part[] {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return length === 0 ? [] : [Uint8Array.from([...varint((number << 3) | 2), ...varint(length)]), ...content];
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

const utf8 = (text: string): Part => Buffer.from(text, "utf8");

/** `SecretShare`, in parts. */
export function secretShare(share: Uint8Array, proofs: readonly Uint8Array[]): Part[] {
  return [...field(1, share), ...proofs.flatMap((proof) => field(2, proof))];
}

/** How the key of one leaf changes, without the share, which differs between operators. */
export interface LeafTweak {
  leafId: string;
  proofs: readonly Uint8Array[];
  /** The point of each operator's share. */
  publicShares: readonly (readonly [operatorId: string, point: Uint8Array])[];
  /** Absent for a claim. */
  sent?: SentLeaf;
}
export interface SentLeaf {
  secretCipher: Uint8Array;
  /** 64 bytes. */
  signature: Uint8Array;
  refundSignature: Uint8Array;
  directRefundSignature: Uint8Array;
  directFromCpfpRefundSignature: Uint8Array;
}

/**
 * One entry of `SendLeafKeyTweaks` or `ClaimLeafKeyTweaks`, which are lists of such entries and nothing else. An operator's entry is
 * `before`, its share, `after`.
 */
export function leafTweakEntry({ leafId, proofs, publicShares, sent }: LeafTweak): { before: Buffer; after: Buffer } {
  const share = new Uint8Array(32);
  const afterShare = proofs.flatMap((proof) => field(2, proof));
  const rest = [
    ...publicShares.flatMap(([operatorId, point]) => field(3, ...field(1, utf8(operatorId)), ...field(2, point))),
    ...(sent ? sentFields(sent) : []),
  ];
  const leaf = [...field(1, utf8(leafId)), ...field(2, ...field(1, share), ...afterShare), ...rest];
  const parts = field(1, ...leaf);
  const at = parts.indexOf(share);
  return { before: Buffer.concat(parts.slice(0, at)), after: Buffer.concat(parts.slice(at + 1)) };
}

const sentFields = (sent: SentLeaf): Part[] => [
  ...field(4, sent.secretCipher),
  ...field(5, sent.signature),
  ...field(6, sent.refundSignature),
  ...field(7, sent.directRefundSignature),
  ...field(8, sent.directFromCpfpRefundSignature),
];

/** The digest that a sender signs for each leaf: SHA-256 of the identifiers' texts and the encrypted secret. */
export function leafDigest(leafId: string, transferId: string, secretCipher: Uint8Array): Buffer {
  return createHash("sha256").update(leafId, "utf8").update(transferId, "utf8").update(secretCipher).digest();
}

/** The digest that a user signs for a transfer with its packages: the structured hash, which operators call variant 1. */
export function transferDigest(
  transferId: string,
  packages: readonly (readonly [operatorId: string, bytes: Uint8Array])[],
): Buffer {
  return packagesDigest(["spark", "transfer", "signing payload"], transferId, packages);
}

/** The same for a claim, which the client signs. */
export function claimDigest(
  transferId: string,
  packages: readonly (readonly [operatorId: string, bytes: Uint8Array])[],
): Buffer {
  return packagesDigest(["spark", "claim", "signing payload"], transferId, packages);
}

function packagesDigest(
  components: readonly string[],
  transferId: string,
  packages: readonly (readonly [operatorId: string, bytes: Uint8Array])[],
): Buffer {
  const tag = createHash("sha256");
  for (const component of components) update(tag, utf8(component));
  const tagHash = tag.digest();
  const hash = createHash("sha256").update(tagHash).update(tagHash);
  update(hash, Buffer.from(transferId.replaceAll("-", ""), "hex"));
  update(hash, u64(packages.length));
  const sorted = packages.map(([id, bytes]) => [utf8(id), bytes] as const);
  for (const [id, bytes] of sorted.sort(([a], [b]) => Buffer.compare(a, b))) {
    update(hash, id);
    update(hash, bytes);
  }
  return hash.digest();
}

function update(hash: ReturnType<typeof createHash>, bytes: Uint8Array): void {
  hash.update(u64(bytes.length)).update(bytes);
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}
