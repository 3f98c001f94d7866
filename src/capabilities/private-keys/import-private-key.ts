import { type Static, Type } from "typebox";
import { addPrivateKeys } from "../../authority/rules/private-keys.ts";
import { changesOn } from "../../authority/view.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, Label, OneOf, Strict } from "../../engine/fields.ts";
import { EncryptedBundle, parseEncryptedBundle } from "../../engine/keys/bundle-envelopes.ts";
import { importRequestOf, takenImport, useUpImportKey } from "../../engine/keys/import-keys.ts";
import { Address, AddressFormats, checkAddressFormatsOf, curves } from "./model.ts";
import { addAddresses, addressesToProve, newPrivateKey } from "./store.ts";

/** Raw secrets have 32 bytes. Up to this limit, the signer rejects longer ones with a specific error. */
const MAX_PLAINTEXT_BYTES = 256;
const FIELD = "parameters.encryptedBundle";

const Intent = Strict({
  userId: Id,
  privateKeyName: Label,
  encryptedBundle: EncryptedBundle(MAX_PLAINTEXT_BYTES),
  curve: OneOf(curves),
  addressFormats: AddressFormats,
});
type Intent = Static<typeof Intent>;

const bundleOf = ({ encryptedBundle }: Intent) => parseEncryptedBundle(encryptedBundle, FIELD, MAX_PLAINTEXT_BYTES);

export const importPrivateKey = activity({
  path: "import_private_key",
  summary: "Store a private key that was encrypted to the key from `init_import_private_key`.",
  asks: ["importPrivateKey"],
  intent: Intent,
  result: Type.Object({ privateKeyId: Type.String(), addresses: Type.Array(Address) }),
  subject: ({ userId }) => ({
    governedBy: "policies",
    resource: "PRIVATE_KEY",
    action: "IMPORT",
    onlyUserId: userId,
  }),
  check(intent) {
    checkAddressFormatsOf(intent, "parameters");
    bundleOf(intent);
  },
  prepare,
  addresses: ({ prepared: { key } }) => addressesToProve(key),
  change: ({ view, now, prepared: { key } }) => changesOn(view, (draft) => addPrivateKeys(draft, [key], now)),
  answer: ({ prepared: { key } }) => ({ privateKeyId: key.id, addresses: key.addresses }),
  async alsoStore({ tx, organization, prepared: { importId, key } }) {
    await useUpImportKey(tx, organization.id, importId, FIELD);
    await addAddresses(tx, organization.id, [key]);
  },
});

async function prepare(context: PrepareContext<Intent, "importPrivateKey">) {
  const { intent, signer, id } = context;
  const { curve } = intent;
  const keyId = id("privateKey");
  const request = await importRequestOf(context, bundleOf(intent));
  const answer = await signer.ask({ verb: "importPrivateKey", ...request, keyId, curve });
  const taken = takenImport(answer, FIELD, `a private key of ${curve}: its 32 bytes, in the range of the curve`);
  const key = newPrivateKey(keyId, { ...intent, privateKeyTags: [] }, taken);
  return { importId: taken.importId, key: { ...key, imported: true } };
}
