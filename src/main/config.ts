import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import type { EvmChain } from "../chains/evm/networks.ts";
import type { Rates } from "../engine/admission.ts";
import type { ActivityTimesSetting } from "../http/wire.ts";
import { type Cidr, parseCidr } from "../kernel/ip-address.ts";
import type { EvmChainSettings } from "../nodes/evm.ts";
import type { Oauth2Urls } from "../providers/oauth2/providers.ts";
import { Chains, evmChainsOf } from "./chain-settings.ts";
import { type MessageSettings, messageSettingsOf } from "./message-settings.ts";

/** A reason not to start, in words for the operator: which setting, what is wrong, what would be right. */
export class StartProblem extends Error {}

/** A rate has a burst of ten seconds' worth. */
const Rate = (what: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000, description: `${what} a second; 0 is any number.` });

const ProviderUrl = (name: string) =>
  Type.String({ pattern: "^https?://[^/]+$", description: `Where the API of ${name} is asked: an origin.` });

const Port = (description: string) => Type.Integer({ minimum: 0, maximum: 65535, description });

/** One description of every setting; the file uses these names, the environment the ones in `environment`. */
const Settings = Type.Object(
  {
    host: Type.String({ minLength: 1, description: "Address to listen on." }),
    port: Port("Port of the API; 0 takes any free one."),
    adminPort: Port("Port of /metrics on the loopback address; 0 switches it off."),
    authProxyPort: Port("Port of the auth proxy."),
    publicUrl: Type.String({ pattern: "^https?://", description: "The URL under which clients reach the API." }),
    dataDir: Type.String({
      minLength: 1,
      description: "Folder for the embedded database, the root key and credentials.",
    }),
    databaseUrl: Type.String({
      pattern: "^(sqlite:.+|postgres(ql)?://.+)$",
      description: "sqlite:<file>, sqlite::memory: or postgres://…",
    }),
    rootKeyFile: Type.String({ minLength: 1, description: "Where the root key is." }),
    rootKeyPassphrase: Type.String({ minLength: 12, description: "Opens a root key file that is protected by one." }),
    smtpUrl: Type.String({
      pattern: "^smtps?://",
      description: "Mail server, such as smtp://user:password@smtp.example.com:587.",
    }),
    mailFrom: Type.String({
      minLength: 3,
      maxLength: 320,
      description: "Sender of mail: an address, or `Name <address>`.",
    }),
    mailSenderDomains: Type.Array(Type.String({ maxLength: 253 }), {
      maxItems: 100,
      description: "Domains from whose addresses requests may have mail sent; in the environment with commas between.",
    }),
    smsUrl: Type.String({
      pattern: "^https?://",
      description: 'SMS gateway, which takes {"to", "message"} by POST.',
    }),
    twilioUrl: Type.String({ pattern: "^https?://", description: "Twilio's API, if not https://api.twilio.com." }),
    twilioAccountSid: Type.String({ pattern: "^[A-Za-z0-9]{1,64}$", description: "Account at Twilio." }),
    twilioAuthToken: Type.String({ minLength: 1, description: "Its token." }),
    twilioFrom: Type.String({ pattern: "^[+A-Za-z0-9]{1,64}$", description: "Number, or SID of a messaging service." }),
    sesTopicArns: Type.Array(Type.String(), {
      maxItems: 20,
      description: "SNS topics whose events of Amazon SES are taken; in the environment with commas between.",
    }),
    sesCertificateHosts: Type.Array(Type.String(), {
      maxItems: 5,
      description: "Hosts of SNS certificates beyond Amazon's; development only.",
    }),
    oauth2XUrl: ProviderUrl("X"),
    oauth2DiscordUrl: ProviderUrl("Discord"),
    allowPrivateNetworks: Type.Boolean({
      description: "Let outbound requests reach private addresses; development only.",
    }),
    webhookRetrySeconds: Type.Array(Type.Number({ minimum: 0, maximum: 30 * 86_400 }), {
      minItems: 1,
      maxItems: 50,
      description:
        "Pause before each attempt of a webhook delivery, in seconds; in the environment with commas between.",
    }),
    webhookTimeoutSeconds: Type.Integer({ minimum: 1, maximum: 50, description: "Bound of one webhook attempt." }),
    trustedProxies: Type.Array(Type.String(), {
      maxItems: 100,
      description:
        "Addresses and CIDR blocks of the proxies whose X-Forwarded-For is believed; in the environment with commas between.",
    }),
    activityTimes: Type.Unsafe<ActivityTimesSetting>({
      type: "string",
      enum: ["auto", "text", "object"],
      description: "Form of activities' times in answers: one for all clients, or by the client.",
    }),
    maxConnections: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "Open connections to the API in all; past that, unused ones make room.",
    }),
    maxConnectionsPerAddress: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "Those of one client address; not of the trusted proxies.",
    }),
    organizationRequestsPerSecond: Rate("Requests of one organization"),
    credentialRequestsPerSecond: Rate("Requests of one API key or passkey"),
    failedAuthenticationsPerSecond: Rate("Requests of one client address that fail to authenticate"),
    signerSeedCacheEntries: Type.Integer({
      minimum: 0,
      maximum: 100_000,
      description: "Secrets of wallets that the signer keeps open at most; 0 keeps none.",
    }),
    signerSeedCacheSeconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: "How long the signer keeps a wallet's secret open; 0 keeps none.",
    }),
    recovery: Type.Boolean({
      description: "Whether `keystead recover` works; true unless this runs in a container.",
    }),
    chains: Chains,
    logLevel: Type.Unsafe<LogLevel>({
      type: "string",
      enum: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      description: "Least severe level that is logged.",
    }),
  },
  { additionalProperties: false },
);
type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
type Settings = Static<typeof Settings>;
type Name = keyof Settings;
/** Settings that are too large for a variable. */
type FileName = "chains";

const environment: Record<Exclude<Name, FileName>, string> = {
  host: "KEYSTEAD_HOST",
  port: "KEYSTEAD_PORT",
  adminPort: "KEYSTEAD_ADMIN_PORT",
  authProxyPort: "KEYSTEAD_AUTH_PROXY_PORT",
  publicUrl: "KEYSTEAD_PUBLIC_URL",
  dataDir: "KEYSTEAD_DATA_DIR",
  databaseUrl: "DATABASE_URL",
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
  trustedProxies: "KEYSTEAD_TRUSTED_PROXIES",
  activityTimes: "KEYSTEAD_ACTIVITY_TIMES",
  maxConnections: "KEYSTEAD_MAX_CONNECTIONS",
  maxConnectionsPerAddress: "KEYSTEAD_MAX_CONNECTIONS_PER_ADDRESS",
  organizationRequestsPerSecond: "KEYSTEAD_ORGANIZATION_REQUESTS_PER_SECOND",
  credentialRequestsPerSecond: "KEYSTEAD_CREDENTIAL_REQUESTS_PER_SECOND",
  failedAuthenticationsPerSecond: "KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND",
  signerSeedCacheEntries: "KEYSTEAD_SIGNER_SEED_CACHE_ENTRIES",
  signerSeedCacheSeconds: "KEYSTEAD_SIGNER_SEED_CACHE_SECONDS",
  recovery: "KEYSTEAD_RECOVERY",
  logLevel: "KEYSTEAD_LOG_LEVEL",
};

/** Those that hold a secret, or may. */
export const secretVariables = [
  environment.rootKeyPassphrase,
  environment.smtpUrl,
  environment.smsUrl,
  environment.twilioAuthToken,
];

const CONFIG_FILE_VARIABLE = "KEYSTEAD_CONFIG";

/** Accepted, so that one environment serves every release, but nothing here uses them yet; a start says so. */
const unused: readonly Exclude<Name, FileName>[] = ["authProxyPort"];

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

/** Enough for many backends that keep connections open, and few enough that those who hold them all run into it. */
const MAX_CONNECTIONS_PER_ADDRESS = 512;
const MAX_CONNECTIONS = 4096;

/** Of what a server of two cores does, an organization may take about half, after ten seconds of all. */
const RATES = { organization: 2000, credential: 1000, failures: 100 };

/** One entry for a wallet and one for each of its accounts in use. */
const SEED_CACHE_ENTRIES = 10_000;
const SEED_CACHE_SECONDS = 5 * MINUTE;

export interface Config {
  host: string;
  port: number;
  adminPort: number;
  publicUrl: string | undefined;
  dataDir: string;
  databaseUrl: string;
  rootKeyFile: string;
  rootKeyPassphrase: string | undefined;
  oauth2Urls: Oauth2Urls;
  allowPrivateNetworks: boolean;
  webhooks: { retryDelaysMs: readonly number[]; timeoutMs: number };
  /** Empty: a request comes from where its connection comes from. */
  trustedProxies: readonly Cidr[];
  /** Of answers alone: webhooks carry text. */
  activityTimes: ActivityTimesSetting;
  connections: { maxConnections: number; maxConnectionsPerAddress: number };
  rates: Rates;
  seedCache: { entries: number; lifetimeMs: number };
  /** Whether `keystead recover` works, or why not. */
  recovery: { isAllowed: true } | { isAllowed: false; reason: string };
  chains: Partial<Record<EvmChain, EvmChainSettings>>;
  messages: MessageSettings;
  logLevel: LogLevel;
  /** Settings that were given and have no effect in this release. */
  withoutEffect: string[];
}

/**
 * The settings of a file, under those of the environment, over the defaults.
 *
 * @throws StartProblem naming the first setting that is unknown or has a bad value
 */
export function loadConfig(variables: NodeJS.ProcessEnv, configFile?: string): Config {
  const file = configFile ?? variables[CONFIG_FILE_VARIABLE];
  const given: Partial<Record<Name, unknown>> = { ...(file ? readConfigFile(file) : {}), ...readVariables(variables) };
  for (const [name, value] of Object.entries(given)) checkSetting(name as Name, value);
  const settings = given as Partial<Settings>;
  const dataDir = resolve(settings.dataDir ?? "data");
  return {
    host: settings.host ?? "127.0.0.1",
    port: settings.port ?? 8080,
    adminPort: settings.adminPort ?? 9090,
    publicUrl: settings.publicUrl?.replace(/\/+$/, ""),
    dataDir,
    databaseUrl: settings.databaseUrl ?? `sqlite:${join(dataDir, "keystead.db")}`,
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
    seedCache: {
      entries: settings.signerSeedCacheEntries ?? SEED_CACHE_ENTRIES,
      lifetimeMs: (settings.signerSeedCacheSeconds ?? SEED_CACHE_SECONDS) * 1000,
    },
    recovery: recoveryOf(settings.recovery, variables),
    chains: evmChainsOf(settings.chains ?? {}, settings.allowPrivateNetworks ?? false, (problem) => {
      throw new StartProblem(`bad value for \`chains\`: ${problem}`);
    }),
    messages: messageSettingsOf(settings, settings.allowPrivateNetworks ?? false, (name, problem) => {
      throw new StartProblem(`bad value for ${environment[name]} (\`${name}\`): it ${problem}`);
    }),
    logLevel: settings.logLevel ?? "info",
    withoutEffect: unused.filter((name) => name in given).map((name) => environment[name]),
  };
}

/** Whoever may run a command in a container is often not who may rule over its organizations. */
function recoveryOf(setting: boolean | undefined, variables: NodeJS.ProcessEnv): Config["recovery"] {
  if (setting === true) return { isAllowed: true };
  if (setting === false) return { isAllowed: false, reason: "KEYSTEAD_RECOVERY is false" };
  const sign = containerSign(variables);
  if (sign === undefined) return { isAllowed: true };
  return { isAllowed: false, reason: `this runs in a container (${sign}); set KEYSTEAD_RECOVERY=true to allow it` };
}

/** What container engines leave for the programs that run in them. */
function containerSign(variables: NodeJS.ProcessEnv): string | undefined {
  const variable = ["KUBERNETES_SERVICE_HOST", "container"].find((name) => variables[name]);
  if (variable !== undefined) return `the variable ${variable} is set`;
  const file = ["/.dockerenv", "/run/.containerenv"].find((path) => existsSync(path));
  return file && `${file} is there`;
}

function trustedProxy(text: string): Cidr {
  const cidr = parseCidr(text);
  const problem = "problem" in cidr ? cidr.problem : cidr.prefix === 0 ? "would trust every address" : undefined;
  if ("problem" in cidr || problem) {
    throw new StartProblem(`bad value for ${environment.trustedProxies} (\`trustedProxies\`): \`${text}\` ${problem}`);
  }
  return cidr;
}

function readVariables(variables: NodeJS.ProcessEnv): Partial<Record<Name, unknown>> {
  const known = new Set([...Object.values(environment), CONFIG_FILE_VARIABLE]);
  const unknown = Object.keys(variables).find((name) => name.startsWith("KEYSTEAD_") && !known.has(name));
  if (unknown) throw new StartProblem(`unknown setting ${unknown}; known are ${[...known].sort().join(", ")}`);
  const given: Partial<Record<Name, unknown>> = {};
  for (const [name, variable] of Object.entries(environment) as [keyof typeof environment, string][]) {
    const text = variables[variable];
    // An empty variable is one that somebody cleared.
    if (text !== undefined && text !== "") given[name] = fromText(name, text);
  }
  return given;
}

function fromText(name: Name, text: string): unknown {
  const { type, items } = Settings.properties[name] as { type: string; items?: { type: string } };
  if (type === "integer") return /^[0-9]+$/.test(text) ? Number(text) : text;
  if (type === "array") {
    const parts = text.split(",").map((part) => part.trim());
    return items?.type === "number" ? parts.map((part) => (/^[0-9.]+$/.test(part) ? Number(part) : part)) : parts;
  }
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

function readConfigFile(file: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartProblem(`the configuration file ${file} ${code ? `cannot be read (${code})` : "is not valid JSON"}`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new StartProblem(`the configuration file ${file} must hold a JSON object`);
  }
  return content as Record<string, unknown>;
}

function checkSetting(name: Name, value: unknown): void {
  // `constructor` and the like are members of every object.
  const schema = Object.hasOwn(Settings.properties, name) ? Settings.properties[name] : undefined;
  if (!schema) {
    throw new StartProblem(`unknown setting \`${name}\`; known are ${Object.keys(Settings.properties).join(", ")}`);
  }
  const validator = Compile(schema);
  if (validator.Check(value)) return;
  const [problem] = validator.Errors(value);
  // The value stays out of the text: it may be a passphrase or hold a password.
  const { description } = schema as unknown as { description: string };
  const setting = name === "chains" ? "`chains`" : `${environment[name]} (\`${name}\`)`;
  throw new StartProblem(`bad value for ${setting}: ${problem?.message}. ${description}`);
}
