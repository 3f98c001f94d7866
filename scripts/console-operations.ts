import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { capabilities } from "../src/capabilities/index.ts";
import { openApiDocument } from "../src/http/openapi.ts";

/**
 * What the console knows of the API, made from the declarations: the types of requests and answers, and the activity type of each
 * path. Made anew by each build and by `npm run check:types`; nobody edits it.
 */

const FILE = fileURLToPath(new URL("../console/src/api/operations.gen.ts", import.meta.url));

interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

const members = (schemas: Schema[], separator: string): string =>
  [...new Set(schemas.map(typeOf))].map((text) => `(${text})`).join(separator);

/** A JSON Schema as a type. What it says beyond types, such as lengths, is the server's to check. */
function typeOf(schema: Schema): string {
  if (schema.$ref) return `Schemas[${JSON.stringify(schema.$ref.split("/").at(-1))}]`;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return members(some, " | ");
  if (schema.allOf) return members(schema.allOf, " & ");
  switch (schema.type) {
    case "array":
      return `(${schema.items ? typeOf(schema.items) : "unknown"})[]`;
    case "object":
      return objectType(schema);
    case "integer":
      return "number";
    case "string":
    case "number":
    case "boolean":
    case "null":
      return schema.type;
    default:
      return "unknown";
  }
}

function objectType({ properties, required = [], patternProperties, additionalProperties }: Schema): string {
  const [anyValue] = Object.values(patternProperties ?? {});
  if (anyValue) return `Record<string, ${typeOf(anyValue)}>`;
  if (typeof additionalProperties === "object") return `Record<string, ${typeOf(additionalProperties)}>`;
  if (!properties || Object.keys(properties).length === 0) return "Record<string, unknown>";
  const lines = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeOf(schema)}`,
  );
  return `{ ${lines.join("; ")} }`;
}

interface Document {
  paths: Record<string, { post: { requestBody: Content; responses: { 200: Content } } }>;
  components: { schemas: Record<string, Schema> };
}
interface Content {
  content: { "application/json": { schema: Schema } };
}

const schemaOf = ({ content }: Content): Schema => content["application/json"].schema;

/** The text of the module. */
export function consoleOperations(): string {
  const document = openApiDocument(
    { capabilities, examples: new Map() },
    { version: "", baseUrl: "" },
  ) as unknown as Document;
  const operations = capabilities.flatMap((capability) => [...capability.operations]);
  const postOf = (section: string, path: string) =>
    document.paths[`/public/v1/${section}/${path}`]?.post as never as Post;
  const queries = operations
    .filter(({ kind }) => kind === "query")
    .map(({ path }) => {
      const { requestBody, responses } = postOf("query", path);
      return `  ${path}: { request: ${typeOf(schemaOf(requestBody))}; answer: ${typeOf(schemaOf(responses[200]))} };`;
    });
  const activities = operations
    .filter((operation) => operation.kind === "activity")
    .map((operation) => {
      const [newest] = [...operation.versions.values()];
      if (!newest) throw new Error(`${operation.path} has no version`);
      const { requestBody, responses } = postOf("submit", operation.path);
      const body = schemaOf(requestBody);
      const parameters = (body.anyOf?.[0] ?? body).properties?.parameters as Schema;
      const shown = schemaOf(responses[200]).properties?.activity as Schema;
      const result = shown.properties?.result?.properties?.[newest.resultKey] ?? {};
      return {
        type: `  ${operation.path}: { parameters: ${typeOf(parameters)}; result: ${typeOf(result)} };`,
        entry: `  ${operation.path}: ${JSON.stringify(newest.type)},`,
      };
    });
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => `  ${name}: ${typeOf(schema)};`);
  return [
    "// Made by scripts/console-operations.ts from the declarations of the operations.",
    "export interface Schemas {",
    ...schemas,
    "}",
    "export interface Queries {",
    ...queries,
    "}",
    "export interface Activities {",
    ...activities.map(({ type }) => type),
    "}",
    "/** The newest activity type of each path. */",
    "export const ACTIVITY_TYPES = {",
    ...activities.map(({ entry }) => entry),
    "} as const;",
    "",
  ].join("\n");
}

type Post = Document["paths"][string]["post"];

/** Writes the module where it is not there, or not as it should be. */
export function writeConsoleOperations(): void {
  const text = consoleOperations();
  mkdirSync(dirname(FILE), { recursive: true });
  try {
    if (readFileSync(FILE, "utf8") === text) return;
  } catch {
    // It is not there yet.
  }
  writeFileSync(FILE, text);
}

if (import.meta.main) writeConsoleOperations();
