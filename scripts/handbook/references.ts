import { readFileSync } from "node:fs";
import { capabilities } from "../../src/capabilities/index.ts";
import { readExamples } from "../../src/http/examples.ts";
import { openApiDocument } from "../../src/http/openapi.ts";
import { describedErrors } from "../../src/kernel/errors.ts";
import * as limits from "../../src/kernel/limits.ts";
import { ScheduledBackups } from "../../src/main/backup/schedule.ts";
import { environment, loadConfig, Settings, secretSettings } from "../../src/main/config.ts";
import { measureAudit } from "../../src/main/metrics/audit.ts";
import { measureDatabase } from "../../src/main/metrics/database.ts";
import { measureJobs } from "../../src/main/metrics/jobs.ts";
import { createMetrics, measureTraffic } from "../../src/main/metrics/metrics.ts";
import { measureSigner } from "../../src/main/metrics/signer.ts";
import { measureTraces } from "../../src/main/metrics/traces.ts";
import { activityParams, keywords, namespaces } from "../../src/policy/schema.ts";
import { type Type, typeName } from "../../src/policy/types.ts";
import { remedyOf } from "./remedies.ts";

/** The reference pages of the handbook. They are generated from the declarations that the server uses, and are never edited. */

/** Markdown by path below `docs/`. */
export async function referencePages(): Promise<Map<string, string>> {
  return new Map([
    ...(await operationPages()),
    ["reference/errors.md", errorsPage()],
    ["reference/policy-facts.md", policyFactsPage()],
    ["reference/settings.md", settingsPage()],
    ["reference/metrics.md", metricsPage()],
    ["reference/limits.md", limitsPage()],
  ]);
}

/** Text for a table cell, in which a bar would end the cell and `<` would begin a tag. */
const cell = (text: string): string => text.replace(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;").trim();
const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)].join("\n");
}

const page = (title: string, ...parts: string[]): string => `${[`# ${title}`, ...parts].join("\n\n")}\n`;

// Operations

interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
}

interface Documented {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  requestBody: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { content: Record<string, { example?: unknown }> }>;
}

interface Document {
  tags: { name: string }[];
  paths: Record<string, { post: Documented }>;
  components: { schemas: Record<string, Schema> };
}

const JSON_TYPE = "application/json";
/** The levels of fields that a table shows; the rest are in the OpenAPI document. */
const MAX_LEVELS = 3;
/** The number of values of an enumeration that a table lists. */
const MAX_VALUES = 8;

const slugOf = (title: string): string => title.toLowerCase().replaceAll(" ", "-");

async function operationPages(): Promise<[path: string, text: string][]> {
  const document = openApiDocument(
    { capabilities, examples: await readExamples() },
    { version: "", baseUrl: "" },
  ) as unknown as Document;
  const groups = document.tags.map(({ name }) => ({
    name,
    operations: Object.entries(document.paths)
      .filter(([, { post }]) => post.tags.includes(name))
      .map(([path, { post }]) => ({ path, ...post })),
  }));
  const index = page(
    "Operations",
    "Every operation of the API. The types of all fields, including those of answers, are in the OpenAPI document, which a server provides at `/openapi.json` and displays at `/docs`.",
    ...groups.flatMap(({ name, operations }) => [
      `## ${name}`,
      table(
        ["Operation", "What it does"],
        operations.map(({ operationId, description }) => [
          `[${code(operationId)}](operations/${slugOf(name)}.md#${operationId})`,
          cell(description),
        ]),
      ),
    ]),
  );
  const pages = groups.map(({ name, operations }): [string, string] => [
    `reference/operations/${slugOf(name)}.md`,
    page(`Operations: ${name}`, ...operations.flatMap((operation) => operationParts(operation, document))),
  ]);
  return [["reference/operations.md", index], ...pages];
}

function operationParts(
  { path, operationId, description, requestBody, responses }: Documented & { path: string },
  document: Document,
): string[] {
  const { schema, example } = requestBody.content[JSON_TYPE] as { schema: Schema; example?: unknown };
  const versions = schema.anyOf ?? [schema];
  const newest = resolve(versions[0] as Schema, document);
  const types = versions.flatMap((version) => resolve(version, document).properties?.type?.enum ?? []);
  const parameters = newest.properties?.parameters ?? newest;
  const rows = fieldRows(resolve(parameters, document), document);
  const answer = responses[200]?.content[JSON_TYPE]?.example;
  return [
    `## ${operationId}`,
    `${code(`POST ${path}`)}. ${description}`,
    ...(types.length === 0 ? [] : [`Activity types: ${types.map((type) => code(String(type))).join(", ")}.`]),
    ...(rows.length === 0 ? ["It has no fields of its own."] : [table(["Field", "Type", "Description"], rows)]),
    ...(example === undefined ? [] : ["Request:", fenced(example)]),
    ...(answer === undefined ? [] : ["Answer:", fenced(shortened(answer))]),
  ];
}

/** Not highlighted, because there is a lot of it and every word would become its own element. */
const fenced = (value: unknown): string => `\`\`\`text\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/** An activity contains its votes and the request itself, but here readers look for its result. */
function shortened(answer: unknown): unknown {
  const { activity } = answer as { activity?: Record<string, unknown> };
  if (activity === undefined) return answer;
  const { id, organizationId, status, type, result } = activity;
  return { activity: { id, organizationId, status, type, result } };
}

function resolve(schema: Schema, { components }: Document): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : ((components.schemas[name] as Schema) ?? schema);
}

function fieldRows(schema: Schema, document: Document, prefix = "", level = 1): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const field = resolve(given, document);
    const isRequired = schema.required?.includes(name) ?? false;
    const what = [field.description, isRequired ? undefined : "optional"].filter((part) => part !== undefined);
    const inner = resolve(field.items ?? field, document);
    const row = [code(`${prefix}${name}`), cell(typeOf(field, document)), cell(what.join("; "))];
    if (level === MAX_LEVELS) return [row];
    return [row, ...fieldRows(inner, document, `${prefix}${name}${field.items ? "[]" : ""}.`, level + 1)];
  });
}

function typeOf(schema: Schema, document: Document): string {
  if (schema.$ref) return typeOf(resolve(schema, document), document);
  if (schema.enum) {
    const shown = schema.enum.slice(0, MAX_VALUES).map((value) => code(String(value)));
    return [...shown, ...(schema.enum.length > MAX_VALUES ? [`${schema.enum.length - MAX_VALUES} more`] : [])].join(
      ", ",
    );
  }
  if ("const" in schema) return code(String(schema.const));
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return [...new Set(some.map((each) => typeOf(each, document)))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items, document) : "anything"}`;
  return schema.type ?? "anything";
}

// Errors

const GRPC_NAMES: Record<number, string> = {
  1: "CANCELLED",
  3: "INVALID_ARGUMENT",
  5: "NOT_FOUND",
  6: "ALREADY_EXISTS",
  7: "PERMISSION_DENIED",
  8: "RESOURCE_EXHAUSTED",
  9: "FAILED_PRECONDITION",
  13: "INTERNAL",
  14: "UNAVAILABLE",
  16: "UNAUTHENTICATED",
};

function errorsPage(): string {
  const parts = describedErrors().flatMap((error) => [
    `## ${error.code}`,
    `HTTP ${error.httpStatus}, gRPC ${error.grpcCode} (${GRPC_NAMES[error.grpcCode]}), \`turnkeyErrorCode\` ${code(error.turnkeyErrorCode)}`,
    `> ${cell(error.text)}`,
    `**What to do:** ${remedyOf(error)}`,
  ]);
  return page(
    "Errors",
    "Every error that a client can get, by the name that logs and metrics use. The text is the `message` in the answer's body, with a value in place of each `{name}`. A request that fails changes nothing.",
    ...parts,
  );
}

// Policy facts

function policyFactsPage(): string {
  const scopes = { consensus: "Consensus", condition: "Conditions", time: "Time" } as const;
  const sections = (Object.keys(scopes) as (keyof typeof scopes)[]).flatMap((scope) => [
    `## ${scopes[scope]}`,
    table(
      ["Expression", "Type"],
      Object.entries(keywords[scope]).flatMap(([name, type]) => factRows(name, type)),
    ),
  ]);
  const params = Object.entries(activityParams).map(([type, fields]) => [
    code(type),
    Object.entries(fields)
      .map(([name, field]) => `${code(name)} (${cell(typeName(field))})`)
      .join(", "),
  ]);
  return page(
    "Policy facts",
    "All facts that the expressions of a policy can use, with their types. [The policy language](../guide/policy-language.md) describes what the types can do, and when a fact exists. `[]` stands for each entry of a list.",
    ...sections,
    "## Parameters of activities",
    "The fields of `activity.params`, by activity type. A type that is not listed has none.",
    table(["Activity type", "Fields"], params),
  );
}

function factRows(name: string, type: Type): string[][] {
  const row = [code(name), cell(typeName(type))];
  if (type.kind === "list") return [row, ...membersOf(`${name}[]`, type.element)];
  return namespaces.has(name) ? membersOf(name, type) : [row, ...membersOf(name, type)];
}

function membersOf(name: string, type: Type): string[][] {
  if (type.kind !== "struct") return [];
  const fields = Object.entries(type.fields).flatMap(([field, inner]) => factRows(`${name}.${field}`, inner));
  const aliases = Object.entries(type.aliases).map(([alias, field]) => [
    code(`${name}.${alias}`),
    `the same as ${code(field)}`,
  ]);
  return [...fields, ...aliases];
}

// Settings

interface SettingSchema {
  type?: string;
  enum?: unknown[];
  description?: string;
  minimum?: number;
  maximum?: number;
  items?: SettingSchema;
  properties?: Record<string, SettingSchema>;
  patternProperties?: Record<string, SettingSchema>;
  anyOf?: SettingSchema[];
}

function settingsPage(): string {
  const settings = Object.entries(Settings.properties as unknown as Record<string, SettingSchema>);
  const defaults = defaultsOfSettings();
  const variables = environment as Record<string, string>;
  const isSecret = (name: string) => (secretSettings as readonly string[]).includes(name);
  const rows = settings
    .filter(([name]) => variables[name] !== undefined)
    .map(([name, schema]) => [
      code(variables[name] as string),
      code(name),
      defaults[name] === undefined ? "" : code(String(defaults[name])),
      settingType(schema),
      cell(
        `${schema.description ?? ""}${isSecret(name) ? ` It can be provided as a file: \`${variables[name]}_FILE\`.` : ""}`,
      ),
    ]);
  const inFile = settings.filter(([name]) => variables[name] === undefined);
  return page(
    "Settings",
    "All settings. An environment variable overrides the configuration file (`--config`, `KEYSTEAD_CONFIG`), which contains the same settings as JSON under the names in the second column. If a setting is unknown or invalid, the server does not start, and says which one it is.",
    table(["Variable", "In the file", "Default", "Type", "Description"], rows),
    "## Only in the file",
    ...inFile.flatMap(([name, schema]) => [
      `### ${name}`,
      ...(schema.description === undefined ? [] : [cell(schema.description)]),
      table(["Setting", "Type", "Description"], nestedSettings(name, schema)),
    ]),
  );
}

function settingType({
  type,
  enum: values,
  minimum,
  maximum,
  items,
  properties,
  patternProperties,
  anyOf,
}: SettingSchema): string {
  if (values) return values.map((value) => code(String(value))).join(", ");
  if (anyOf) return [...new Set(anyOf.map(settingType))].join(" or ");
  if (items) return `list of ${settingType(items)}`;
  if (patternProperties && !properties) return "object by name";
  if (minimum !== undefined && maximum !== undefined) return `${type}, ${minimum} to ${maximum}`;
  return type ?? "anything";
}

function nestedSettings(prefix: string, schema: SettingSchema): string[][] {
  const row = [code(prefix), settingType(schema), cell(schema.description ?? "")];
  return [row, ...innerSettings(prefix, schema)];
}

const innerSettings = (prefix: string, schema: SettingSchema): string[][] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => nestedSettings(`${prefix}.${name}`, inner)),
  ...Object.values(schema.patternProperties ?? {}).flatMap((inner) => nestedSettings(`${prefix}.<name>`, inner)),
  ...(schema.items ? innerSettings(`${prefix}[]`, schema.items) : []),
  ...(schema.anyOf ?? []).flatMap((each) => innerSettings(prefix, each)),
];

/** The settings of a server that is given none. */
function defaultsOfSettings(): Record<string, unknown> {
  const { connections, rates, authProxy, seedCache, jobs, webhooks, shutdownDelayMs, ...rest } = loadConfig({});
  const plain = Object.entries(rest).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
  return {
    ...Object.fromEntries(plain),
    ...connections,
    dataDir: "data",
    rootKeyFile: "data/root.key",
    databaseUrl: "sqlite:data/keystead.db",
    shutdownDelaySeconds: shutdownDelayMs / 1000,
    jobLeaseSeconds: jobs.leaseMs / 1000,
    webhookTimeoutSeconds: webhooks.timeoutMs / 1000,
    webhookRetrySeconds: webhooks.retryDelaysMs.map((delay) => delay / 1000).join(","),
    organizationRequestsPerSecond: rates.organization,
    credentialRequestsPerSecond: rates.credential,
    failedAuthenticationsPerSecond: rates.failures,
    authProxyRequestsPerSecond: authProxy.requestsPerSecond,
    signerSeedCacheEntries: seedCache.entries,
    signerSeedCacheSeconds: seedCache.lifetimeMs / 1000,
  };
}

// Metrics

interface DescribedMetric {
  name: string;
  help: string;
  type: string;
  labelNames?: readonly string[];
}

/** Some metrics exist only with one of the databases. */
const DATABASES = [
  { kind: "sqlite", databaseUrl: "sqlite::memory:" },
  { kind: "postgres", databaseUrl: "postgres:" },
];

function metricsPage(): string {
  // Only a scrape reads figures from these, and there is none here.
  const nobody = undefined as never;
  const all = DATABASES.flatMap(({ kind, databaseUrl }) => {
    const { registry } = createMetrics("");
    measureTraffic(registry, nobody);
    measureSigner(registry, nobody);
    measureJobs(registry, nobody, nobody);
    measureAudit(registry, { shippers: [], leftOut: 0 } as never);
    measureTraces(registry, nobody);
    measureDatabase(registry, { databaseUrl, dataDir: "" }, { kind } as never, nobody);
    new ScheduledBackups(nobody, { url: "", clock: nobody, log: nobody }).measure(registry);
    return registry.getMetricsAsArray() as unknown as DescribedMetric[];
  });
  const described = [...new Map(all.map((metric) => [metric.name, metric])).values()];
  return page(
    "Metrics",
    "The metrics for Prometheus at `GET /metrics` on the admin port. No label contains anything that identifies a customer. [Operating](../guide/operating.md) describes what to watch.",
    table(
      ["Metric", "Kind", "Labels", "Description"],
      described.map(({ name, help, type, labelNames = [] }) => [
        code(name),
        type,
        labelNames.map(code).join(", "),
        cell(help),
      ]),
    ),
  );
}

// Limits

function limitsPage(): string {
  const source = readFileSync(new URL("../../src/kernel/limits.ts", import.meta.url), "utf8");
  const values = limits as unknown as Record<string, unknown>;
  // One comment may apply to all constants up to the next empty line.
  const rows = source.split(/\n\n|(?=\/\*\*)/).flatMap((block) => {
    const [, comment = ""] = /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\//.exec(block.trim()) ?? [];
    const names = [...block.matchAll(/^export const ([A-Z0-9_]+)\b/gm)].map(([, name]) => name as string);
    return names.map((name) => [code(name), valueOfLimit(values[name]), cell(comment.replace(/^\s*\*/gm, ""))]);
  });
  return page(
    "Limits",
    "All limits of the service, as defined in the source. [Limits](../guide/limits.md) describes by topic the limits that clients encounter, and what happens beyond them.",
    table(["Name", "Value", "Description"], rows),
  );
}

function valueOfLimit(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return value.toLocaleString("en");
  return code(JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner)));
}
