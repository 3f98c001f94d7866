import assert from "node:assert/strict";
import { createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { expand_message_xmd } from "@noble/curves/abstract/hash-to-curve.js";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { newId } from "../../src/kernel/ids.ts";
import type { Client, Json } from "./client.ts";

/**
 * A set of Spark's operators in one place, written by the published formulas over other libraries than the product's: they open
 * packages, hold what is in them against its proofs, change their shares of keys, and sign together with a user.
 */

const { Point } = secp256k1;
const { Fn } = Point;
type Point = InstanceType<typeof Point>;
const CONTEXT = "FROST-secp256k1-SHA256-TR-v1";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
export const bytes = (text: string): Buffer => Buffer.from(text, "hex");
const digestOf = (...parts: (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const modN = (some: Uint8Array): bigint => Fn.create(BigInt(`0x${hex(some)}`));
const hashToScalar = (domain: string, message: Uint8Array): bigint =>
  modN(expand_message_xmd(message, Buffer.from(CONTEXT + domain), 48, sha256));
const pointAt = (text: string): Point => Point.fromHex(text);
const drawScalar = (): bigint => Fn.fromBytes(secp256k1.utils.randomSecretKey());
const sign = (isNegative: boolean, scalar: bigint): bigint => (isNegative ? Fn.neg(scalar) : scalar);
const isOdd = (point: Point): boolean => point.y % 2n === 1n;
const sumOf = (points: readonly Point[]): Point => points.reduce((sum, point) => sum.add(point), Point.ZERO);

const USER_ID = Buffer.from(Fn.toBytes(hashToScalar("id", Buffer.from("user"))));

export interface Recipients {
  threshold: number;
  operatorRecipients: { operatorId: string; encryptionPublicKey: string }[];
}

interface Message {
  [field: number]: Buffer[];
}

/** Reads a message of fields that have a length, which are all that Spark's packages have. */
export function decode(message: Uint8Array): Message {
  const fields: Message = {};
  let at = 0;
  const varint = (): number => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = message[at++] as number;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    assert.equal(tag & 7, 2);
    const length = varint();
    assert.ok(at + length <= message.length);
    const values = fields[tag >> 3] ?? [];
    fields[tag >> 3] = values;
    values.push(Buffer.from(message.subarray(at, at + length)));
    at += length;
  }
  return fields;
}

const one = (message: Message, field: number): Buffer => {
  const [value, ...others] = message[field] ?? [];
  assert.ok(value !== undefined && others.length === 0, `one field ${field}`);
  return value;
};

/** Opens an envelope for a key. */
export function openEnvelope(secret: bigint, envelope: Uint8Array): Buffer {
  const sender = envelope.subarray(0, 65);
  const shared = Point.fromBytes(sender).multiply(secret).toBytes(false);
  const key = hkdfSync("sha256", Buffer.concat([sender, shared]), "", "", 32);
  const decipher = createDecipheriv("aes-256-gcm", Buffer.from(key), envelope.subarray(65, 81));
  decipher.setAuthTag(envelope.subarray(81, 97));
  return Buffer.concat([decipher.update(envelope.subarray(97)), decipher.final()]);
}

/** The value at zero of the polynomial through these points. */
export function interpolate(shares: readonly (readonly [x: number, share: bigint])[]): bigint {
  return shares.reduce((sum, [x, share]) => Fn.add(sum, Fn.mul(weightOf(x, shares), share)), 0n);
}

const weightOf = (x: number, shares: readonly (readonly [x: number, share: bigint])[]): bigint =>
  shares
    .filter(([other]) => other !== x)
    .reduce((product, [other]) => Fn.mul(product, Fn.div(BigInt(other), Fn.create(BigInt(other - x)))), 1n);

/** A verified share: f(x) G = sum of x^j proofs[j]. */
function shareIn(message: Message, x: number, threshold: number): { share: bigint; proofs: Point[] } {
  const share = Fn.fromBytes(one(message, 1));
  const proofs = (message[2] ?? []).map((proof) => Point.fromBytes(proof));
  assert.equal(proofs.length, threshold);
  const expected = sumOf(proofs.map((proof, power) => proof.multiply(Fn.create(BigInt(x) ** BigInt(power)))));
  assert.ok(Point.BASE.multiply(share).equals(expected), "a share is on its polynomial");
  return { share, proofs };
}

/** A leaf as operators hold it: each a share of the group's secret. */
export interface HeldLeaf {
  verifyingKey: Point;
  shares: bigint[];
}

export interface OpenedTweak {
  leafId: string;
  /** Of each operator. */
  shares: bigint[];
  /** The change of the key times the generator. */
  change: Point;
  /** By field: secret cipher 4, signature 5, refunds 6 to 8. */
  fields: Message;
}

export class Operators {
  readonly threshold: number;
  readonly ids: string[];
  readonly #encryption: bigint[];

  constructor(threshold: number, count: number) {
    this.threshold = threshold;
    this.ids = Array.from({ length: count }, (_, at) => (at + 1).toString(16).padStart(64, "0"));
    this.#encryption = this.ids.map(drawScalar);
  }

  get recipients(): Recipients {
    const operatorRecipients = this.ids.map((operatorId, at) => ({
      operatorId,
      encryptionPublicKey: hex(Point.BASE.multiply(this.#encryption[at] as bigint).toBytes(true)),
    }));
    return { threshold: this.threshold, operatorRecipients };
  }

  /** A leaf that they hold together with the owner of a public key. */
  newLeaf(userPublicKey: string): HeldLeaf {
    const coefficients = Array.from({ length: this.threshold }, drawScalar);
    const valueAt = (x: number): bigint =>
      coefficients.reduceRight((value, coefficient) => Fn.add(Fn.mul(value, BigInt(x)), coefficient), 0n);
    const group = Point.BASE.multiply(coefficients[0] as bigint);
    return { verifyingKey: pointAt(userPublicKey).add(group), shares: this.ids.map((_, at) => valueAt(at + 1)) };
  }

  /** What each operator finds in its package, in the order of their ids. */
  open(packages: readonly { operatorId: string; encryptedPackage: string }[]): Message[] {
    assert.deepEqual(
      packages.map(({ operatorId }) => operatorId),
      this.ids,
    );
    return packages.map(({ encryptedPackage }, at) =>
      decode(openEnvelope(this.#encryption[at] as bigint, bytes(encryptedPackage))),
    );
  }

  /** The changes of keys in the packages, whose shares and proofs every operator has verified. */
  openTweaks(packages: readonly { operatorId: string; encryptedPackage: string }[]): OpenedTweak[] {
    const byOperator = this.open(packages).map((message) => (message[1] ?? []).map(decode));
    return (byOperator[0] ?? []).map((fields, leaf) => {
      const messages = byOperator.map((leaves) => leaves[leaf] as Message);
      const opened = messages.map((message, at) => shareIn(decode(one(message, 2)), at + 1, this.threshold));
      for (const message of messages) {
        const entries = (message[3] ?? [])
          .map(decode)
          .map((entry) => [one(entry, 1).toString(), one(entry, 2)] as const);
        const expected = opened.map(
          ({ share }, at) => [this.ids[at], Point.BASE.multiply(share).toBytes(true)] as const,
        );
        assert.deepEqual(
          new Map(entries.map(([id, point]) => [id, hex(point)])),
          new Map(expected.map(([id, point]) => [id, hex(point)])),
        );
        for (const field of [1, 3, 4, 5, 6, 7, 8]) assert.deepEqual(message[field], fields[field], "all have the same");
      }
      const proofs = opened[0]?.proofs ?? [];
      for (const each of opened) assert.ok(each.proofs.every((proof, at) => proof.equals(proofs[at] as Point)));
      return {
        leafId: one(fields, 1).toString(),
        shares: opened.map(({ share }) => share),
        change: proofs[0] as Point,
        fields,
      };
    });
  }

  /** A leaf after its key was changed: the verifying key stays. */
  tweak(leaf: HeldLeaf, { shares }: OpenedTweak): HeldLeaf {
    return { ...leaf, shares: leaf.shares.map((share, at) => Fn.add(share, shares[at] as bigint)) };
  }

  /** Asks a user for a share and completes it; the signature and the key that it is of. */
  signing(leaf: HeldLeaf, message: Uint8Array, adaptor?: Point): Signing {
    // Any threshold of them: these are the last ones.
    const at = this.ids.map((_, index) => index).slice(-this.threshold);
    return new Signing(leaf, message, at, adaptor);
  }

  /** The preimage that any of these operators' packages make. */
  preimage(packages: readonly { operatorId: string; encryptedPackage: string }[], of: readonly number[]): Buffer {
    const opened = this.open(packages).map((message, at) => shareIn(message, at + 1, this.threshold).share);
    return Buffer.from(Fn.toBytes(interpolate(of.map((at) => [at + 1, opened[at] as bigint]))));
  }
}

/** One message that some operators and a user sign. */
export class Signing {
  readonly #leaf: HeldLeaf;
  readonly #message: Uint8Array;
  readonly #signers: { id: Buffer; at: number; hiding: bigint; binding: bigint }[];
  readonly #adaptor: Point | undefined;

  constructor(leaf: HeldLeaf, message: Uint8Array, at: readonly number[], adaptor: Point | undefined) {
    this.#leaf = leaf;
    this.#message = message;
    this.#adaptor = adaptor;
    this.#signers = at.map((index) => ({
      id: Buffer.from(Fn.toBytes(BigInt(index + 1))),
      at: index,
      hiding: drawScalar(),
      binding: drawScalar(),
    }));
  }

  /** An entry of spark_sign_frost. */
  request(derivation: object): Json {
    const point = (scalar: bigint): string => hex(Point.BASE.multiply(scalar).toBytes(true));
    return {
      derivation,
      message: hex(this.#message),
      verifyingKey: hex(this.#leaf.verifyingKey.toBytes(true)),
      operatorCommitments: this.#signers.map(({ id, hiding, binding }) => ({
        id: hex(id),
        hiding: point(hiding),
        binding: point(binding),
      })),
      ...(this.#adaptor ? { adaptorPublicKey: hex(this.#adaptor.toBytes(true)) } : {}),
    };
  }

  /** The 64 bytes, and the x-only key that they are of. */
  complete(user: { signatureShare: string; hiding: string; binding: string }): { signature: Buffer; key: Uint8Array } {
    const { verifyingKey } = this.#leaf;
    const { taggedHash, pointToBytes, lift_x: liftX } = schnorr.utils;
    const tweak = modN(taggedHash("TapTweak", pointToBytes(verifyingKey)));
    const output = liftX(verifyingKey.x).add(Point.BASE.multiply(tweak));
    const key = pointToBytes(output);
    const own = this.#signers.map(({ id, hiding, binding }) => ({
      id,
      hiding: Point.BASE.multiply(hiding),
      binding: Point.BASE.multiply(binding),
    }));
    const all = [...own, { id: USER_ID, hiding: pointAt(user.hiding), binding: pointAt(user.binding) }];
    all.sort((a, b) => Buffer.compare(a.id, b.id));
    const encoded = all.flatMap(({ id, hiding, binding }) => [id, hiding.toBytes(true), binding.toBytes(true)]);
    const prefix = [
      Uint8Array.of(2),
      key,
      digestOf(CONTEXT, "msg", this.#message),
      digestOf(CONTEXT, "com", ...encoded),
    ];
    const factorOf = (id: Uint8Array): bigint => hashToScalar("rho", Buffer.concat([...prefix, id]));
    const nonces = all.map(({ id, hiding, binding }) => hiding.add(binding.multiply(factorOf(id))));
    const nonce = sumOf(this.#adaptor ? [...nonces, this.#adaptor] : nonces);
    const challenge = modN(taggedHash("BIP0340/challenge", pointToBytes(nonce), key, this.#message));
    const points = this.#signers.map(({ at }) => [at + 1, this.#leaf.shares[at] as bigint] as const);
    const shares = this.#signers.map(({ id, at, hiding, binding }) => {
      // The weights add up to one, so that the tweak counts once.
      const secret = sign(isOdd(output), Fn.add(sign(isOdd(verifyingKey), this.#leaf.shares[at] as bigint), tweak));
      const commitment = Fn.add(hiding, Fn.mul(factorOf(id), binding));
      return Fn.add(sign(isOdd(nonce), commitment), Fn.mul(challenge, Fn.mul(weightOf(at + 1, points), secret)));
    });
    const s = [Fn.fromBytes(bytes(user.signatureShare)), ...shares].reduce((sum, share) => Fn.add(sum, share), 0n);
    return { signature: Buffer.concat([pointToBytes(nonce), Fn.toBytes(s)]), key };
  }

  /** Whether what a user made completes to a signature. */
  isSigned(user: { signatureShare: string; hiding: string; binding: string }): boolean {
    const { signature, key } = this.complete(user);
    return schnorr.verify(signature, this.#message, key);
  }
}

/** What completes an adaptor signature, and its point. */
export function newAdaptor(): { secret: bigint; point: Point } {
  const secret = drawScalar();
  return { secret, point: Point.BASE.multiply(secret) };
}

/** The signature that the adaptor's secret makes of an incomplete one: which of two it is shows in the signature's verifying. */
export function completed(signature: Buffer, secret: bigint, message: Uint8Array, key: Uint8Array): Buffer[] {
  const s = Fn.fromBytes(signature.subarray(32));
  return [Fn.add(s, secret), Fn.sub(s, secret)]
    .map((sum) => Buffer.concat([signature.subarray(0, 32), Fn.toBytes(sum)]))
    .filter((candidate) => schnorr.verify(candidate, message, key));
}

export interface TestSparkWallet {
  walletId: string;
  /** Its Spark address. */
  signWith: string;
  identityPublicKey: string;
}

const sparkAccount = (addressFormat: string, path: string) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat,
});

export async function newSparkWallet(client: Client, account = 0): Promise<TestSparkWallet> {
  const path = `m/8797555'/${account}'/0'`;
  const { walletId, addresses } = await client.result("create_wallet", {
    walletName: `Spark ${newId()}`,
    accounts: [sparkAccount("ADDRESS_FORMAT_SPARK_REGTEST", path), sparkAccount("ADDRESS_FORMAT_COMPRESSED", path)],
  });
  return { walletId, signWith: addresses[0], identityPublicKey: addresses[1] };
}

/** The public key of a leaf, by the way that clients make accounts of the keys below their wallet. */
export async function leafPublicKey(client: Client, { walletId }: TestSparkWallet, leafId: string): Promise<string> {
  const index = digestOf(leafId).readUInt32BE() % 2 ** 31;
  const account = sparkAccount("ADDRESS_FORMAT_COMPRESSED", `m/8797555'/0'/1'/${index}'`);
  const { addresses } = await client.result("create_wallet_accounts", { walletId, accounts: [account] });
  return addresses[0];
}

export const leafIdsOf = (count: number): string[] => Array.from({ length: count }, newId);

/** A transfer of these leaves to a receiver, as clients ask for it. */
export function transferOf(
  recipients: Recipients,
  receiverPublicKey: string,
  leafIds: readonly string[],
  more: object = {},
): Json {
  return {
    transferId: newId(),
    leaves: leafIds.map((leafId) => ({
      leafId,
      oldLeafDerivation: { signingLeaf: { leafId } },
      newLeafDerivation: { signingLeaf: { leafId: newId() } },
      refundSignature: randomBytes(64).toString("hex"),
      directRefundSignature: "",
    })),
    ...recipients,
    receiverPublicKey,
    ...more,
  };
}

/** What the receiver of a transfer asks for, of the leaves as the operators hold them for it. */
export function claimOf(
  { transferId }: { transferId: string },
  tweaks: readonly OpenedTweak[],
  recipients: Recipients,
  senderIdentityPublicKey: string,
): Json {
  return {
    leaves: tweaks.map(({ leafId, fields }) => ({
      leafId,
      ciphertext: hex(one(fields, 4)),
      senderSignature: hex(one(fields, 5)),
    })),
    ...recipients,
    transferId,
    senderIdentityPublicKey,
  };
}

/** What a user signs of a transfer, by the structured hash of the published SDK. */
export function transferPayload(
  transferId: string,
  packages: readonly { operatorId: string; encryptedPackage: string }[],
): Buffer {
  const u64 = (value: number): Buffer => {
    const out = Buffer.alloc(8);
    out.writeBigUInt64BE(BigInt(value));
    return out;
  };
  const sized = (some: Uint8Array): Buffer => Buffer.concat([u64(some.length), some]);
  const tag = digestOf(...["spark", "transfer", "signing payload"].map((text) => sized(Buffer.from(text))));
  const sorted = [...packages].sort((a, b) => (a.operatorId < b.operatorId ? -1 : 1));
  return digestOf(
    tag,
    tag,
    sized(bytes(transferId.replaceAll("-", ""))),
    sized(u64(packages.length)),
    ...sorted.flatMap(({ operatorId, encryptedPackage }) => [
      sized(Buffer.from(operatorId)),
      sized(bytes(encryptedPackage)),
    ]),
  );
}
