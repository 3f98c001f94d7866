import type { PrepareContext } from "../../engine/declare.ts";
import { fail } from "../../kernel/errors.ts";
import { findSigningKey, type SigningKey } from "../private-keys/store.ts";
import { decodePayload, hashFor } from "./payloads.ts";

/** A request to sign, whichever operation it came by. */
export interface RawSigning {
  signWith: string;
  payloads: readonly string[];
  encoding: Parameters<typeof decodePayload>[0];
  hashFunction: Parameters<typeof decodePayload>[1];
  /** Where the payload of this index stands in the request. */
  fieldOf: (index: number) => string;
}

export interface Signed {
  key: SigningKey;
  signatures: { r: string; s: string; v: string }[];
}

/** @throws KeysteadError FIELD_INVALID: what can be said of the payloads without the key */
export function checkPayloads({ payloads, encoding, hashFunction, fieldOf }: RawSigning): Uint8Array[] {
  return payloads.map((payload, index) => decodePayload(encoding, hashFunction, payload, fieldOf(index)));
}

/** Has the signer sign; nobody sees the signatures before the activity is stored. */
export async function signPayloads(
  { read, organization, signer }: Omit<PrepareContext<unknown>, "intent">,
  signing: RawSigning,
): Promise<Signed> {
  const key = await findSigningKey(read, organization.id, signing.signWith);
  const payloads = checkPayloads(signing);
  const hash = hashFor(key.curve, signing.hashFunction, payloads, signing.fieldOf);
  const { signatures } = await signer.ask({
    verb: "sign",
    organizationId: organization.id,
    organizationKey: Buffer.from(organization.sealedKey).toString("base64"),
    key: {
      kind: "privateKey",
      keyId: key.id,
      curve: key.curve,
      sealedKey: Buffer.from(key.sealedKey).toString("base64"),
    },
    hash,
    payloads: payloads.map((payload) => Buffer.from(payload).toString("base64")),
  });
  if (signatures.length !== payloads.length) fail("SIGNER_UNAVAILABLE", { reason: "it did not sign every payload" });
  return { key, signatures };
}
