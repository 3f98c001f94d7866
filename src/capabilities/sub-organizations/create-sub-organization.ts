import { type Static, Type } from "typebox";
import { addUser } from "../../authority/rules/users.ts";
import { fillAuthority } from "../../engine/authority/project.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { noteMadeWith } from "../../engine/identity/seniority.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import {
  checkApiKeys,
  checkProvidersOfNewUsers,
  verifyAuthenticators,
  verifyProvidersOfNewUsers,
} from "../credentials/model.ts";
import { checkRootQuorum } from "../organizations/model.ts";
import { addOrganization, findAllowedOrigins, replaceRootQuorum } from "../organizations/store.ts";
import { checkAddressFormats, PrivateKeyResult } from "../private-keys/model.ts";
import { addPrivateKey, enforcePrivateKeyLimit, generatePrivateKeys } from "../private-keys/store.ts";
import { newUser } from "../users/model.ts";
import { checkWallet, WalletResult } from "../wallets/model.ts";
import { addWallet, generateWallet } from "../wallets/store.ts";
import { disabledFeatures, type Intent, intents, upgradeFromAuthenticator, upgradeRootUsers } from "./model.ts";

const rootUserIds = Type.Optional(Type.Array(Type.String()));
const ResultV1 = Type.Object({ subOrganizationId: Type.String(), rootUserIds });
const Result = Type.Object({
  subOrganizationId: Type.String(),
  wallet: Type.Optional(WalletResult),
  rootUserIds,
});
const ResultV3 = Type.Object({
  subOrganizationId: Type.String(),
  privateKeys: Type.Array(PrivateKeyResult),
  rootUserIds,
});
type Made = Static<typeof Result> & { privateKeys?: Static<typeof PrivateKeyResult>[] };

const same = <T>(value: T): T => value;
const older = (key: string, schema: typeof Result | typeof ResultV1 = Result) => ({ schema, key, from: same<Made> });

export const createSubOrganization = activity({
  path: "create_sub_organization",
  summary: "Create an organization below this one, with root users and, if wanted, a wallet of its own.",
  only: "parents",
  needs: ["oidc"],
  asks: ["createOrganizationKey", "generateKeys", "createWallet"],
  version: 8,
  intent: intents[8],
  result: Result,
  resultKey: "createSubOrganizationResultV8",
  versions: {
    1: {
      intent: intents[1],
      upgrade: upgradeFromAuthenticator,
      result: older("createSubOrganizationResult", ResultV1),
    },
    2: { intent: intents[2], upgrade: upgradeRootUsers, result: older("createSubOrganizationResult", ResultV1) },
    3: {
      intent: intents[3],
      upgrade: upgradeRootUsers,
      result: {
        schema: ResultV3,
        key: "createSubOrganizationResultV3",
        from: (result: Made) => ({ privateKeys: [], ...result }),
      },
    },
    4: { intent: intents[4], upgrade: upgradeRootUsers, result: older("createSubOrganizationResultV4") },
    5: { intent: intents[5], upgrade: upgradeRootUsers, result: older("createSubOrganizationResultV5") },
    6: { intent: intents[6], upgrade: same, result: older("createSubOrganizationResultV6") },
    7: { intent: intents[7], upgrade: same, result: older("createSubOrganizationResultV7") },
  },
  subject: () => ({ governedBy: "policies", resource: "ORGANIZATION", action: "CREATE" }),
  check(intent: Intent) {
    const { rootUsers, rootQuorumThreshold, privateKeys = [] } = intent;
    checkRootQuorum(rootQuorumThreshold, rootUsers.length, "parameters.rootQuorumThreshold");
    for (const [index, { apiKeys }] of rootUsers.entries()) {
      checkApiKeys(apiKeys, `parameters.rootUsers.${index}.apiKeys`);
    }
    checkProvidersOfNewUsers(rootUsers, "parameters.rootUsers");
    for (const name of ["verificationToken", "clientSignature"] as const) {
      if (intent[name] === undefined) continue;
      const reason = "is not supported yet: sub-organizations are made without verified contacts";
      fail("FIELD_INVALID", { field: `parameters.${name}`, reason });
    }
    checkAddressFormats(privateKeys);
    if (intent.wallet) checkWallet(intent.wallet, "parameters.wallet");
  },
  prepare,
  async run({ intent, tx, organization, now, id: idOf, prepared }) {
    const { id, sealedKey, authenticators, oauthProviders, privateKeys, wallet } = prepared;
    const { subOrganizationName: name, rootUsers, rootQuorumThreshold: threshold } = intent;
    const without = disabledFeatures(intent);
    await addOrganization(tx, { id, name, parentId: organization.id, sealedKey, now, without });
    const places = rootUsers.map((_, index) => `rootUsers.${index}`);
    await fillAuthority(tx, id, (draft) => {
      for (const [index, user] of rootUsers.entries()) {
        const place = places[index] as string;
        const checked = { authenticators: authenticators[index], oauthProviders: oauthProviders[index] };
        addUser(draft, newUser(user, checked, idOf, place), now, `parameters.${place}`);
      }
    });
    const rootUserIds = places.map(idOf);
    await noteMadeWith(tx, id);
    await replaceRootQuorum(tx, id, { threshold, userIds: rootUserIds }, now);
    for (const key of privateKeys) await addPrivateKey(tx, id, key, now);
    await enforcePrivateKeyLimit(tx, id);
    const madeKeys = privateKeys.map(({ id: privateKeyId, addresses }) => ({ privateKeyId, addresses }));
    if (wallet) await addWallet(tx, id, wallet, now);
    const walletResult = wallet && { walletId: wallet.id, addresses: wallet.accounts.map(({ address }) => address) };
    const made: Made = { subOrganizationId: id, ...(walletResult ? { wallet: walletResult } : {}), rootUserIds };
    // Only the third version makes private keys; the others have no place for them.
    return madeKeys.length > 0 ? { ...made, privateKeys: madeKeys } : made;
  },
});

async function prepare({
  intent,
  read,
  organization,
  signer,
  oidc,
}: PrepareContext<Intent, "createOrganizationKey" | "generateKeys" | "createWallet", undefined, "oidc">) {
  // Before any key is made: this is what fails.
  const oauthProviders = await verifyProvidersOfNewUsers(intent.rootUsers, "parameters.rootUsers", {
    oidc,
    organization,
  });
  const id = newId();
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId: id });
  const sealedKey = Buffer.from(organizationKey, "base64");
  const allowedOrigins = await findAllowedOrigins(read, organization);
  return {
    id,
    sealedKey,
    oauthProviders,
    authenticators: await Promise.all(
      intent.rootUsers.map(({ authenticators }, index) =>
        verifyAuthenticators(authenticators, `parameters.rootUsers.${index}.authenticators`, allowedOrigins),
      ),
    ),
    privateKeys: await generatePrivateKeys(signer, { id, sealedKey }, intent.privateKeys ?? []),
    wallet: intent.wallet && (await generateWallet(signer, { id, sealedKey }, intent.wallet)),
  };
}
