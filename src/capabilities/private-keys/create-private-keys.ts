import { type Static, Type } from "typebox";
import { ADDRESS_FORMATS } from "../../crypto/addresses.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { OneOf } from "../../engine/fields.ts";
import { newId } from "../../kernel/ids.ts";
import { addressesOf, CreatePrivateKeysIntent, checkAddressFormats, shownPublicKey } from "./model.ts";
import { addPrivateKey, enforcePrivateKeyLimit, type NewPrivateKey } from "./store.ts";

const Result = Type.Object({
  privateKeys: Type.Array(
    Type.Object({
      privateKeyId: Type.Optional(Type.String()),
      addresses: Type.Optional(
        Type.Array(
          Type.Object({
            format: Type.Optional(OneOf(ADDRESS_FORMATS)),
            address: Type.Optional(Type.String()),
          }),
        ),
      ),
    }),
  ),
});
const ResultV1 = Type.Object({ privateKeyIds: Type.Array(Type.String()) });

export const createPrivateKeys = activity({
  path: "create_private_keys",
  summary: "Create private keys, each with its addresses and tags.",
  version: 2,
  intent: CreatePrivateKeysIntent,
  result: Result,
  resultKey: "createPrivateKeysResultV2",
  versions: {
    1: {
      intent: CreatePrivateKeysIntent,
      upgrade: (intent: Static<typeof CreatePrivateKeysIntent>) => intent,
      result: {
        schema: ResultV1,
        from: ({ privateKeys }) => ({ privateKeyIds: privateKeys.map(({ privateKeyId }) => privateKeyId) }),
      },
    },
  },
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "CREATE" }),
  check: ({ privateKeys }) => checkAddressFormats(privateKeys),
  prepare: generate,
  async run({ tx, organization, now, prepared: keys }) {
    for (const key of keys) await addPrivateKey(tx, organization.id, key, now);
    await enforcePrivateKeyLimit(tx, organization.id);
    return { privateKeys: keys.map(({ id, addresses }) => ({ privateKeyId: id, addresses })) };
  },
});

type Generated = NewPrivateKey & { addresses: ReturnType<typeof addressesOf> };

async function generate(context: PrepareContext<Static<typeof CreatePrivateKeysIntent>>): Promise<Generated[]> {
  const { organization, signer } = context;
  const wanted = context.intent.privateKeys.map((params) => ({ keyId: newId(), params }));
  const { keys } = await signer.ask({
    verb: "generateKeys",
    organizationId: organization.id,
    organizationKey: Buffer.from(organization.sealedKey).toString("base64"),
    keys: wanted.map(({ keyId, params }) => ({ keyId, curve: params.curve })),
  });
  return wanted.map(({ keyId, params }, index) => {
    const { sealedKey, publicKey } = keys[index] as (typeof keys)[number];
    const publicKeyBytes = Buffer.from(publicKey, "hex");
    return {
      id: keyId,
      name: params.privateKeyName,
      curve: params.curve,
      publicKey: shownPublicKey(params.curve, publicKeyBytes),
      sealedKey: Buffer.from(sealedKey, "base64"),
      addresses: addressesOf(params.curve, publicKeyBytes, params.addressFormats),
      tagIds: params.privateKeyTags,
    };
  });
}
