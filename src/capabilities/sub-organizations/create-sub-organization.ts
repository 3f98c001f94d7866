import { type Static, Type } from "typebox";
import { verifyContact } from "../../authority/rules/contacts.ts";
import { disabledFeatures } from "../../authority/rules/features.ts";
import { addPrivateKeys } from "../../authority/rules/private-keys.ts";
import { refuseThreshold, seatNewUsers } from "../../authority/rules/root-quorum.ts";
import { addTag } from "../../authority/rules/tags.ts";
import { addUsers } from "../../authority/rules/users.ts";
import { addWallet } from "../../authority/rules/wallets.ts";
import { enforceSubOrganizationQuota } from "../../engine/authority/stored-quotas.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { findAllowedOrigins } from "../../engine/identity/passkey-origins.ts";
import { noteMadeWith } from "../../engine/identity/seniority.ts";
import { useToken } from "../../engine/keys/verification-tokens.ts";
import { pause } from "../../kernel/turns.ts";
import {
  checkApiKeys,
  checkProvidersOfNewUsers,
  verifyAuthenticatorsOfNewUsers,
  verifyProvidersOfNewUsers,
} from "../credentials/model.ts";
import { addOrganization } from "../organizations/store.ts";
import { checkAddressFormats, PrivateKeyResult } from "../private-keys/model.ts";
import { addAddresses, generatePrivateKeys } from "../private-keys/store.ts";
import { newUser } from "../users/model.ts";
import { checkWallet, WalletResult } from "../wallets/model.ts";
import { addAccounts, generateWallet } from "../wallets/store.ts";
import { type Intent, intents, upgradeFromAuthenticator, upgradeFromSeventh, upgradeRootUsers } from "./model.ts";
import { openSignup, TOKEN } from "./signup.ts";

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
  summary: "Create an organization below this one, with root users and, optionally, a wallet.",
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
    7: { intent: intents[7], upgrade: upgradeFromSeventh, result: older("createSubOrganizationResultV7") },
  },
  subject: () => ({ governedBy: "policies", resource: "ORGANIZATION", action: "CREATE" }),
  async check(intent: Intent, { organizationId }) {
    const { rootUsers, rootQuorumThreshold, privateKeys = [] } = intent;
    refuseThreshold(rootQuorumThreshold, rootUsers.length, "parameters.rootQuorumThreshold");
    for (const [index, { apiKeys }] of rootUsers.entries()) {
      await pause(organizationId);
      await checkApiKeys(apiKeys, `parameters.rootUsers.${index}.apiKeys`, organizationId);
    }
    checkProvidersOfNewUsers(rootUsers, "parameters.rootUsers");
    checkAddressFormats(privateKeys);
    if (intent.wallet) checkWallet(intent.wallet, "parameters.wallet");
  },
  prepare,
  async run({ intent, tx, organization, now, id: idOf, prepared }) {
    const { id, sealedKey, authenticators, oauthProviders, privateKeys, wallet, shown } = prepared;
    const { subOrganizationName: name, rootUsers, rootQuorumThreshold: threshold, userTag } = intent;
    const without = disabledFeatures(intent);
    const users = rootUsers.map((user, index) => {
      const checked = { authenticators: authenticators[index], oauthProviders: oauthProviders[index] };
      return newUser(user, checked, idOf, `rootUsers.${index}`);
    });
    const rootUserIds = users.map((user) => user.id);
    await addOrganization(tx, { id, name, parentId: organization.id, sealedKey, now, without }, (draft) => {
      addUsers(draft, users, now, (index) => `parameters.rootUsers.${index}`);
      if (userTag !== undefined) {
        addTag(draft, { id: idOf("userTag"), type: "TAG_TYPE_USER", name: userTag, memberIds: rootUserIds, now });
      }
      if (shown) verifyContact(draft, rootUserIds[shown.index] as string, shown.contact, now, TOKEN);
      seatNewUsers(draft, { threshold, userIds: rootUserIds }, now);
      addPrivateKeys(draft, privateKeys, now);
      if (wallet) addWallet(draft, wallet, now);
    });
    await enforceSubOrganizationQuota(tx, organization.id);
    if (shown) await useToken(tx, organization, shown.token, { usage: "SIGNUP", field: TOKEN });
    await noteMadeWith(tx, id);
    await addAddresses(tx, id, privateKeys);
    const madeKeys = privateKeys.map(({ id: privateKeyId, addresses }) => ({ privateKeyId, addresses }));
    if (wallet) await addAccounts(tx, id, wallet.id, wallet.accounts, now);
    const walletResult = wallet && { walletId: wallet.id, addresses: wallet.accounts.map(({ address }) => address) };
    const made: Made = { subOrganizationId: id, ...(walletResult ? { wallet: walletResult } : {}), rootUserIds };
    // Only version 3 creates private keys; the results of the other versions have no such member.
    return madeKeys.length > 0 ? { ...made, privateKeys: madeKeys } : made;
  },
});

async function prepare({
  intent,
  read,
  organization,
  signer,
  oidc,
  id: idFor,
  now,
}: PrepareContext<Intent, "createOrganizationKey" | "generateKeys" | "createWallet", undefined, "oidc">) {
  // All checks come before the signer generates any key.
  const shown = await openSignup(read, organization, intent, now);
  const oauthProviders = await verifyProvidersOfNewUsers(intent.rootUsers, "parameters.rootUsers", {
    oidc,
    read,
    organization,
  });
  const allowedOrigins = await findAllowedOrigins(read, organization);
  const authenticators = await verifyAuthenticatorsOfNewUsers(intent.rootUsers, "parameters.rootUsers", {
    organization,
    allowedOrigins,
  });
  const id = idFor("organization");
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId: id });
  const sealedKey = Buffer.from(organizationKey, "base64");
  const making = { signer, organization: { id, sealedKey }, id: idFor };
  return {
    id,
    sealedKey,
    shown,
    oauthProviders,
    authenticators,
    privateKeys: await generatePrivateKeys(making, intent.privateKeys ?? []),
    wallet: intent.wallet && (await generateWallet(making, intent.wallet)),
  };
}
