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

/** What a sub-organization is made from, in all versions. */

const person = { userName: Label, userEmail: Type.Optional(Email) };
const reachablePerson = { ...person, userPhoneNumber: Type.Optional(PhoneNumber) };
const authenticators = List(AuthenticatorParams, MAX_AUTHENTICATORS_PER_USER);
const apiKeys = List(ApiKeyParams);
const apiKeysV1 = List(ApiKeyParamsV1);
const oauthProvidersV1 = List(OauthProviderParamsV1);

/** Root users in the five forms they have had. */
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
/** What a person who signs up has shown of an address. */
const signup = {
  verificationToken: Type.Optional(VerificationTokenOrEmpty),
  clientSignature: Type.Optional(ClientSignature),
};
const newestOptions = {
  ...signup,
  /** Of this server's own: the name of a tag that the new organization starts with and its root users carry. */
  userTag: Type.Optional(Label),
  ...options,
  disableSmsAuth: flag,
  disableOtpEmailAuth: flag,
};

/** By version; the eighth is the newest. */
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

/** The newest form, together with what only an older one could ask for. */
export type Intent = Static<(typeof intents)[8]> & {
  privateKeys?: readonly PrivateKeyParams[];
  /** Whether a verification token need not name a key, which only newer clients have one for. */
  takesTokensWithoutKey?: boolean;
};

/** The user whom the first version makes of one passkey. */
export function upgradeFromAuthenticator({ name, rootAuthenticator }: Static<(typeof intents)[1]>): Intent {
  const rootUser = { userName: "Root user", apiKeys: [], authenticators: [rootAuthenticator], oauthProviders: [] };
  return { subOrganizationName: name, rootUsers: [rootUser], rootQuorumThreshold: 1 };
}

/** Root users without curves, and before the fifth version without OAuth providers. */
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
