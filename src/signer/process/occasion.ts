import { createHash } from "node:crypto";
import { normalizeAddress } from "../../crypto/addresses.ts";
import { parseJson } from "../../kernel/json.ts";
import { MAX_ADDRESS_LENGTH } from "../../kernel/limits.ts";
import { INSTALLATION, type KeyReference, type Occasion, type SignerRequest } from "../protocol.ts";
import { SigningRefused } from "./refused.ts";

/**
 * What is done with the keys of organizations is done for an activity. The request must be for the organization that the
 * activity's body names, and for a key that it names. Whether the activity may happen is the server's word still.
 */

type WorkVerb = Exclude<
  SignerRequest["verb"],
  "open" | "describe" | "createOrganizationKey" | "sealJobSecret" | "openJobSecret"
>;
type WorkRequest = Extract<SignerRequest, { verb: WorkVerb }>;

/** A use of an organization's keys, as it is told to the operator. */
export interface Use {
  verb: WorkVerb;
  organizationId: string;
  activityType: string;
  /** `sha256:` and hex, as the activity has it. */
  fingerprint: string;
  /** What the body named; absent where something new is made. */
  named?: string;
}

const nothing = (): string[] => [];
const nameOfWallet = ({ walletId }: { walletId: string }): string[] => [walletId];
const namesOfKey = ({ key }: { key: KeyReference }): string[] => [
  ...(key.kind === "privateKey" ? [key.keyId] : []),
  ...(key.address === undefined ? [] : [key.address.address]),
];

/** The names by which a body may call what is used; none of what is made, or only stated. */
const namesOf: { [Verb in WorkVerb]: (request: Extract<WorkRequest, { verb: Verb }>) => string[] } = {
  generateKeys: nothing,
  createWallet: nothing,
  createImportKeys: nothing,
  importWallet: nothing,
  importPrivateKey: nothing,
  importSecret: nothing,
  importClientSecret: nothing,
  issueCredential: nothing,
  macOtp: nothing,
  openOtp: ({ otpId }) => [otpId],
  proveAddresses: nothing,
  provePolicyOutcome: nothing,
  sign: namesOfKey,
  exportKey: namesOfKey,
  exportWallet: nameOfWallet,
  deriveAccounts: nameOfWallet,
  exportSecret: ({ secretId }) => [secretId],
  openClientSecret: ({ credentialId }) => [credentialId],
};

/** A sub-organization is made, with its first wallet, for an activity of its parent. */
const SUB_ORGANIZATION_TYPE = /^ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION(_V\d+)?$/;
const OF_A_NEW_ORGANIZATION: ReadonlySet<WorkVerb> = new Set(["generateKeys", "createWallet"]);
/**
 * The use that a request makes of an organization's keys; undefined where it makes none.
 *
 * @throws SigningRefused when there is no activity for it, or another one
 */
export function useOf(request: SignerRequest, occasion: Occasion | undefined): Use | undefined {
  if (!isWork(request)) return undefined;
  const { verb } = request;
  const organizationId = "organizationId" in request ? request.organizationId : request.policyOutcome.organizationId;
  if (organizationId === INSTALLATION) return undefined;
  if (!occasion) throw new SigningRefused(`${verb} was asked for no activity`);
  const body = bodyOf(occasion);
  const isNew = OF_A_NEW_ORGANIZATION.has(verb) && SUB_ORGANIZATION_TYPE.test(body.type);
  // A statement uses no key of anybody's: who signs in may have named the parent alone, or have been signed in by it.
  const isStated = verb === "provePolicyOutcome";
  if (body.organizationId !== organizationId && !isNew && !isStated) {
    throw new SigningRefused(`${verb} was asked for organization ${organizationId}, which the activity does not name`);
  }
  const fingerprint = `sha256:${createHash("sha256").update(occasion.body).digest("hex")}`;
  const use = { verb, organizationId, activityType: body.type, fingerprint };
  const names = (namesOf[verb] as (request: WorkRequest) => string[])(request);
  if (namesOf[verb] === nothing) return use;
  const named = nameIn(body.parameters, names);
  if (named === undefined) throw new SigningRefused(`${verb} was asked with what the activity does not name`);
  return { ...use, named };
}

const isWork = (request: SignerRequest): request is WorkRequest => Object.hasOwn(namesOf, request.verb);

interface Body {
  type: string;
  organizationId: string;
  parameters: unknown;
}

function bodyOf({ body }: Occasion): Body {
  let value: unknown;
  try {
    value = parseJson(Buffer.from(body));
  } catch {
    throw new SigningRefused("the activity's body is not JSON");
  }
  const { type, organizationId, parameters } = (value ?? {}) as Record<string, unknown>;
  if (typeof type === "string" && typeof organizationId === "string") return { type, organizationId, parameters };
  throw new SigningRefused("the activity's body names no organization");
}

/** The first text among the parameters that is one of these names, an address in any of its spellings. */
function nameIn(parameters: unknown, names: readonly string[]): string | undefined {
  const spelled = new Set(names.map(normalizeAddress));
  for (const text of textsOf(parameters)) {
    if (text.length <= MAX_ADDRESS_LENGTH && spelled.has(normalizeAddress(text))) return text;
  }
  return undefined;
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const child of Object.values(value)) yield* textsOf(child);
}
