import type { Admission } from "../engine/admission.ts";
import type { Engine } from "../engine/engine.ts";
import {
  type AuthMethod,
  PROXY_PREFIX,
  type ProxyCall,
  type ProxyConfig,
  proxyPathOf,
  socialMethods,
} from "../engine/proxy-call.ts";
import { type Services, servicesFor } from "../engine/services.ts";
import { validate, withoutNulls } from "../engine/validate.ts";
import { joinedHeader } from "../http/headers.ts";
import type { Mount, RequestHead, Route } from "../http/route.ts";
import type { Clock } from "../kernel/clock.ts";
import { fail, failForNow, KeysteadError } from "../kernel/errors.ts";
import { isId } from "../kernel/ids.ts";
import { networkOf } from "../kernel/ip-address.ts";
import { parseJson, printable } from "../kernel/json.ts";
import {
  MAX_AUTH_PROXY_BODY_BYTES,
  MAX_CAPTCHA_TOKEN_LENGTH,
  MAX_RATE_BUCKETS,
  RATE_BURST_SECONDS,
} from "../kernel/limits.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { TokenBuckets } from "../kernel/token-buckets.ts";
import type { Signer } from "../signer/client.ts";
import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/engine.ts";
import { CodeLimits, type CodesPerHour } from "./code-limits.ts";
import { createSender, type Stamping } from "./sender.ts";

/** An organization's auth proxy, found by its configuration id. */
export interface FoundProxy {
  config: ProxyConfig;
  stamping: Stamping;
}

export interface AuthProxyOptions {
  engine: Pick<Engine, "accept" | "registry">;
  calls: readonly ProxyCall[];
  /** The proxy with this configuration id, if it is enabled. */
  findProxy: (read: Reader, configId: string) => Promise<FoundProxy | undefined>;
  /** Whether pages of this origin may call the proxy. */
  isAllowedOrigin: (settings: ProxyConfig["settings"], origin: string) => boolean;
  database: Pick<Database, "read">;
  signer: Pick<Signer, "ask">;
  services: Services;
  admission: Admission;
  /** Requests per second from one IP address; 0 means no limit. */
  requestsPerSecond: number;
  codesPerHour: CodesPerHour;
  clock: Clock;
  /** A monotonic clock, in milliseconds. */
  elapsed: (() => number) | undefined;
}

/**
 * Serves people who have no credential yet. Instead of stamping, they name a configuration. The server puts their call into an ordinary
 * request, has it stamped as the user of the organization's proxy, and processes it like every other request.
 */
export function authProxy(options: AuthProxyOptions): Mount {
  const { requestsPerSecond: perSecond, elapsed = () => performance.now() } = options;
  const rate = { perSecond, burst: perSecond * RATE_BURST_SECONDS };
  const buckets = new TokenBuckets(rate, MAX_RATE_BUCKETS, elapsed);
  const takeToken = (address: string | undefined) => {
    if (perSecond === 0) return;
    const seconds = buckets.take(networkOf(address ?? ""), 1);
    if (seconds > 0) failForNow("RATE_LIMITED", { reason: "too many requests from this address" }, seconds);
  };
  const bounds: Bounds = { takeToken, codes: new CodeLimits(options.codesPerHour, elapsed), equals: new OneAtATime() };
  return { routes: options.calls.map((call) => routeOf(call, options, bounds)), echoedOriginBelow: PROXY_PREFIX };
}

/** The limits on calls without a credential. */
interface Bounds {
  takeToken: (address: string | undefined) => void;
  codes: CodeLimits;
  equals: OneAtATime;
}

function routeOf(call: ProxyCall, options: AuthProxyOptions, { takeToken, ...bounds }: Bounds): Route {
  return {
    method: "POST",
    path: proxyPathOf(call),
    operation: `auth_proxy.${call.path}`,
    accept(head) {
      takeToken(head.remoteAddress);
      const configId = configIdOf(head);
      options.admission.refuseFailing(head.remoteAddress, configId);
      return async (body) => ({
        body: JSON.stringify(await answer(call, options, { head, configId, body, ...bounds })),
      });
    },
  };
}

const header = ({ headers }: RequestHead, name: string): string | undefined => joinedHeader(headers[name]);

const CONFIG_HEADER = "x-auth-proxy-config-id";
const CAPTCHA_HEADER = "x-captcha-token";

function configIdOf(head: RequestHead): string {
  const id = header(head, CONFIG_HEADER)?.trim().toLowerCase();
  return id !== undefined && isId(id) ? id : fail("AUTH_PROXY_UNKNOWN", {});
}

interface Asked extends Omit<Bounds, "takeToken"> {
  head: RequestHead;
  configId: string;
  body: Buffer;
}

async function answer(
  call: ProxyCall,
  options: AuthProxyOptions,
  { head, configId, body, codes, equals }: Asked,
): Promise<unknown> {
  const { database, services } = options;
  const { remoteAddress, isWanted } = head;
  const { config, stamping } = await findProxy(options, configId, head);
  head.note({ organizationId: config.organizationId });
  refuseOrigin(options, config, head);
  const request = parseRequest(call, body);
  refuseMethods(config, call.methods(request, services.publicUrl()));
  await refuseRobots(call, request, { config, captcha: services.captcha, head });
  const contact = call.sendsCodeTo?.(request);
  if (contact) await codes.count({ read: database.read, config, remoteAddress, contact });
  const now = options.clock();
  const sender = createSender({ ...options, read: database.read, equals, stamping, remoteAddress, isWanted, now });
  const given = servicesFor(services, call.needs);
  try {
    return await call.answer({ ...given, request, config, read: database.read, now, ...sender } as never);
  } catch (error) {
    throw error instanceof KeysteadError ? error.withField((field) => nameInRequest(field, call.fieldNames)) : error;
  }
}

async function findProxy(options: AuthProxyOptions, configId: string, head: RequestHead): Promise<FoundProxy> {
  const found = await options.findProxy(options.database.read, configId);
  if (found) return found;
  const error = new KeysteadError("AUTH_PROXY_UNKNOWN", {}, []);
  options.admission.countFailure(error, head.remoteAddress, 0);
  throw error;
}

/** Browsers report the page's origin. Apps send none, and could send any. */
function refuseOrigin({ isAllowedOrigin }: AuthProxyOptions, { settings }: ProxyConfig, head: RequestHead): void {
  const origin = header(head, "origin");
  if (origin === undefined || isAllowedOrigin(settings, origin)) return;
  fail("AUTH_PROXY_ORIGIN_REFUSED", { origin: printable(origin) });
}

/** Some clients send no body for calls without parameters, and empty strings for absent optional members. */
function parseRequest(call: ProxyCall, body: Buffer): unknown {
  if (body.length > MAX_AUTH_PROXY_BODY_BYTES) fail("BODY_TOO_LARGE", { maxBytes: MAX_AUTH_PROXY_BODY_BYTES });
  const parsed = body.length === 0 ? {} : withoutNulls(parseJson(body));
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return fail("BODY_INVALID", { reason: "it must be a JSON object" });
  }
  const required: readonly string[] = call.request.required ?? [];
  const isGiven = ([name, value]: [string, unknown]) => value !== "" || required.includes(name);
  const request = Object.fromEntries(Object.entries(parsed).filter(isGiven));
  validate(call.request, request, "");
  return request;
}

function refuseMethods({ settings }: ProxyConfig, methods: readonly AuthMethod[]): void {
  const { allowedAuthMethods: allowed } = settings;
  const word = allowed && methods.find((method) => !allowed.includes(method));
  if (word === undefined) return;
  const isOauth = word === "oidc" || (socialMethods as readonly string[]).includes(word);
  // Published clients match the first two words of the message.
  fail("AUTH_METHOD_DISALLOWED", { method: isOauth ? "OAUTH" : word.toUpperCase(), word });
}

async function refuseRobots(
  call: ProxyCall,
  request: unknown,
  { config, captcha, head }: { config: ProxyConfig; captcha: Services["captcha"]; head: RequestHead },
): Promise<void> {
  if (!config.settings.captchaEnabled || captcha.siteKey === undefined || !call.wantsCaptcha(request)) return;
  const token = header(head, CAPTCHA_HEADER) || fail("CAPTCHA_MISSING", {});
  const { organizationId } = config;
  const { remoteAddress } = head;
  const isGood =
    token.length <= MAX_CAPTCHA_TOKEN_LENGTH && (await captcha.verify(token, { organizationId, remoteAddress }));
  if (!isGood) fail("CAPTCHA_FAILED", {});
}

/** The name of a field in the caller's request: `parameters.rootUsers.0.userName` is `userName` in `signup_v2`. */
function nameInRequest(field: string, fieldNames: Record<string, string>): string {
  const inner = field.replace(/^parameters\./, "");
  for (const [from, to] of Object.entries(fieldNames)) {
    if (inner === from || inner.startsWith(`${from}.`)) return `${to}${inner.slice(from.length)}`.replace(/^\./, "");
  }
  return inner;
}
