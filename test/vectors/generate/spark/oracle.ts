import { createHash } from "node:crypto";
import {
  getClaimPackageSigningPayload,
  getSparkFrost,
  getTransferPackageSigningPayload,
} from "@buildonspark/spark-sdk";
import { secp256k1 } from "@noble/curves/secp256k1";

/** What the published SDK says: shares for given nonces, and hashes of packages, of inputs that a counter makes. */

export type Draw = () => Buffer;

/** 32 bytes at each call: the SHA-256 of the seed and how many came before. */
export function drawFrom(seed: string): Draw {
  let counter = 0;
  return () => createHash("sha256").update(`${seed} ${counter++}`).digest();
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const publicKeyOf = (secret: Uint8Array): Uint8Array => secp256k1.getPublicKey(secret, true);
const sum = (...points: Uint8Array[]): Uint8Array =>
  points
    .map((point) => secp256k1.Point.fromHex(hex(point)))
    .reduce((a, b) => a.add(b))
    .toBytes(true);

const frost = getSparkFrost();

interface ShareInputs {
  secret: Uint8Array;
  publicKey: Uint8Array;
  verifyingKey: Uint8Array;
  message: Uint8Array;
  nonce: { hiding: Uint8Array; binding: Uint8Array };
  commitments: { id: string; hiding: Uint8Array; binding: Uint8Array }[];
  adaptor: Uint8Array | undefined;
}

function shareInputs(draw: Draw, operators: number, withAdaptor: boolean): ShareInputs {
  const commitment = () => ({ hiding: publicKeyOf(draw()), binding: publicKeyOf(draw()) });
  const [secret, group, message] = [draw(), draw(), draw()];
  const publicKey = publicKeyOf(secret);
  const verifyingKey = sum(publicKey, publicKeyOf(group));
  const nonce = { hiding: draw(), binding: draw() };
  const ids = Array.from({ length: operators }, (_, at) =>
    at % 3 === 2 ? draw() : Buffer.alloc(32, 0).fill(at + 1, 31),
  );
  const commitments = ids.map((id) => ({ id: hex(id), ...commitment() }));
  const adaptor = withAdaptor ? publicKeyOf(draw()) : undefined;
  return { secret, publicKey, verifyingKey, message, nonce, commitments, adaptor };
}

const shareOf = ({ secret, publicKey, verifyingKey, message, nonce, commitments, adaptor }: ShareInputs) =>
  frost.signFrost({
    message,
    keyPackage: { secretKey: secret, publicKey, verifyingKey },
    nonce,
    selfCommitment: { hiding: publicKeyOf(nonce.hiding), binding: publicKeyOf(nonce.binding) },
    statechainCommitments: Object.fromEntries(commitments.map(({ id, hiding, binding }) => [id, { hiding, binding }])),
    adaptorPubKey: adaptor,
  });

/** So many shares, each of inputs of its own, that are made anew at each call of what it returns. */
export function sharesOf(draw: Draw, count: number, operators: number): () => Promise<void> {
  const inputs = Array.from({ length: count }, () => shareInputs(draw, operators, false));
  return async () => {
    for (const each of inputs) await shareOf(each);
  };
}

export async function shareCase(draw: Draw, operators: number, withAdaptor: boolean): Promise<object> {
  const inputs = shareInputs(draw, operators, withAdaptor);
  const { secret, nonce, message, verifyingKey, commitments, adaptor } = inputs;
  const share = await shareOf(inputs);
  return {
    secret: hex(secret),
    hidingNonce: hex(nonce.hiding),
    bindingNonce: hex(nonce.binding),
    message: hex(message),
    verifyingKey: hex(verifyingKey),
    operatorCommitments: commitments.map(({ id, hiding, binding }) => ({
      id,
      hiding: hex(hiding),
      binding: hex(binding),
    })),
    ...(adaptor ? { adaptorPublicKey: hex(adaptor) } : {}),
    share: hex(share),
  };
}

/** @param at how many packages, and of how many bytes, comes of it */
export function payloadCase(draw: Draw, at: number): object {
  const digits = hex(draw());
  const transferId = `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
  const names = ["é", "z", "operator", "a", `${"0".repeat(63)}2`, `${"0".repeat(63)}1`, "\u{1f511}", "\uff5e"];
  const packages = Object.fromEntries(
    names.slice(0, 1 + (at % 8)).map((name) => [name, draw().subarray(0, 1 + (at % 32))]),
  );
  const transfer = { keyTweakPackage: packages } as never;
  return {
    transferId,
    packages: Object.entries(packages).map(([operatorId, bytes]) => ({ operatorId, bytes: hex(bytes) })),
    transfer: hex(getTransferPackageSigningPayload(transferId, transfer)),
    claim: hex(getClaimPackageSigningPayload(transferId, packages)),
  };
}
