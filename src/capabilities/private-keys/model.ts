import { type Static, Type } from "typebox";
import { ADDRESS_FORMATS, addressFormatProblem, deriveAddress } from "../../crypto/addresses.ts";
import { type Curve, decompressPublicKey } from "../../crypto/curves.ts";
import { Ids, Label, noExternalSigner, OneOf, SomeOf, Strict, Timestamp } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PRIVATE_KEYS } from "../../kernel/limits.ts";

export const curves = ["CURVE_SECP256K1", "CURVE_ED25519", "CURVE_P256"] as const satisfies readonly Curve[];
const AddressFormat = OneOf(ADDRESS_FORMATS);

export const Address = Type.Object(
  { format: Type.Optional(AddressFormat), address: Type.Optional(Type.String()) },
  { $id: "Address" },
);
export type Address = Static<typeof Address>;

export const PrivateKey = Type.Object(
  {
    privateKeyId: Type.String(),
    publicKey: Type.String(),
    privateKeyName: Type.String(),
    curve: OneOf(curves),
    addresses: Type.Array(Address),
    privateKeyTags: Type.Array(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    exported: Type.Boolean(),
    imported: Type.Boolean(),
  },
  { $id: "PrivateKey" },
);
export type PrivateKey = Static<typeof PrivateKey>;

export const AddressFormats = Type.Array(AddressFormat, { maxItems: ADDRESS_FORMATS.length });

export const PrivateKeyParams = Strict({
  privateKeyName: Label,
  curve: OneOf(curves),
  privateKeyTags: Ids,
  addressFormats: AddressFormats,
  ...noExternalSigner,
});
export type PrivateKeyParams = Static<typeof PrivateKeyParams>;

/** A newly created key. */
export const PrivateKeyResult = Type.Object({
  privateKeyId: Type.Optional(Type.String()),
  addresses: Type.Optional(Type.Array(Address)),
});

export const CreatePrivateKeysIntent = Strict({
  privateKeys: SomeOf(PrivateKeyParams, MAX_PRIVATE_KEYS),
  ...noExternalSigner,
});

/** @throws KeysteadError FIELD_INVALID naming the first address format that the key's curve does not support */
export function checkAddressFormats(privateKeys: readonly PrivateKeyParams[]): void {
  for (const [index, params] of privateKeys.entries()) {
    checkAddressFormatsOf(params, `parameters.privateKeys.${index}`);
  }
}

/** The same check for one key; `where` is its field in the request. */
export function checkAddressFormatsOf(
  { curve, addressFormats }: Pick<PrivateKeyParams, "curve" | "addressFormats">,
  where: string,
): void {
  for (const [position, format] of addressFormats.entries()) {
    const field = `${where}.addressFormats.${position}`;
    const problem = addressFormatProblem(format, curve);
    if (problem) fail("FIELD_INVALID", { field, reason: problem });
    if (addressFormats.indexOf(format) < position) fail("FIELD_INVALID", { field, reason: "occurs twice" });
  }
}

/** The addresses of a key in the order of the formats; `publicKey` is compressed (Ed25519: its 32 bytes). */
export const addressesOf = (
  curve: Curve,
  publicKey: Uint8Array,
  formats: PrivateKeyParams["addressFormats"],
): { format: PrivateKeyParams["addressFormats"][number]; address: string }[] =>
  formats.map((format) => ({ format, address: deriveAddress(format, curve, publicKey) }));

/** A public key in hex as the API shows it: the uncompressed point, or the 32 bytes of Ed25519. */
export function shownPublicKey(curve: Curve, publicKey: Uint8Array): string {
  const shown = curve === "CURVE_ED25519" ? publicKey : decompressPublicKey(curve, publicKey);
  return Buffer.from(shown).toString("hex");
}

/** The compressed form of a public key that is stored as the API shows it; Ed25519 keys have only one form. */
export function compressedFromShown(curve: Curve, shown: string): Uint8Array {
  const bytes = Buffer.from(shown, "hex");
  if (curve === "CURVE_ED25519") return bytes;
  // SEC 1, section 2.3.3: the prefix encodes whether Y is odd.
  const isOdd = ((bytes.at(-1) as number) & 1) === 1;
  return Buffer.concat([Buffer.of(isOdd ? 0x03 : 0x02), bytes.subarray(1, 33)]);
}
