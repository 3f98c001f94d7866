import type { Static, TObject, TSchema } from "typebox";
import type { Contact } from "../authority/state.ts";
import type { Reader } from "../storage/engine.ts";
import type { ActivityOperation } from "./operations.ts";
import type { RepeatedActivity } from "./own-activities.ts";
import type { ServiceName, Services } from "./services.ts";

/** How calls of the auth proxy are declared. They are for people who have no credential yet. */

/** The sign-in methods that an organization can allow, as the wallet kit names them. */
export const socialMethods = ["google", "apple", "facebook", "x", "discord"] as const;
export const authMethods = ["email", "sms", "passkey", "wallet", ...socialMethods, "oidc"] as const;
export type SocialMethod = (typeof socialMethods)[number];
export type AuthMethod = (typeof authMethods)[number];

/** An organization's settings of its auth proxy. The guide lists the defaults of absent members. */
export interface AuthProxySettings {
  allowedOrigins?: string[];
  allowedAuthMethods?: AuthMethod[];
  sendFromEmailAddress?: string;
  sendFromEmailSenderName?: string;
  replyToEmailAddress?: string;
  emailAuthTemplateId?: string;
  otpTemplateId?: string;
  emailCustomizationParams?: Record<string, string>;
  smsCustomizationParams?: { template?: string };
  walletKitSettings?: {
    enabledSocialProviders?: SocialMethod[];
    oauthClientIds?: Partial<Record<SocialMethod, string>>;
    oauthRedirectUrl?: string;
  };
  otpExpirationSeconds?: number;
  verificationTokenExpirationSeconds?: number;
  sessionExpirationSeconds?: number;
  otpAlphanumeric?: boolean;
  otpLength?: number;
  verificationTokenRequiredForGetAccountPii?: boolean;
  socialLinkingClientIds?: string[];
  captchaEnabled?: boolean;
}

/** The auth proxy of an organization, as passed to its calls. */
export interface ProxyConfig {
  configId: string;
  organizationId: string;
  organizationName: string;
  settings: AuthProxySettings;
}

/** An activity that the proxy submits on behalf of its organization. */
export interface ProxySubmission {
  /** Default: the newest. */
  type?: string | undefined;
  /** Default: the organization of the proxy. A sub-organization when one of its users signs in. */
  organizationId?: string;
  parameters: object;
}

/** A submission that a client may repeat because it missed the answer. */
export type RepeatedSubmission<Result> = Omit<RepeatedActivity<Result>, "organizationId" | "now">;

/** An activity by its path, or by its operation, whose result type is known. */
export type ActivityWith<Result> = string | (ActivityOperation & { readonly types?: { answer: Result } });

export type ProxyContext<Request, Needs extends ServiceName = never> = Pick<Services, Needs> & {
  request: Request;
  config: ProxyConfig;
  read: Reader;
  /** Milliseconds. */
  now: number;
  /**
   * Submits an activity, stamped by the proxy's own user, and resolves to its result. An activity of another capability is named by its
   * path.
   *
   * @throws KeysteadError if the activity fails, or if policies deny it or require the consensus of others
   */
  submit<Result>(operation: ActivityWith<Result>, submission: ProxySubmission): Promise<Result>;
  /** Like `submit`, but equal parameters are the same activity for a few minutes, as long as what it created exists. */
  submitOnce<Result>(operation: ActivityWith<Result>, submission: RepeatedSubmission<Result>): Promise<Result>;
  /** Runs a query, named by its path, on behalf of the organization. */
  ask(path: string, request: object): Promise<Record<string, unknown>>;
};

export interface ProxyCallDeclaration<
  Path extends string,
  Q extends TObject,
  R extends TSchema,
  Needs extends ServiceName,
> {
  /** The part of its URL after `/v1/`. */
  path: Path;
  summary: string;
  needs?: readonly Needs[];
  request: Q;
  response: R;
  /** The sign-in methods that the request uses; all of them must be allowed. `ownIssuer` is the issuer of this server's own tokens. */
  methods?: (request: Static<Q>, ownIssuer: string) => readonly AuthMethod[];
  /** Whether the request needs a captcha token, if the organization has captchas enabled. */
  wantsCaptcha?: (request: Static<Q>) => boolean;
  /** The contact that the call sends a code to. */
  sendsCodeTo?: (request: Static<Q>) => Contact;
  /** The names in the request of fields of the activity's parameters, where they differ; for errors. */
  fieldNames?: Record<string, string>;
  answer: (context: ProxyContext<Static<Q>, Needs>) => Promise<Static<R>>;
}

/** A call without its types, as the proxy handles it. */
export interface ProxyCall {
  path: string;
  summary: string;
  needs: readonly string[];
  request: TObject;
  response: TSchema;
  methods: (request: unknown, ownIssuer: string) => readonly AuthMethod[];
  wantsCaptcha: (request: unknown) => boolean;
  sendsCodeTo?: (request: unknown) => Contact;
  fieldNames: Record<string, string>;
  answer: (context: ProxyContext<unknown>) => Promise<unknown>;
}

/** The prefix of the paths of all calls. */
export const PROXY_PREFIX = "/v1/";
export const proxyPathOf = ({ path }: Pick<ProxyCall, "path">): string => `${PROXY_PREFIX}${path}`;

/** Declares a call of the auth proxy, `POST /v1/<path>`. */
export function proxyCall<
  const Path extends string,
  Q extends TObject,
  R extends TSchema,
  Needs extends ServiceName = never,
>(declaration: ProxyCallDeclaration<Path, Q, R, Needs>): ProxyCall {
  const { needs = [], methods = () => [], wantsCaptcha = () => false, fieldNames = {}, answer, ...rest } = declaration;
  // Drops the types. That each function fits its context was checked by the compiler at the declaration.
  return { ...rest, needs, fieldNames, methods, wantsCaptcha, answer } as unknown as ProxyCall;
}
