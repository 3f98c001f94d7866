import { type Static, Type } from "typebox";
import { addPrivateKeys } from "../../authority/rules/private-keys.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { CreatePrivateKeysIntent, checkAddressFormats, PrivateKeyResult } from "./model.ts";
import { addAddresses, addressesToProve, generatePrivateKeys } from "./store.ts";

const ResultV1 = Type.Object({ privateKeyIds: Type.Array(Type.String()) });

export const createPrivateKeys = activity({
  path: "create_private_keys",
  summary: "Create private keys, each with its addresses and tags.",
  asks: ["generateKeys"],
  version: 2,
  intent: CreatePrivateKeysIntent,
  result: Type.Object({ privateKeys: Type.Array(PrivateKeyResult) }),
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
  prepare: (context) => generatePrivateKeys(context, context.intent.privateKeys),
  addresses: ({ prepared }) => prepared.flatMap(addressesToProve),
  change: ({ view, now, prepared: keys }) => changesOn(view, (draft) => addPrivateKeys(draft, keys, now)),
  answer: ({ prepared: keys }) => ({
    privateKeys: keys.map(({ id, addresses }) => ({ privateKeyId: id, addresses })),
  }),
  alsoStore: ({ tx, organization, prepared: keys }) => addAddresses(tx, organization.id, keys),
});
