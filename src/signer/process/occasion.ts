import { isSameButBlockhash } from "../../chains/solana/transaction.ts";
import { normalizeAddress } from "../../crypto/addresses.ts";
import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { isMessageOf32 } from "../../crypto/personal-messages.ts";
import { termsOfQuote } from "../../crypto/swap-quotes.ts";
import { parseJson } from "../../kernel/json.ts";
import { IMPORT_KEY_LIFETIME_MS, MAX_ADDRESS_LENGTH, MAX_CLOCK_AHEAD_MS } from "../../kernel/limits.ts";
import {
  authProxyLoginTypes,
  authProxyTypes,
  INSTALLATION,
  type KeyReference,
  type Occasion,
  type SignerRequest,
  type StampAuthProxyBodyRequest,
} from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import { type Paid, refuseOtherMessage, SWAP_TYPE } from "./sponsored-message.ts";

/**
 * Keys of organizations are used for activities only. The request must be for the organization that the activity's body names, and for a
 * key that the body names. Whether the activity is allowed is still the server's decision.
 */

type WorkVerb = Exclude<
  SignerRequest["verb"],
  | "open"
  | "replaceRootKeyFile"
  | "resealOrganizationKeys"
  | "describe"
  | "createOrganizationKey"
  | "sealJobSecret"
  | "openJobSecret"
  | "stampAuthProxyBody"
  | "signStatements"
  | "rehearse"
>;
type WorkRequest = Extract<SignerRequest, { verb: WorkVerb }>;

/** A use of an organization's keys, as logged for the operator. */
export interface Use {
  verb: WorkVerb | "stampAuthProxyBody" | "rehearse";
  organizationId: string;
  /** Absent if the key is used for a query. */
  activityType?: string;
  /** `sha256:` and hex, as in the activity; absent for a drill, which nobody stamped. */
  fingerprint?: string;
  /** The key's name in the body; absent if something new is created. */
  named?: string;
  /** What the installation paid for on behalf of the activity. */
  purpose?: string;
  /** The trace that the use belongs to; absent without tracing. */
  traceId?: string;
}

/** As in the body of an activity that begins a purchase. */
const COINBASE = "FIAT_ON_RAMP_PROVIDER_COINBASE";

/** Work with quorum keys must match the body exactly: shares for other recipients would give them the key. */
const quorumWork = {
  createQuorumKey: {
    type: "ACTIVITY_TYPE_CREATE_TVC_QUORUM_KEY",
    said: ({ threshold, operatorEncryptKeys }) => ({ threshold, operatorEncryptKeys }),
  },
  reEncryptQuorumShare: {
    type: "ACTIVITY_TYPE_RE_ENCRYPT_TVC_QUORUM_KEY_SHARE",
    said: ({ deploymentId, attestationDocB64, manifestB64, encryptKey, signKey }) => ({
      deploymentId,
      attestationDocB64,
      manifestB64,
      operatorEncryptKey: encryptKey.address?.address,
      operatorSignKey: signKey.address?.address,
    }),
  },
} satisfies {
  [Verb in QuorumVerb]: { type: string; said: (request: Extract<WorkRequest, { verb: Verb }>) => object };
};
type QuorumVerb = "createQuorumKey" | "reEncryptQuorumShare";
type QuorumRequest = Extract<WorkRequest, { verb: QuorumVerb }>;
const isQuorumWork = (request: WorkRequest): request is QuorumRequest => Object.hasOwn(quorumWork, request.verb);

function refuseOtherQuorumWork(request: QuorumRequest, { type, parameters }: Body): void {
  const { verb } = request;
  const work = quorumWork[verb] as { type: string; said: (request: QuorumRequest) => Record<string, unknown> };
  const said = work.said(request);
  const named = Object.fromEntries(
    Object.keys(said).map((name) => [name, (parameters as Record<string, unknown> | undefined)?.[name]]),
  );
  if (type === work.type && isSameValue(said, named)) return;
  throw new SigningRefused(`${verb}: the request differs from what the activity says`);
}

const nothing = (): string[] => [];
const nameOfWallet = ({ walletId }: { walletId: string }): string[] => [walletId];
const namesOfKey = ({ key }: { key: KeyReference }): string[] => [
  ...(key.kind === "privateKey" ? [key.keyId] : []),
  ...(key.address === undefined ? [] : [key.address.address]),
];

/** The names by which a body may refer to what is used; none for what is created or only stated. */
const namesOf: { [Verb in WorkVerb]: (request: Extract<WorkRequest, { verb: Verb }>) => string[] } = {
  generateKeys: nothing,
  createWallet: nothing,
  createImportKeys: nothing,
  importWallet: nothing,
  importPrivateKey: nothing,
  importSecret: nothing,
  importClientSecret: nothing,
  issueCredential: nothing,
  createAuthProxyKey: nothing,
  macOtp: nothing,
  openOtp: ({ otpId }) => [otpId],
  proveAddresses: nothing,
  provePolicyOutcome: nothing,
  sign: namesOfKey,
  signSponsorTransaction: nothing,
  exportKey: namesOfKey,
  exportWallet: nameOfWallet,
  deriveAccounts: nameOfWallet,
  exportSecret: ({ secretId }) => [secretId],
  openClientSecret: ({ credentialId }) => [credentialId],
  importOnRampKeys: nothing,
  signMoonPayUrl: ({ of }) => ["url" in of ? of.url : of.purchase.walletAddress],
  signSparkFrost: namesOfKey,
  prepareSparkTransfer: namesOfKey,
  claimSparkTransfer: namesOfKey,
  prepareSparkLightningReceive: namesOfKey,
  openPullSecret: ({ envelope }) => [envelope],
  createQuorumKey: nothing,
  reEncryptQuorumShare: ({ encryptKey }) => namesOfKey({ key: encryptKey }),
  authorizeCoinbase: ({ request }) => [request.of === "token" ? COINBASE : request.transactionId],
};

/** An activity of the parent creates a sub-organization and its first wallet. */
const SUB_ORGANIZATION_TYPE = /^ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION(_V\d+)?$/;
const OF_A_NEW_ORGANIZATION: ReadonlySet<WorkVerb> = new Set(["generateKeys", "createWallet"]);

/** A purchase uses a credential of the organization, or one that its parent lends it. */
const PURCHASE_TYPE = "ACTIVITY_TYPE_INIT_FIAT_ON_RAMP";
const isLent = (verb: WorkVerb): boolean => verb === "signMoonPayUrl" || verb === "authorizeCoinbase";
/** What a query may use: the only effect is an answer about what the query names. */
const isReading = (request: WorkRequest): boolean =>
  (request.verb === "authorizeCoinbase" && request.request.of === "transactions") ||
  // An image may be looked up without deploying it.
  request.verb === "openPullSecret";

/**
 * The use that a request makes of an organization's keys; undefined if it makes none.
 *
 * @throws SigningRefused if there is no activity for it, or a different one
 */
export function useOf(request: SignerRequest, occasion: Occasion | undefined): Use | undefined {
  if (request.verb === "stampAuthProxyBody") return useByAuthProxy(request);
  // A drill needs no activity, so it is logged like any other use: nobody can use keys this way unseen.
  if (request.verb === "rehearse") return { verb: request.verb, organizationId: request.organizationId };
  if (!isWork(request)) return undefined;
  const { verb } = request;
  const organizationId = "organizationId" in request ? request.organizationId : request.policyOutcome.organizationId;
  if (organizationId === INSTALLATION) {
    if (verb === "generateKeys") return undefined;
    throw new SigningRefused(`${verb}: the installation's own key only makes the installation's statements`);
  }
  if (!occasion) throw new SigningRefused(`${verb}: the request is not for an activity`);
  const body = bodyOf(occasion, isReading(request));
  if (isLent(verb) && !isReading(request) && body.type !== PURCHASE_TYPE) {
    throw new SigningRefused(`${verb}: the activity does not begin a purchase`);
  }
  const isNew = OF_A_NEW_ORGANIZATION.has(verb) && SUB_ORGANIZATION_TYPE.test(body.type);
  // A statement uses no organization's key. A user who signs in may have named only the parent, or may have been signed in by it.
  const isStated = verb === "provePolicyOutcome";
  if (body.organizationId !== organizationId && !isNew && !isStated && !isLent(verb)) {
    throw new SigningRefused(`${verb} was asked for organization ${organizationId}, which the activity does not name`);
  }
  const activityType = isReading(request) ? {} : { activityType: body.type };
  const purpose = request.verb === "signSponsorTransaction" ? { purpose: request.purpose } : {};
  const use = { verb, organizationId, ...activityType, fingerprint: fingerprintOf(occasion.body), ...purpose };
  const names = (namesOf[verb] as (request: WorkRequest) => string[])(request);
  if ("importKeys" in request) refuseForeignImportKeys(request, body, occasion);
  if (isSpark(request)) refuseOtherSparkWork(request, body);
  if (isQuorumWork(request)) refuseOtherQuorumWork(request, body);
  if (request.verb === "signSponsorTransaction" && request.key.curve === "CURVE_ED25519") {
    refuseOtherMessage(Buffer.from(request.transaction, "base64"), { ...body, plan: occasion.plan });
  }
  if (namesOf[verb] === nothing) return use;
  const parameters = isSpark(request) ? signWithOf(body) : body.parameters;
  const named = nameIn(parameters, names) ?? namedBySwap(request, body, occasion);
  if (named === undefined) throw new SigningRefused(`${verb}: the activity does not name what is requested`);
  return { ...use, named };
}

const CLAIM_TYPE = "ACTIVITY_TYPE_CLAIM_SWAP_FEES";
/**
 * The account that a body about swaps names indirectly. A body that names a quote names the quote's account, by the hash of its terms. A
 * body that claims fees names the receiver in the plan, which may sign one message of 32 bytes and nothing else.
 */
function namedBySwap(request: WorkRequest, body: Body, { plan }: Occasion) {
  if (request.verb !== "sign") return undefined;
  const { type, organizationId, parameters } = body;
  const planned = (plan ?? {}) as { terms?: unknown; receiver?: unknown };
  if (type === SWAP_TYPE) {
    const { quoteId } = (parameters ?? {}) as { quoteId?: unknown };
    const terms = termsOfQuote(quoteId, planned.terms);
    if (terms?.message !== undefined) refuseOtherSwap(request, terms.message, { ...body, plan });
    return terms?.organizationId === organizationId ? nameIn([terms.signWith], namesOfKey(request)) : undefined;
  }
  const [payload, ...others] = request.payloads;
  const isOneMessage = others.length === 0 && isMessageOf32(Buffer.from(payload ?? "", "base64"));
  const isClaim = type === CLAIM_TYPE && request.hash === "keccak256" && isOneMessage;
  return isClaim ? nameIn([planned.receiver], namesOfKey(request)) : undefined;
}

/** A quote on Solana contains the message to sign. Only the blockhash may differ, and the payer if the body asks for sponsoring. */
function refuseOtherSwap(
  { hash, payloads }: Extract<WorkRequest, { verb: "sign" }>,
  message: string,
  paid: Paid,
): void {
  const [payload = "", ...others] = payloads;
  const signed = Buffer.from(payload, "base64");
  const isOne = hash === "none" && others.length === 0;
  const isSponsored = (paid.parameters as { sponsor?: unknown }).sponsor === true;
  if (isOne && isSponsored) {
    refuseOtherMessage(signed, paid);
    return;
  }
  const isSame = isOne && isSameButBlockhash(signed, Buffer.from(message, "hex"));
  if (!isSame) throw new SigningRefused("the message to sign is not that of the swap quote");
}

type SparkVerb = Extract<WorkVerb, `${string}Spark${string}`>;
type SparkRequest = Extract<WorkRequest, { verb: SparkVerb }>;

/** The type of the activity for each verb, and the parameter that describes the work. */
const sparkWork: Record<SparkVerb, { type: string; parameter: string }> = {
  signSparkFrost: { type: "ACTIVITY_TYPE_SPARK_SIGN_FROST", parameter: "signatures" },
  prepareSparkTransfer: { type: "ACTIVITY_TYPE_SPARK_PREPARE_TRANSFER", parameter: "transfer" },
  claimSparkTransfer: { type: "ACTIVITY_TYPE_SPARK_CLAIM_TRANSFER", parameter: "claim" },
  prepareSparkLightningReceive: {
    type: "ACTIVITY_TYPE_SPARK_PREPARE_LIGHTNING_RECEIVE",
    parameter: "lightningReceive",
  },
};

const isSpark = (request: WorkRequest): request is SparkRequest => Object.hasOwn(sparkWork, request.verb);

/** The field in which a body for Spark names the wallet. Its other texts, such as operators' names, are free-form and must not count as names. */
const signWithOf = ({ parameters }: Body): unknown => (parameters as { signWith?: unknown } | undefined)?.signWith;

/** Work with a Spark wallet must match the body exactly: other nonces or receivers would benefit somebody else. */
function refuseOtherSparkWork(request: SparkRequest, { type, parameters }: Body): void {
  const { verb } = request;
  const expected = sparkWork[verb];
  const asked = (request as unknown as Record<string, unknown>)[expected.parameter];
  const named = (parameters as Record<string, unknown> | undefined)?.[expected.parameter];
  if (type !== expected.type || !isSameValue(asked, named)) {
    throw new SigningRefused(`${verb}: the request differs from what the activity says`);
  }
}

/** Compares as JSON; a null member equals a missing one. */
function isSameValue(asked: unknown, named: unknown): boolean {
  if (typeof asked !== "object" || asked === null) return asked === named;
  if (typeof named !== "object" || named === null || Array.isArray(asked) !== Array.isArray(named)) return false;
  const [mine, theirs] = [asked, named].map((value) => Object.entries(value).filter(([, member]) => member !== null));
  const members = named as Record<string, unknown>;
  return (
    mine?.length === theirs?.length &&
    (mine ?? []).every(([name, member]) => Object.hasOwn(members, name) && isSameValue(member, members[name]))
  );
}

/**
 * An auth proxy's key creates activities and is not used for them, so it stamps only bodies that the proxy may send. A body without a type
 * can only be a query, which changes nothing.
 */
function useByAuthProxy({ verb, organizationId, body }: StampAuthProxyBodyRequest): Use | undefined {
  const { type, organizationId: named } = membersOf(body);
  const isLogin = typeof type === "string" && authProxyLoginTypes.includes(type);
  if (named !== organizationId && !isLogin) {
    throw new SigningRefused(`${verb} was asked for organization ${organizationId}, which the body does not name`);
  }
  if (type === undefined) return undefined;
  const activityType = authProxyTypes.find((each) => each === type);
  if (activityType === undefined) throw new SigningRefused(`${verb}: an auth proxy may not do this`);
  return { verb, organizationId, activityType, fingerprint: fingerprintOf(body) };
}

const isWork = (request: SignerRequest): request is WorkRequest => Object.hasOwn(namesOf, request.verb);

/**
 * An import key can be used only by the user for whom it was made: the user named by an import of a key, or one who stamps an import of a
 * secret. The body must not be much younger than the key.
 */
function refuseForeignImportKeys(
  { verb, importKeys }: Extract<WorkRequest, { importKeys: unknown }>,
  { parameters, timestampMs }: Body,
  { ballots }: Occasion,
): void {
  const named = (parameters as { userId?: unknown } | undefined)?.userId;
  for (const { userId, issuedAt } of importKeys) {
    const isTheirs = verb === "importSecret" ? ballots.some((ballot) => ballot.userId === userId) : named === userId;
    if (!isTheirs) throw new SigningRefused(`${verb} was asked with an import key of somebody else`);
    if (!(timestampMs <= issuedAt + IMPORT_KEY_LIFETIME_MS + MAX_CLOCK_AHEAD_MS))
      throw new SigningRefused(`${verb} was asked with an import key that has expired`);
  }
}

interface Body {
  type: string;
  organizationId: string;
  /** The time in the stamped body; NaN if it has none. */
  timestampMs: number;
  parameters: unknown;
}

function membersOf(body: string): Record<string, unknown> {
  try {
    return (parseJson(Buffer.from(body)) ?? {}) as Record<string, unknown>;
  } catch {
    throw new SigningRefused("the activity's body is not JSON");
  }
}

/** A query is flat: its parameters are next to the organization. */
function bodyOf({ body }: Occasion, isQuery: boolean): Body {
  const members = membersOf(body);
  const { type, organizationId, parameters } = members;
  const timestampMs = Number(members.timestampMs);
  if (isQuery && typeof organizationId === "string")
    return { type: "", organizationId, timestampMs, parameters: members };
  if (typeof type === "string" && typeof organizationId === "string")
    return { type, organizationId, timestampMs, parameters };
  throw new SigningRefused("the activity's body names no organization");
}

/** The first text among the parameters that equals one of these names, in any spelling for addresses. */
function nameIn(parameters: unknown, names: readonly string[]): string | undefined {
  const spelled = new Set(names.map(normalizeAddress));
  for (const text of textsOf(parameters)) {
    if (names.includes(text)) return text;
    if (text.length <= MAX_ADDRESS_LENGTH && spelled.has(normalizeAddress(text))) return text;
  }
  return undefined;
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const child of Object.values(value)) yield* textsOf(child);
}
