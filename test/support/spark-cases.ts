import assert from "node:assert/strict";
import { type FrostSigning, shareWith } from "../../src/crypto/spark/frost.ts";
import { claimDigest, transferDigest } from "../../src/crypto/spark/messages.ts";

/** What the published SDK of Spark says of some inputs (`test/vectors/generate/spark`), in hex, and how ours is held against it. */

export interface ShareCase {
  secret: string;
  hidingNonce: string;
  bindingNonce: string;
  message: string;
  verifyingKey: string;
  operatorCommitments: readonly Record<"id" | "hiding" | "binding", string>[];
  adaptorPublicKey?: string;
  share: string;
}

export interface PayloadCase {
  transferId: string;
  packages: readonly { operatorId: string; bytes: string }[];
  transfer: string;
  claim: string;
}

const bytes = (hex: string) => Buffer.from(hex, "hex");
const hex = (some: Uint8Array) => Buffer.from(some).toString("hex");

export function assertShare(one: ShareCase): void {
  const nonces = { hiding: bytes(one.hidingNonce), binding: bytes(one.bindingNonce) };
  const signing: FrostSigning = {
    message: bytes(one.message),
    verifyingKey: bytes(one.verifyingKey),
    commitments: one.operatorCommitments.map((each) => ({
      id: bytes(each.id),
      hiding: bytes(each.hiding),
      binding: bytes(each.binding),
    })),
    ...(one.adaptorPublicKey ? { adaptor: bytes(one.adaptorPublicKey) } : {}),
  };
  const secret = bytes(one.secret);
  assert.equal(hex(shareWith(secret, nonces, signing).share), one.share);
  assert.equal(hex(secret), one.secret, "the secret is left as it was");
}

export function assertPayloads(one: PayloadCase): void {
  const packages = one.packages.map((each) => [each.operatorId, bytes(each.bytes)] as const);
  assert.equal(hex(transferDigest(one.transferId, packages)), one.transfer);
  assert.equal(hex(claimDigest(one.transferId, packages)), one.claim);
}
