import type { Static, TSchema } from "typebox";
import type { Contact } from "../authority/state.ts";
import type { Reader } from "../storage/engine.ts";
import type { ActivityOperation } from "./operations.ts";
import type { RepeatedActivity } from "./own-activities.ts";
import type { ServiceName, Services } from "./services.ts";

/** How calls of the auth proxy are declared: what people ask for who have no credential yet. */

/** The ways to sign up and in that an organization can allow, as the wallet kit names them. */
export const socialMethods = ["google", "apple", "facebook", "x", "discord"] as const;
export const authMethods = ["email", "sms", "passkey", "wallet", ...socialMethods, "oidc"] as const;
export type SocialMethod = (typeof socialMethods)[number];
export type AuthMethod = (typeof authMethods)[number];

/** What an organization has set for its auth proxy; what is absent has the default that the guide names. */
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

/** The auth proxy of an organization, as its calls see it. */
export interface ProxyConfig {
  configId: string;
  organizationId: string;
  organizationName: string;
  settings: AuthProxySettings;
}

/** One activity that the proxy has done in its organization's name. */
export interface ProxySubmission {
  /** The newest unless said. */
  type?: string | undefined;
  /** The organization of the proxy unless said: a sub-organization, for those who sign in. */
  organizationId?: string;
  parameters: object;
}

/** One that whoever did not hear the answer asks for again. */
export type RepeatedSubmission<Result> = Omit<RepeatedActivity<Result>, "organizationId" | "now">;

/** An activity by its path, or one whose result has a type. */
export type ActivityWith<Result> = string | (ActivityOperation & { readonly types?: { answer: Result } });

export type ProxyContext<Request, Needs extends ServiceName = never> = Pick<Services, Needs> & {
  request: Request;
  config: ProxyConfig;
  read: Reader;
  /** Milliseconds. */
  now: number;
  /**
   * Has an activity carried out, stamped by the proxy's own user, and resolves to its result. One of another capability is named
   * by its path.
   *
   * @throws KeysteadError as the activity fails, or where policies do not let the proxy do it at once
   */
  submit<Result>(operation: ActivityWith<Result>, submission: ProxySubmission): Promise<Result>;
  /** The same; for equal parameters it is one activity for a few minutes, while what it made is there. */
  submitOnce<Result>(operation: ActivityWith<Result>, submission: RepeatedSubmission<Result>): Promise<Result>;
  /** Sends a query of the organization, named by its path. */
  ask(path: string, request: object): Promise<Record<string, unknown>>;
};

export interface ProxyCallDeclaration<
  Path extends string,
  Q extends TSchema,
  R extends TSchema,
  Needs extends ServiceName,
> {
  /** What follows `/v1/` in its URL. */
  path: Path;
  summary: string;
  needs?: readonly Needs[];
  request: Q;
  response: R;
  /** The ways to sign in that the request is of; all of them must be allowed. `ownIssuer` is the issuer of our own tokens. */
  methods?: (request: Static<Q>, ownIssuer: string) => readonly AuthMethod[];
  /** Whether the request must show that a person sends it, where the organization wants that. */
  wantsCaptcha?: (request: Static<Q>) => boolean;
  /** Whom it sends a code to. */
  sendsCodeTo?: (request: Static<Q>) => Contact;
  /** What the fields of the parameters are called in the request, where they are not called the same. */
  fieldNames?: Record<string, string>;
  answer: (context: ProxyContext<Static<Q>, Needs>) => Promise<Static<R>>;
}

/** A call as the proxy handles it. */
export interface ProxyCall {
  path: string;
  summary: string;
  needs: readonly string[];
  request: TSchema;
  response: TSchema;
  methods: (request: unknown, ownIssuer: string) => readonly AuthMethod[];
  wantsCaptcha: (request: unknown) => boolean;
  sendsCodeTo?: (request: unknown) => Contact;
  fieldNames: Record<string, string>;
  answer: (context: ProxyContext<unknown>) => Promise<unknown>;
}

/** All calls have paths below this. */
export const PROXY_PREFIX = "/v1/";
export const proxyPathOf = ({ path }: Pick<ProxyCall, "path">): string => `${PROXY_PREFIX}${path}`;

/** Declares a call of the auth proxy, `POST /v1/<path>`. */
export function proxyCall<
  const Path extends string,
  Q extends TSchema,
  R extends TSchema,
  Needs extends ServiceName = never,
>(declaration: ProxyCallDeclaration<Path, Q, R, Needs>): ProxyCall {
  const { needs = [], methods = () => [], wantsCaptcha = () => false, fieldNames = {}, answer, ...rest } = declaration;
  // The proxy passes each function what its declaration says; the compiler has held both against each other there.
  return { ...rest, needs, fieldNames, methods, wantsCaptcha, answer } as unknown as ProxyCall;
}
