import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Static, Type } from "typebox";
import type { CodesPerHour } from "../auth-proxy/code-limits.ts";
import type { Quotas } from "../authority/quotas.ts";
import type { EarnSettings } from "../capabilities/earn/services.ts";
import type { Rates } from "../engine/admission.ts";
import type { Retention } from "../engine/services.ts";
import type { ActivityTimesSetting } from "../http/wire.ts";
import { type Cidr, parseCidr } from "../kernel/ip-address.ts";
import { MAX_REQUESTS_OF_ONE_ORGANIZATION, MAX_SECRET_FILE_BYTES } from "../kernel/limits.ts";
import type { Chain } from "../nodes/families.ts";
import type { TurnstileSettings } from "../providers/captcha/turnstile.ts";
import type { Oauth2Urls } from "../providers/oauth2/providers.ts";
import type { PostgresSettings } from "../storage/postgres-settings.ts";
import { Audit, type AuditSettings, auditSettingsOf } from "./audit/settings.ts";
import { BackupSchedule, scheduleProblem } from "./backup/settings.ts";
import { type ChainSettings, Chains, chainsOf, Prices } from "./chain-settings.ts";
import { type DeploymentSettings, deploymentSettingsOf, Tvc } from "./deployment-settings.ts";
import { Earn, earnSettingsOf } from "./earn-settings.ts";
import { type MessageSettings, messageSettingsOf } from "./message-settings.ts";
import { OnRamp, type OnRampSettings, onRampSettingsOf } from "./on-ramp-settings.ts";
import { operatorUrlProblem } from "./operator-url.ts";
import { Postgres, postgresEnvironment, postgresSettingsOf } from "./postgres-settings.ts";
import { QuotaSetting, quotasOf } from "./quota-settings.ts";
import { RetentionSetting, retentionOf } from "./retention-settings.ts";
import { placeInJson, settingProblem } from "./setting-problem.ts";
import { StartProblem } from "./start-problem.ts";
import { SwapSetting, type SwapSettings, swapSettingsOf } from "./swap-settings.ts";
import { type TraceSettings, Traces, traceSettingsOf, tracesEnvironment } from "./traces/settings.ts";

export { StartProblem };

/** A rate allows bursts of ten seconds' worth of requests. */
const Rate = (what: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: `${what} per second; 0 means no limit.` });

const CodesAnHour = (what: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: `${what} per hour; 0 means no limit.` });

const ProviderUrl = (name: string) =>
  Type.String({ pattern: "^https?://[^/]+$", description: `The origin of ${name}'s API.` });

const Port = (description: string) => Type.Integer({ minimum: 0, maximum: 65535, description });

const MIN_PASSPHRASE_LENGTH = 12;

/** Describes every setting. The configuration file uses these names; the environment uses those in `environment`. */
export const Settings = Type.Object(
  {
    host: Type.String({ minLength: 1, description: "Address to listen on." }),
    port: Port("Port of the API; 0 picks any free port."),
    adminHost: Type.String({ minLength: 1, description: "Address of /metrics, which requires no authentication." }),
    adminPort: Port("Port of /metrics; 0 disables it."),
    authProxyPort: Port("Port of the auth proxy. By default, it shares the API's port."),
    authProxyRequestsPerSecond: Rate("Requests to the auth proxy from one client address"),
    authProxyCodesPerHour: CodesAnHour("One-time codes that the auth proxy sends for one client address"),
    authProxyNewContactsPerHour: CodesAnHour(
      "One-time codes that an organization's auth proxy sends to contacts that nobody has verified",
    ),
    turnstileUrl: Type.String({
      pattern: "^https?://",
      description: "Where Turnstile verifies captchas; https://challenges.cloudflare.com by default.",
    }),
    turnstileSiteKey: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "Turnstile's site key, with which pages show the captcha.",
    }),
    turnstileSecret: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "Turnstile's secret key, with which the server verifies a captcha.",
    }),
    publicUrl: Type.String({ pattern: "^https?://", description: "The URL under which clients reach the API." }),
    dataDir: Type.String({
      minLength: 1,
      description: "Folder for the embedded database, the root key and credentials.",
    }),
    databaseUrl: Type.String({
      pattern: "^(sqlite:.+|postgres(ql)?://.+)$",
      description: "sqlite:<file>, sqlite::memory: or postgres://…",
    }),
    ...Postgres,
    rootKeyFile: Type.String({ minLength: 1, description: "File that contains the root key." }),
    rootKeyPassphrase: Type.String({
      minLength: MIN_PASSPHRASE_LENGTH,
      description: "Passphrase that protects the root key file.",
    }),
    smtpUrl: Type.String({
      pattern: "^smtps?://",
      description: "Mail server, such as smtp://user:password@smtp.example.com:587.",
    }),
    mailFrom: Type.String({
      minLength: 3,
      maxLength: 320,
      description: "Sender of mails: an address, or `Name <address>`.",
    }),
    mailSenderDomains: Type.Array(Type.String({ maxLength: 253 }), {
      maxItems: 100,
      description:
        "Domains that requests may name in sender addresses of mails; in the environment, separated by commas.",
    }),
    smsUrl: Type.String({
      pattern: "^https?://",
      description: 'URL of an SMS gateway, which receives {"to", "message"} by POST.',
    }),
    twilioUrl: Type.String({
      pattern: "^https?://",
      description: "URL of Twilio's API; https://api.twilio.com by default.",
    }),
    twilioAccountSid: Type.String({ pattern: "^[A-Za-z0-9]{1,64}$", description: "SID of the Twilio account." }),
    twilioAuthToken: Type.String({ minLength: 1, description: "Auth token of the Twilio account." }),
    twilioFrom: Type.String({
      pattern: "^[+A-Za-z0-9]{1,64}$",
      description: "Sender of text messages at Twilio: a number, or the SID of a messaging service.",
    }),
    sesTopicArns: Type.Array(Type.String(), {
      maxItems: 20,
      description:
        "ARNs of the SNS topics from which Amazon SES events are accepted; in the environment, separated by commas.",
    }),
    sesCertificateHosts: Type.Array(Type.String(), {
      maxItems: 5,
      description: "Hosts of SNS certificates in addition to Amazon's; for development only.",
    }),
    oauth2XUrl: ProviderUrl("X"),
    oauth2DiscordUrl: ProviderUrl("Discord"),
    allowPrivateNetworks: Type.Boolean({
      description: "Whether outbound requests may reach private addresses; for development only.",
    }),
    webhookRetrySeconds: Type.Array(Type.Number({ minimum: 0, maximum: 30 * 86_400 }), {
      minItems: 1,
      maxItems: 50,
      description:
        "Delay before each attempt to deliver to a webhook, in seconds; in the environment, separated by commas.",
    }),
    webhookTimeoutSeconds: Type.Integer({
      minimum: 1,
      maximum: 50,
      description: "Time limit for one attempt to deliver to a webhook.",
    }),
    shutdownDelaySeconds: Type.Integer({
      minimum: 0,
      maximum: 600,
      description:
        "How long a server that was told to stop keeps answering requests while /readyz reports that it is stopping.",
    }),
    jobLeaseSeconds: Type.Integer({
      minimum: 1,
      maximum: 300,
      description: "How long after a server dies until its background work is resumed, by any server.",
    }),
    trustedProxies: Type.Array(Type.String(), {
      maxItems: 100,
      description:
        "Addresses and CIDR blocks of the proxies whose X-Forwarded-For is believed; in the environment, separated by commas.",
    }),
    activityTimes: Type.Unsafe<ActivityTimesSetting>({
      type: "string",
      enum: ["auto", "text", "object"],
      description:
        "Form of an activity's times in answers: `text` or `object` for all clients, or `auto` to choose by client.",
    }),
    maxConnections: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "Most open connections to the API in total; beyond that, unused ones are closed.",
    }),
    maxConnectionsPerAddress: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "Most open connections to the API from one client address; does not apply to trusted proxies.",
    }),
    organizationRequestsPerSecond: Rate("Requests from one organization"),
    credentialRequestsPerSecond: Rate("Requests from one API key or passkey"),
    failedAuthenticationsPerSecond: Rate("Requests from one client address that fail to authenticate"),
    sharedRequests: Type.Integer({
      minimum: 1,
      maximum: MAX_REQUESTS_OF_ONE_ORGANIZATION,
      description:
        "How many requests the server works on at a time while more than one organization sends any, apart from 4 for each organization. A lower number answers a quiet organization sooner, a higher one lets a busy organization do more.",
    }),
    signerSeedCacheEntries: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      description: "Most private keys and wallet secrets that the signer keeps open; 0 keeps none.",
    }),
    signerSeedCacheSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: "How long the signer keeps a private key or a wallet's secret open; 0 keeps none.",
    }),
    console: Type.Boolean({ description: "Whether the console is served at `/`; true by default." }),
    frameOrigins: Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 100,
      description:
        "Origins of the pages that may show `/frames/auth`, `/frames/import` and `/frames/export`. By default those of this machine; none if the list is empty.",
    }),
    recovery: Type.Boolean({
      description: "Whether `keystead recover` works; true by default, except in a container.",
    }),
    chains: Chains,
    backup: BackupSchedule,
    quotas: QuotaSetting,
    retention: RetentionSetting,
    audit: Audit,
    auditToken: Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: "^[\\x21-\\x7e]*$",
      description: "Bearer token that is sent with the audit stream to `audit.https.url`.",
    }),
    earn: Earn,
    ...Traces,
    onRamp: OnRamp,
    swaps: SwapSetting,
    relayApiKey: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: "^[\\x21-\\x7e]*$",
      description: "API key for the swap provider Relay, if `swaps` does not contain one.",
    }),
    tvc: Tvc,
    prices: Prices,
    logLevel: Type.Unsafe<LogLevel>({
      type: "string",
      enum: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      description: "The least severe level that is logged.",
    }),
  },
  { additionalProperties: false },
);
type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
type Settings = Static<typeof Settings>;
type Name = keyof Settings;
/** Settings that are too large for an environment variable. */
type FileName = "chains" | "earn" | "prices" | "onRamp" | "swaps" | "tvc" | "backup" | "quotas" | "retention" | "audit";

export const environment: Record<Exclude<Name, FileName>, string> = {
  host: "KEYSTEAD_HOST",
  port: "KEYSTEAD_PORT",
  adminHost: "KEYSTEAD_ADMIN_HOST",
  adminPort: "KEYSTEAD_ADMIN_PORT",
  authProxyPort: "KEYSTEAD_AUTH_PROXY_PORT",
  authProxyRequestsPerSecond: "KEYSTEAD_AUTH_PROXY_REQUESTS_PER_SECOND",
  authProxyCodesPerHour: "KEYSTEAD_AUTH_PROXY_CODES_PER_HOUR",
  authProxyNewContactsPerHour: "KEYSTEAD_AUTH_PROXY_NEW_CONTACTS_PER_HOUR",
  turnstileUrl: "KEYSTEAD_TURNSTILE_URL",
  turnstileSiteKey: "KEYSTEAD_TURNSTILE_SITE_KEY",
  turnstileSecret: "KEYSTEAD_TURNSTILE_SECRET",
  publicUrl: "KEYSTEAD_PUBLIC_URL",
  dataDir: "KEYSTEAD_DATA_DIR",
  databaseUrl: "DATABASE_URL",
  ...postgresEnvironment,
  rootKeyFile: "KEYSTEAD_ROOT_KEY_FILE",
  rootKeyPassphrase: "KEYSTEAD_ROOT_KEY_PASSPHRASE",
  smtpUrl: "KEYSTEAD_SMTP_URL",
  mailFrom: "KEYSTEAD_MAIL_FROM",
  mailSenderDomains: "KEYSTEAD_MAIL_SENDER_DOMAINS",
  smsUrl: "KEYSTEAD_SMS_URL",
  oauth2XUrl: "KEYSTEAD_OAUTH2_X_URL",
  oauth2DiscordUrl: "KEYSTEAD_OAUTH2_DISCORD_URL",
  twilioUrl: "KEYSTEAD_TWILIO_URL",
  twilioAccountSid: "KEYSTEAD_TWILIO_ACCOUNT_SID",
  twilioAuthToken: "KEYSTEAD_TWILIO_AUTH_TOKEN",
  twilioFrom: "KEYSTEAD_TWILIO_FROM",
  sesTopicArns: "KEYSTEAD_SES_TOPIC_ARNS",
  sesCertificateHosts: "KEYSTEAD_SES_CERTIFICATE_HOSTS",
  allowPrivateNetworks: "KEYSTEAD_ALLOW_PRIVATE_NETWORKS",
  webhookRetrySeconds: "KEYSTEAD_WEBHOOK_RETRY_SECONDS",
  webhookTimeoutSeconds: "KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS",
  shutdownDelaySeconds: "KEYSTEAD_SHUTDOWN_DELAY_SECONDS",
  jobLeaseSeconds: "KEYSTEAD_JOB_LEASE_SECONDS",
  trustedProxies: "KEYSTEAD_TRUSTED_PROXIES",
  activityTimes: "KEYSTEAD_ACTIVITY_TIMES",
  maxConnections: "KEYSTEAD_MAX_CONNECTIONS",
  maxConnectionsPerAddress: "KEYSTEAD_MAX_CONNECTIONS_PER_ADDRESS",
  organizationRequestsPerSecond: "KEYSTEAD_ORGANIZATION_REQUESTS_PER_SECOND",
  credentialRequestsPerSecond: "KEYSTEAD_CREDENTIAL_REQUESTS_PER_SECOND",
  failedAuthenticationsPerSecond: "KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND",
  sharedRequests: "KEYSTEAD_SHARED_REQUESTS",
  signerSeedCacheEntries: "KEYSTEAD_SIGNER_SEED_CACHE_ENTRIES",
  signerSeedCacheSeconds: "KEYSTEAD_SIGNER_SEED_CACHE_SECONDS",
  console: "KEYSTEAD_CONSOLE",
  frameOrigins: "KEYSTEAD_FRAME_ORIGINS",
  relayApiKey: "KEYSTEAD_RELAY_API_KEY",
  auditToken: "KEYSTEAD_AUDIT_TOKEN",
  ...tracesEnvironment,
  recovery: "KEYSTEAD_RECOVERY",
  logLevel: "KEYSTEAD_LOG_LEVEL",
};

/** The settings that contain, or may contain, a secret. */
export const secretSettings = [
  "databaseUrl",
  "rootKeyPassphrase",
  "smtpUrl",
  "smsUrl",
  "twilioAuthToken",
  "turnstileSecret",
  "relayApiKey",
  "auditToken",
  "otlpToken",
] as const;
export const secretVariables = secretSettings.map((name) => environment[name]);
/** A secret may be in a separate file, as systemd and container engines provide them; this variable then names the file. */
const fileVariableOf = (name: (typeof secretSettings)[number]) => `${environment[name]}_FILE`;

const CONFIG_FILE_VARIABLE = "KEYSTEAD_CONFIG";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The schedule that Standard Webhooks recommends. */
const WEBHOOK_RETRY_SECONDS = [
  0,
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const WEBHOOK_TIMEOUT_SECONDS = 15;
const JOB_LEASE_SECONDS = 15;

/** Enough for many backends that keep connections open, but too few for one address to use up all connections. */
const MAX_CONNECTIONS_PER_ADDRESS = 512;
const MAX_CONNECTIONS = 4096;

/**
 * With this limit, requests of a quiet organization took two to three times as long next to a busy one as alone, and the busy one completed half
 * as many (bench/RESULTS.md).
 */
const SHARED_REQUESTS = 8;

const TURNSTILE_URL = "https://challenges.cloudflare.com";

/** An organization may use about half of what a server with two cores can do, and all of it for ten seconds. */
const RATES = { organization: 2000, credential: 1000, failures: 100, authProxy: 20 };

/** Enough for a large office behind one address, and for an app that is in the news. */
const CODES_PER_HOUR = { ofAddress: 600, toNewContacts: 10_000 };

/** A wallet needs one entry, plus one for each of its accounts in use. */
const SEED_CACHE_ENTRIES = 10_000;
const SEED_CACHE_SECONDS = 5 * MINUTE;

export interface Config {
  host: string;
  port: number;
  adminHost: string;
  adminPort: number;
  publicUrl: string | undefined;
  dataDir: string;
  databaseUrl: string;
  /** Settings of connections to PostgreSQL. */
  postgres: PostgresSettings;
  rootKeyFile: string;
  rootKeyPassphrase: string | undefined;
  oauth2Urls: Oauth2Urls;
  allowPrivateNetworks: boolean;
  webhooks: { retryDelaysMs: readonly number[]; timeoutMs: number };
  shutdownDelayMs: number;
  jobs: { leaseMs: number };
  /** If empty, a request's address is that of its connection. */
  trustedProxies: readonly Cidr[];
  /** For responses only; webhooks always have text. */
  activityTimes: ActivityTimesSetting;
  connections: { maxConnections: number; maxConnectionsPerAddress: number };
  rates: Rates;
  sharedRequests: number;
  seedCache: { entries: number; lifetimeMs: number };
  /** Whether the console is served. */
  console: boolean;
  /** The origins whose pages may embed the frames. If empty, the frames are not served. */
  frameOrigins: readonly string[];
  /** Whether `keystead recover` works, or why not. */
  recovery: { isAllowed: true } | { isAllowed: false; reason: string };
  backup: BackupSchedule | undefined;
  /** The quotas of organizations without quotas of their own. */
  quotas: Quotas;
  retention: Retention;
  audit: AuditSettings | undefined;
  traces: TraceSettings | undefined;
  earn: EarnSettings;
  onRamp: OnRampSettings;
  swaps: SwapSettings | undefined;
  tvc: DeploymentSettings;
  chains: Partial<Record<Chain, ChainSettings>>;
  /** US dollars for one whole unit, by CAIP-19. */
  prices: Readonly<Record<string, string>>;
  messages: MessageSettings;
  /** Without a port, it shares the port of the API. */
  authProxy: { port: number | undefined; requestsPerSecond: number; codesPerHour: CodesPerHour };
  turnstile: TurnstileSettings | undefined;
  logLevel: LogLevel;
}

/**
 * Loads the settings. The environment overrides the configuration file, which overrides the defaults.
 *
 * @throws StartProblem naming the first setting that is unknown or has an invalid value
 */
export function loadConfig(variables: NodeJS.ProcessEnv, configFile?: string): Config {
  const file = configFileOf(variables, configFile);
  const given: Partial<Record<Name, unknown>> = { ...(file ? readConfigFile(file) : {}), ...readVariables(variables) };
  for (const [name, value] of Object.entries(given)) checkSetting(name as Name, value);
  const settings = given as Partial<Settings>;
  const dataDir = resolve(settings.dataDir ?? "data");
  const databaseUrl = settings.databaseUrl ?? `sqlite:${join(dataDir, "keystead.db")}`;
  return {
    host: settings.host ?? "127.0.0.1",
    port: settings.port ?? 8080,
    adminHost: settings.adminHost ?? "127.0.0.1",
    adminPort: settings.adminPort ?? 9090,
    publicUrl: settings.publicUrl?.replace(/\/+$/, ""),
    dataDir,
    databaseUrl,
    postgres: postgresSettingsOf(settings, databaseUrl, (problem) => {
      throw new StartProblem(`bad value for DATABASE_URL (\`databaseUrl\`): it ${problem}`);
    }),
    rootKeyFile: resolve(settings.rootKeyFile ?? join(dataDir, "root.key")),
    rootKeyPassphrase: settings.rootKeyPassphrase,
    oauth2Urls: {
      OAUTH2_PROVIDER_X: settings.oauth2XUrl ?? "https://api.x.com",
      OAUTH2_PROVIDER_DISCORD: settings.oauth2DiscordUrl ?? "https://discord.com",
    },
    allowPrivateNetworks: settings.allowPrivateNetworks ?? false,
    webhooks: {
      retryDelaysMs: (settings.webhookRetrySeconds ?? WEBHOOK_RETRY_SECONDS).map((seconds) => seconds * 1000),
      timeoutMs: (settings.webhookTimeoutSeconds ?? WEBHOOK_TIMEOUT_SECONDS) * 1000,
    },
    shutdownDelayMs: (settings.shutdownDelaySeconds ?? 0) * 1000,
    jobs: { leaseMs: (settings.jobLeaseSeconds ?? JOB_LEASE_SECONDS) * 1000 },
    trustedProxies: (settings.trustedProxies ?? []).map(trustedProxy),
    activityTimes: settings.activityTimes ?? "auto",
    connections: {
      maxConnections: settings.maxConnections ?? MAX_CONNECTIONS,
      maxConnectionsPerAddress: settings.maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS,
    },
    rates: {
      organization: settings.organizationRequestsPerSecond ?? RATES.organization,
      credential: settings.credentialRequestsPerSecond ?? RATES.credential,
      failures: settings.failedAuthenticationsPerSecond ?? RATES.failures,
    },
    sharedRequests: settings.sharedRequests ?? SHARED_REQUESTS,
    seedCache: {
      entries: settings.signerSeedCacheEntries ?? SEED_CACHE_ENTRIES,
      lifetimeMs: (settings.signerSeedCacheSeconds ?? SEED_CACHE_SECONDS) * 1000,
    },
    console: settings.console ?? true,
    frameOrigins: (settings.frameOrigins ?? LOCAL_ORIGINS).map(frameOrigin),
    recovery: recoveryOf(settings.recovery, variables),
    quotas: quotasOf(settings.quotas ?? {}),
    retention: retentionOf(settings.retention ?? {}),
    backup: backupOf(settings.backup, databaseUrl),
    audit: auditSettingsOf(settings.audit, settings.auditToken, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for \`audit\`: ${problem}`);
    }),
    traces: traceSettingsOf(settings, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for ${environment.otlpUrl} (\`otlpUrl\`): it ${problem}`);
    }),
    chains: chainsOf(settings.chains ?? {}, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for \`chains\`: ${problem}`);
    }),
    earn: earnSettingsOf(settings.earn ?? {}, (problem) => {
      throw new StartProblem(`bad value for \`earn\`: ${problem}`);
    }),
    onRamp: onRampSettingsOf(settings.onRamp ?? {}, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for \`onRamp\`: ${problem}`);
    }),
    swaps: swapSettingsOf(settings.swaps, settings.relayApiKey, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for \`swaps\`: ${problem}`);
    }),
    tvc: deploymentSettingsOf(settings.tvc ?? {}, { dataDir, publicUrl: settings.publicUrl }, (problem) => {
      throw new StartProblem(`bad value for \`tvc\`: ${problem}`);
    }),
    prices: settings.prices ?? {},
    messages: messageSettingsOf(settings, settings.allowPrivateNetworks ?? false, (name, problem) => {
      throw new StartProblem(`bad value for ${environment[name]} (\`${name}\`): it ${problem}`);
    }),
    authProxy: {
      port: settings.authProxyPort,
      requestsPerSecond: settings.authProxyRequestsPerSecond ?? RATES.authProxy,
      codesPerHour: {
        ofAddress: settings.authProxyCodesPerHour ?? CODES_PER_HOUR.ofAddress,
        toNewContacts: settings.authProxyNewContactsPerHour ?? CODES_PER_HOUR.toNewContacts,
      },
    },
    turnstile: turnstileOf(settings, settings.allowPrivateNetworks ?? false),
    logLevel: settings.logLevel ?? "info",
  };
}

/** The path of the configuration file, if there is one. */
export const configFileOf = (variables: NodeJS.ProcessEnv, given: string | undefined): string | undefined =>
  given ?? variables[CONFIG_FILE_VARIABLE];

function backupOf(schedule: BackupSchedule | undefined, databaseUrl: string): BackupSchedule | undefined {
  const problem = schedule && scheduleProblem(schedule, databaseUrl);
  if (problem !== undefined) throw new StartProblem(`bad value for \`backup\`: ${problem}`);
  return schedule;
}

function turnstileOf(
  { turnstileUrl: url = TURNSTILE_URL, turnstileSiteKey, turnstileSecret }: Partial<Settings>,
  allowPrivateNetworks: boolean,
): Config["turnstile"] {
  const problem = operatorUrlProblem(url, allowPrivateNetworks);
  if (problem !== undefined) {
    throw new StartProblem(`bad value for ${environment.turnstileUrl} (\`turnstileUrl\`): it ${problem}`);
  }
  if (turnstileSiteKey === undefined && turnstileSecret === undefined) return undefined;
  if (turnstileSiteKey === undefined || turnstileSecret === undefined) {
    throw new StartProblem(
      `${environment.turnstileSiteKey} and ${environment.turnstileSecret} must be set together or not at all`,
    );
  }
  return { url, siteKey: turnstileSiteKey, secret: turnstileSecret };
}

/** Recovery is off by default in containers, because people who may run commands in one are often not allowed to take over its organizations. */
function recoveryOf(setting: boolean | undefined, variables: NodeJS.ProcessEnv): Config["recovery"] {
  if (setting === true) return { isAllowed: true };
  if (setting === false) return { isAllowed: false, reason: "KEYSTEAD_RECOVERY is false" };
  const sign = containerSign(variables);
  if (sign === undefined) return { isAllowed: true };
  return {
    isAllowed: false,
    reason: `this process runs in a container (${sign}); set KEYSTEAD_RECOVERY=true to allow it`,
  };
}

/** A sign that this runs in a container: a variable or a file that container engines provide. */
function containerSign(variables: NodeJS.ProcessEnv): string | undefined {
  const variable = ["KUBERNETES_SERVICE_HOST", "container"].find((name) => variables[name]);
  if (variable !== undefined) return `the variable ${variable} is set`;
  const file = ["/.dockerenv", "/run/.containerenv"].find((path) => existsSync(path));
  return file && `${file} exists`;
}

function trustedProxy(text: string): Cidr {
  const cidr = parseCidr(text);
  const problem = "problem" in cidr ? cidr.problem : cidr.prefix === 0 ? "would trust every address" : undefined;
  if ("problem" in cidr || problem) {
    throw new StartProblem(`bad value for ${environment.trustedProxies} (\`trustedProxies\`): \`${text}\` ${problem}`);
  }
  return cidr;
}

/** The server's URL according to the settings. It may listen on another port once it runs. */
export const configuredUrl = ({ publicUrl, host, port }: Pick<Config, "publicUrl" | "host" | "port">): string =>
  publicUrl ?? `http://${host}:${port}`;

/** The origins of apps in development. */
const LOCAL_ORIGINS = ["http://localhost:*", "http://127.0.0.1:*"];
const ORIGIN =
  /^(https:\/\/(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?|http:\/\/(localhost|127\.0\.0\.1)(:(\d{1,5}|\*))?)$/;

function frameOrigin(text: string): string {
  if (ORIGIN.test(text)) return text;
  const rule =
    "must be like https://app.example.com or https://*.example.com; http is allowed only for localhost and 127.0.0.1";
  throw new StartProblem(`bad value for ${environment.frameOrigins} (\`frameOrigins\`): \`${text}\` ${rule}`);
}

function readVariables(variables: NodeJS.ProcessEnv): Partial<Record<Name, unknown>> {
  const known = new Set([...Object.values(environment), ...secretSettings.map(fileVariableOf), CONFIG_FILE_VARIABLE]);
  const unknown = Object.keys(variables).find((name) => name.startsWith("KEYSTEAD_") && !known.has(name));
  if (unknown) throw new StartProblem(`unknown setting ${unknown}; the known ones are ${[...known].sort().join(", ")}`);
  const given: Partial<Record<Name, unknown>> = {};
  for (const [name, variable] of Object.entries(environment) as [keyof typeof environment, string][]) {
    const text = variables[variable];
    // An empty variable counts as not set.
    if (text !== undefined && text !== "") given[name] = fromText(name, text);
  }
  for (const name of secretSettings) {
    const file = variables[fileVariableOf(name)];
    if (file === undefined || file === "") continue;
    if (given[name] !== undefined) {
      throw new StartProblem(`${environment[name]} and ${fileVariableOf(name)} are both set; set only one of them`);
    }
    given[name] = secretIn(file, `the file that ${fileVariableOf(name)} names,`);
  }
  return given;
}

/**
 * The contents of a file without the line break that editors add at its end.
 *
 * @param called what the message of a problem calls the file
 * @throws StartProblem
 */
function secretIn(file: string, called: string): string {
  const problem = (text: string) => new StartProblem(`${called} ${file}, ${text}`);
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > MAX_SECRET_FILE_BYTES) throw problem(`is larger than ${MAX_SECRET_FILE_BYTES} bytes`);
    text = readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    throw problem(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (text === "") throw problem("is empty");
  return text;
}

/** @throws StartProblem */
export function readNewPassphrase(file: string): string {
  const passphrase = secretIn(file, "the file with the new passphrase,");
  if (passphrase.length >= MIN_PASSPHRASE_LENGTH) return passphrase;
  throw new StartProblem(`the new passphrase must have at least ${MIN_PASSPHRASE_LENGTH} characters`);
}

function fromText(name: Name, text: string): unknown {
  const { type, items } = Settings.properties[name] as { type: string; items?: { type: string } };
  if (type === "number") return /^[0-9]+(\.[0-9]+)?$/.test(text) ? Number(text) : text;
  if (type === "integer") return /^[0-9]+$/.test(text) ? Number(text) : text;
  if (type === "array") {
    const parts = text.split(",").map((part) => part.trim());
    return items?.type === "number" ? parts.map((part) => (/^[0-9.]+$/.test(part) ? Number(part) : part)) : parts;
  }
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

function readConfigFile(file: string): Record<string, unknown> {
  const problem = (what: string) => new StartProblem(`the configuration file ${file} ${what}`);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw problem(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw problem(`is not valid JSON: see ${placeInJson(text, error as Error)}`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw problem("must contain a JSON object");
  }
  return content as Record<string, unknown>;
}

function checkSetting(name: Name, value: unknown): void {
  // `constructor` and similar names are members of every object.
  const schema = Object.hasOwn(Settings.properties, name) ? Settings.properties[name] : undefined;
  if (!schema) {
    throw new StartProblem(
      `unknown setting \`${name}\`; the known ones are ${Object.keys(Settings.properties).join(", ")}`,
    );
  }
  const problem = settingProblem(name, schema, value);
  if (problem === undefined) return;
  const { description } = schema as unknown as { description: string };
  const variable = (environment as Partial<Record<Name, string>>)[name];
  const setting = variable === undefined ? `\`${name}\`` : `${variable} (\`${name}\`)`;
  throw new StartProblem(`bad value for ${setting}: ${problem}. ${description}`);
}
