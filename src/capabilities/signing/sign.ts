import type { PrepareContext } from "../../engine/declare.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TYPED_DATA_BLOCKS } from "../../kernel/limits.ts";
import type { Scheme, SignerHash } from "../../signer/protocol.ts";
import { decodePayload, hashFor } from "./payloads.ts";
import { findSigningKey, type SigningKey, schemeOf } from "./store.ts";

/** A request to sign payloads, from any of the signing operations. */
export interface RawSigning {
  signWith: string;
  payloads: readonly string[];
  encoding: Parameters<typeof decodePayload>[0];
  hashFunction: Parameters<typeof decodePayload>[1];
  /** The name of the field of the payload at this index in the request. */
  fieldOf: (index: number) => string;
}

export interface Signature {
  r: string;
  s: string;
  v: string;
}

export interface Signed {
  key: SigningKey;
  signatures: Signature[];
}

/** @throws KeysteadError FIELD_INVALID if a payload is invalid for every key */
export function checkPayloads({ payloads, encoding, hashFunction, fieldOf }: RawSigning): Uint8Array[] {
  let spent = 0;
  const spend = (blocks: number, field: string) => {
    spent += blocks;
    if (spent <= MAX_TYPED_DATA_BLOCKS) return;
    const reason = `and the payloads before it take more than ${MAX_TYPED_DATA_BLOCKS} blocks of Keccak-256 to hash; send fewer structs, lists and texts`;
    fail("FIELD_INVALID", { field, reason });
  };
  return payloads.map((payload, index) => decodePayload(encoding, hashFunction, payload, fieldOf(index), spend));
}

/** Has the signer sign. The signatures are returned to the client only after the activity is stored. */
export async function signPayloads(context: SigningContext, signing: RawSigning): Promise<Signed> {
  const key = await findSigningKey(context.read, context.organization.id, signing.signWith);
  const payloads = checkPayloads(signing);
  const hash = hashFor(key.curve, signing.hashFunction, payloads, signing.fieldOf);
  return { key, signatures: await askSigner(context, key, { scheme: schemeOf(key), hash, payloads }) };
}

type SigningContext = Pick<PrepareContext<unknown, "sign">, "organization" | "signer" | "read">;

/** Sends one request to the signer. The signatures are in the order of the payloads. */
export async function askSigner(
  { organization, signer }: Pick<SigningContext, "organization" | "signer">,
  { reference }: SigningKey,
  { scheme, hash, payloads }: { scheme?: Scheme | undefined; hash: SignerHash; payloads: readonly Uint8Array[] },
): Promise<Signature[]> {
  const { signatures } = await signer.ask({
    verb: "sign",
    ...keyOwnerOf(organization),
    key: reference,
    ...(scheme === undefined ? {} : { scheme }),
    hash,
    payloads: payloads.map((payload) => Buffer.from(payload).toString("base64")),
  });
  if (signatures.length !== payloads.length) fail("SIGNER_UNAVAILABLE", { reason: "it did not sign every payload" });
  return signatures;
}
