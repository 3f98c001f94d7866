import { type Static, type TProperties, Type } from "typebox";
import { Email, Label, LabelOrEmpty, List, PhoneNumber, SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_AUTHENTICATORS_PER_USER, MAX_USERS } from "../../kernel/limits.ts";
import {
  ApiKeyParams,
  ApiKeyParamsV1,
  AuthenticatorParams,
  OauthProviderParams,
  OauthProviderParamsV1,
  upgradeApiKey,
} from "../credentials/model.ts";
import { ClientSignature, VerificationTokenOrEmpty } from "../otp/model.ts";
import { PrivateKeyParams } from "../private-keys/model.ts";
import { WalletParams } from "../wallets/model.ts";

/** The intents of all versions that create a sub-organization. */

const person = { userName: Label, userEmail: Type.Optional(Email) };
const reachablePerson = { ...person, userPhoneNumber: Type.Optional(PhoneNumber) };
const authenticators = List(AuthenticatorParams, MAX_AUTHENTICATORS_PER_USER);
const apiKeys = List(ApiKeyParams);
const apiKeysV1 = List(ApiKeyParamsV1);
const oauthProvidersV1 = List(OauthProviderParamsV1);

/** The five forms of root users over the versions. */
const rootUsers = {
  first: Strict({ ...person, apiKeys: apiKeysV1, authenticators }),
  withOauth: Strict({ ...person, apiKeys: apiKeysV1, authenticators, oauthProviders: oauthProvidersV1 }),
  withCurves: Strict({ ...person, apiKeys, authenticators, oauthProviders: oauthProvidersV1 }),
  withPhone: Strict({ ...reachablePerson, apiKeys, authenticators, oauthProviders: oauthProvidersV1 }),
  newest: Strict({ ...reachablePerson, apiKeys, authenticators, oauthProviders: List(OauthProviderParams) }),
};
type RootUser = Static<typeof rootUsers.newest>;
type FirstRootUser = Static<typeof rootUsers.first> & { oauthProviders?: RootUser["oauthProviders"] };

const base = <T extends (typeof rootUsers)[keyof typeof rootUsers], P extends TProperties>(rootUser: T, more: P) =>
  Strict({
    subOrganizationName: LabelOrEmpty,
    rootUsers: SomeOf(rootUser, MAX_USERS),
    rootQuorumThreshold: Type.Integer(),
    ...more,
  });

const flag = Type.Optional(Type.Boolean());
const options = {
  wallet: Type.Optional(WalletParams),
  disableEmailRecovery: flag,
  disableEmailAuth: flag,
};
/** The proof that a person who signs up has a contact. */
const signup = {
  verificationToken: Type.Optional(VerificationTokenOrEmpty),
  clientSignature: Type.Optional(ClientSignature),
};
const newestOptions = {
  ...signup,
  /** An extension of this server: the name of a tag that is created in the new organization and given to its root users. */
  userTag: Type.Optional(Label),
  ...options,
  disableSmsAuth: flag,
  disableOtpEmailAuth: flag,
};

/** By version; 8 is the newest. */
export const intents = {
  1: Strict({ name: Label, rootAuthenticator: AuthenticatorParams }),
  2: base(rootUsers.first, {}),
  3: base(rootUsers.first, { privateKeys: List(PrivateKeyParams) }),
  4: base(rootUsers.first, options),
  5: base(rootUsers.withOauth, options),
  6: base(rootUsers.withCurves, options),
  7: base(rootUsers.withPhone, newestOptions),
  8: base(rootUsers.newest, newestOptions),
};

/** The newest version's intent, with the members that only older versions have. */
export type Intent = Static<(typeof intents)[8]> & {
  privateKeys?: readonly PrivateKeyParams[];
  /** Whether to accept verification tokens that name no key, as older clients send them. */
  takesTokensWithoutKey?: boolean;
};

/** The first version creates one root user with one passkey. */
export function upgradeFromAuthenticator({ name, rootAuthenticator }: Static<(typeof intents)[1]>): Intent {
  const rootUser = { userName: "Root user", apiKeys: [], authenticators: [rootAuthenticator], oauthProviders: [] };
  return { subOrganizationName: name, rootUsers: [rootUser], rootQuorumThreshold: 1 };
}

/** Upgrades root users whose API keys have no curve, and who before version 5 have no OAuth providers. */
export const upgradeRootUsers = <T extends { rootUsers: FirstRootUser[] }>(intent: T) => ({
  ...intent,
  rootUsers: intent.rootUsers.map(
    ({ apiKeys, oauthProviders = [], ...user }): RootUser => ({
      ...user,
      apiKeys: apiKeys.map(upgradeApiKey),
      oauthProviders,
    }),
  ),
});

export const upgradeFromSeventh = (intent: Static<(typeof intents)[7]>): Intent => ({
  ...intent,
  takesTokensWithoutKey: true,
});
