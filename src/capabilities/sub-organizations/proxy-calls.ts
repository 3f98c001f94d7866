import { type Static, Type } from "typebox";
import { contactOf as contactOfType } from "../../authority/state.ts";
import { Label, LabelOrEmpty, OneOf, Strict } from "../../engine/fields.ts";
import { findVerifiedHolder, type VerifiedHolder } from "../../engine/identity/contacts.ts";
import { findProviders } from "../../engine/identity/providers.ts";
import { openVerificationToken, readVerificationToken } from "../../engine/keys/verification-tokens.ts";
import { type AuthMethod, type ProxyContext, proxyCall } from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import { readToken } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";
import { methodOfIssuer, methodOfToken, shownEmailOf } from "../auth-proxy/model.ts";
import { WalletResult } from "../wallets/model.ts";
import { createSubOrganization } from "./create-sub-organization.ts";
import { intents } from "./model.ts";
import { isThere } from "./store.ts";

/** Sign-up and account look-up for people who have no credential yet. */

const { rootUsers: rootUsersV7 } = intents[7].properties;
const { rootUsers, wallet, verificationToken, clientSignature, userTag } = intents[8].properties;

const person = {
  userEmail: rootUsers.items.properties.userEmail,
  userPhoneNumber: rootUsers.items.properties.userPhoneNumber,
  userName: Type.Optional(Label),
  organizationName: Type.Optional(LabelOrEmpty),
  apiKeys: rootUsers.items.properties.apiKeys,
  authenticators: rootUsers.items.properties.authenticators,
  verificationToken,
  clientSignature,
  wallet,
  userTag,
};
const SignupRequest = Strict({ ...person, oauthProviders: rootUsers.items.properties.oauthProviders });
const SignupRequestV1 = Strict({ ...person, oauthProviders: rootUsersV7.items.properties.oauthProviders });
type SignupRequest = Static<typeof SignupRequest>;

const SignupResponse = Type.Object({
  organizationId: Type.String(),
  userId: Type.String(),
  wallet: Type.Optional(WalletResult),
});

const isOfSession = ({ curveType, expirationSeconds }: SignupRequest["apiKeys"][number]): boolean =>
  curveType === "API_KEY_CURVE_P256" && expirationSeconds !== undefined;

/**
 * The methods by which the person could sign in later. An API key counts as a wallet. A P-256 key that expires is only the key of the
 * session that follows, unless the request has no other method.
 */
function methodsOf(
  { apiKeys, authenticators, oauthProviders, userEmail, userPhoneNumber, verificationToken: token }: SignupRequest,
  ownIssuer: string,
): AuthMethod[] {
  const shownBy = token === undefined ? undefined : readVerificationToken(token)?.verification_type;
  const shown: AuthMethod[] = [
    ...(authenticators.length > 0 ? (["passkey"] as const) : []),
    ...oauthProviders.map(({ oidcToken, oidcClaims }, index) =>
      oidcToken === undefined
        ? methodOfIssuer(oidcClaims?.iss ?? "", oidcClaims?.sub ?? "", ownIssuer)
        : methodOfToken(oidcToken, `oauthProviders.${index}.oidcToken`, ownIssuer),
    ),
    ...(userEmail !== undefined || shownBy === "OTP_TYPE_EMAIL" ? (["email"] as const) : []),
    ...(userPhoneNumber !== undefined || shownBy === "OTP_TYPE_SMS" ? (["sms"] as const) : []),
  ];
  const hasWallet = apiKeys.some((key) => shown.length === 0 || !isOfSession(key));
  return hasWallet ? [...shown, "wallet"] : shown;
}

type SignupContext = ProxyContext<SignupRequest, "oidc">;

async function signUp(context: SignupContext, type: string): Promise<Static<typeof SignupResponse>> {
  const known = await linkToAccount(context);
  if (known) return known;
  const { request, config, read, submit, submitOnce, now } = context;
  const { organizationName, userName, wallet, verificationToken, clientSignature, userTag, ...user } = request;
  const parametersAt = (time: number) => ({
    subOrganizationName: organizationName ?? `sub-org-${time}`,
    rootUsers: [{ ...user, ...contactOf(request), userName: userName ?? `user-${time}` }],
    rootQuorumThreshold: 1,
    ...(wallet ? { wallet } : {}),
    ...(userTag ? { userTag } : {}),
    ...(verificationToken ? { verificationToken } : {}),
    ...(clientSignature ? { clientSignature } : {}),
  });
  const isOver = async (made: { subOrganizationId: string }) =>
    !(await isThere(read, config.organizationId, made.subOrganizationId));
  const { subOrganizationId, rootUserIds, ...made } = namesCredential(request)
    ? await submitOnce(createSubOrganization, { type, parametersAt, isOver })
    : await submit(createSubOrganization, { type, parameters: parametersAt(now) });
  const [userId] = rootUserIds as [string];
  return { organizationId: subOrganizationId, userId, ...(made.wallet ? { wallet: made.wallet } : {}) };
}

/** Whether a request identifies one person. An unverified contact does not: anybody can enter it, any number of times. */
const namesCredential = ({ apiKeys, authenticators, oauthProviders, verificationToken }: SignupRequest): boolean =>
  apiKeys.length + authenticators.length + oauthProviders.length > 0 || verificationToken !== undefined;

/**
 * Social linking: if an account already has the verified email address that a Google token proves, and the token is for an app in
 * `socialLinkingClientIds`, the person gets no second account. Instead, the Google sign-in is added to the existing one. A request that
 * also has other credentials is an ordinary sign-up, because only OAuth providers are added to an account without its user's stamp.
 * Repeating the request returns the same answer.
 *
 * @throws KeysteadError OIDC_TOKEN_INVALID, or FIELD_INVALID for an app that is not the organization's own
 */
async function linkToAccount({
  request: { apiKeys, authenticators, oauthProviders, verificationToken },
  config: { organizationId, settings },
  ...context
}: SignupContext): Promise<Static<typeof SignupResponse> | undefined> {
  const { socialLinkingClientIds = [] } = settings;
  if (apiKeys.length > 0 || authenticators.length > 0 || verificationToken !== undefined) return undefined;
  const [{ oidcToken } = {}] = oauthProviders;
  if (oidcToken === undefined || socialLinkingClientIds.length === 0) return undefined;
  const claims = await context.oidc.verify(oidcToken, { field: "oauthProviders.0.oidcToken", organizationId });
  const email = socialLinkingClientIds.includes(claims.aud) ? shownEmailOf(claims, settings) : undefined;
  if (email === undefined) return undefined;
  const holder = await findVerifiedHolder(context.read, organizationId, contactOfType("EMAIL", email));
  if (!holder || holder.organizationId === organizationId) return undefined;
  const { userId } = holder;
  const parameters = { userId, oauthProviders };
  if (!(await isLinked(context.read, holder, oauthProviders))) {
    await context.submit("create_oauth_providers", { organizationId: holder.organizationId, parameters });
  }
  return { organizationId: holder.organizationId, userId };
}

/** Whether a user has all of these providers already, as after a retry by a client that did not receive the response. */
async function isLinked(
  read: Reader,
  { organizationId, userId }: VerifiedHolder,
  oauthProviders: SignupRequest["oauthProviders"],
): Promise<boolean> {
  for (const [index, { oidcToken = "", oidcClaims }] of oauthProviders.entries()) {
    const field = `oauthProviders.${index}.oidcToken`;
    const claims = oidcClaims ?? readToken(oidcToken, (reason) => fail("OIDC_TOKEN_INVALID", { field, reason })).claims;
    const [known] = await findProviders(read, claims, { organizationId, reach: "organization" });
    if (known?.userId !== userId) return false;
  }
  return true;
}

/** The contact in the verification token, which the request need not repeat. */
function contactOf({ verificationToken: token, userEmail, userPhoneNumber }: SignupRequest): object {
  const claims = token === undefined ? undefined : readVerificationToken(token);
  if (claims?.verification_type === "OTP_TYPE_EMAIL" && userEmail === undefined) return { userEmail: claims.contact };
  if (claims?.verification_type === "OTP_TYPE_SMS" && userPhoneNumber === undefined) {
    return { userPhoneNumber: claims.contact };
  }
  return {};
}

const fieldNames = { "rootUsers.0": "", subOrganizationName: "organizationName" };
const isRobotPossible = ({ verificationToken: token }: SignupRequest) => token === undefined;

const signup = proxyCall({
  path: "signup",
  summary:
    "Sign a person up: create a sub-organization for them, optionally with a wallet. OAuth providers need their tokens.",
  needs: ["oidc"],
  request: SignupRequestV1,
  response: SignupResponse,
  methods: methodsOf,
  wantsCaptcha: isRobotPossible,
  fieldNames,
  answer: (context) => signUp(context, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7"),
});

const signupV2 = proxyCall({
  path: "signup_v2",
  summary: "Sign a person up: create a sub-organization for them, optionally with a wallet.",
  needs: ["oidc"],
  request: SignupRequest,
  response: SignupResponse,
  methods: methodsOf,
  wantsCaptcha: isRobotPossible,
  fieldNames,
  answer: (context) => signUp(context, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8"),
});

const AccountRequest = Strict({
  filterType: OneOf([
    "CREDENTIAL_ID",
    "NAME",
    "USERNAME",
    "EMAIL",
    "PHONE_NUMBER",
    "OIDC_TOKEN",
    "OIDC_CLAIMS",
    "PUBLIC_KEY",
  ]),
  filterValue: Type.String({ minLength: 1, maxLength: 65_536 }),
  verificationToken: Type.Optional(Type.String({ maxLength: 65_536 })),
  oidcToken: Type.Optional(Type.String({ maxLength: 65_536 })),
});
type AccountRequest = Static<typeof AccountRequest>;
type AccountContext = ProxyContext<AccountRequest, "oidc">;

/**
 * Filters by contact. They find only verified contacts, because only those can sign in. An organization can require proof of the contact, so
 * that strangers do not learn whether it has an account.
 */
const contactFilters = { EMAIL: "OTP_TYPE_EMAIL", PHONE_NUMBER: "OTP_TYPE_SMS" } as const;

const account = proxyCall({
  path: "account",
  summary:
    "Find the sub-organization with a certain user or credential, if there is one. For a contact, it is the one in which the contact is verified.",
  needs: ["oidc"],
  request: AccountRequest,
  response: Type.Object({ organizationId: Type.Optional(Type.String()) }),
  async answer(context) {
    const { request, ask } = context;
    const { filterType } = request;
    const isContact = filterType === "EMAIL" || filterType === "PHONE_NUMBER";
    if (isContact) await requireProof(context, contactFilters[filterType]);
    const query = isContact ? "list_verified_suborgs" : "list_suborgs";
    const { organizationIds } = (await ask(query, { filterType, filterValue: request.filterValue })) as {
      organizationIds: string[];
    };
    const [organizationId] = organizationIds;
    return organizationId === undefined ? {} : { organizationId };
  },
});

/** @throws KeysteadError FIELD_MISSING, VERIFICATION_TOKEN_INVALID or OIDC_TOKEN_INVALID if the organization requires proof of a contact */
async function requireProof(context: AccountContext, otpType: string): Promise<void> {
  const { request, config, read, now, oidc } = context;
  if (!config.settings.verificationTokenRequiredForGetAccountPii) return;
  const { verificationToken: token, oidcToken, filterValue } = request;
  const isSame = (contact: string | undefined) => contact?.toLowerCase() === filterValue.toLowerCase();
  if (token === undefined && oidcToken !== undefined && otpType === "OTP_TYPE_EMAIL") {
    const claims = await oidc.verify(oidcToken, { organizationId: config.organizationId });
    if (isSame(shownEmailOf(claims, config.settings))) return;
    const reason =
      "does not prove this email address: only a token from Google for your own app that says it is verified does";
    fail("OIDC_TOKEN_INVALID", { field: "oidcToken", reason });
  }
  const field = "verificationToken";
  if (token === undefined) fail("FIELD_MISSING", { field });
  const claims = await openVerificationToken(read, token, now);
  const isOf = claims?.organization_id === config.organizationId && claims.verification_type === otpType;
  if (!isOf || !isSame(claims?.contact)) {
    fail("VERIFICATION_TOKEN_INVALID", { field, reason: "it does not prove this contact here" });
  }
}

export const subOrganizationCalls = [signup, signupV2, account];
