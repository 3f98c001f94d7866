import { type Components, choicesOf, type JsonObject, type Schema, startOf } from "./json-schema.ts";

/** What the server's documentation says of an operation: its schema, and a request that a test has made. */
export interface Documented {
  operationId: string;
  summary: string;
  description: string;
  requestBody: { content: { "application/json": { schema: Schema; example?: JsonObject } } };
}

/** The part of the OpenAPI document that is looked at here. */
export interface OpenApi {
  paths: Record<string, { post: Documented }>;
  components: { schemas: Components };
}

export const isQuery = (path: string): boolean => path.startsWith("/public/v1/query/");

/** One version of a request. */
export interface Version {
  /** The activity's type; empty of a query. */
  type: string;
  /** Of what is typed: fields of a query, or parameters of an activity; the rest is added when it is sent. */
  schema: Schema;
}

/** The newest first. */
export function versionsOf(path: string, { requestBody }: Documented): Version[] {
  const { schema } = requestBody.content["application/json"];
  if (isQuery(path)) {
    const { organizationId: _, ...properties } = schema.properties ?? {};
    const required = schema.required?.filter((name) => name !== "organizationId") ?? [];
    return [{ type: "", schema: { ...schema, properties, required } }];
  }
  return (schema.anyOf ?? [schema]).map(({ properties = {} }) => ({
    type: choicesOf(properties.type ?? {})[0] ?? "",
    schema: properties.parameters ?? {},
  }));
}

/** Which version the documentation's example is of. */
export const typeOfExample = ({ requestBody }: Documented): string | undefined =>
  requestBody.content["application/json"].example?.type as string | undefined;

/** What is typed, of the documentation's example. */
export function exampleOf(path: string, { requestBody }: Documented): unknown {
  const { example = {} } = requestBody.content["application/json"];
  const { organizationId: _, ...fields } = example;
  return isQuery(path) ? fields : (example.parameters ?? {});
}

/** Parameters of an activity of this type to begin with: the example, or of a version that has none all that it must have. */
export function parametersToBegin({ paths, components }: OpenApi, type: string): unknown {
  for (const [path, { post }] of Object.entries(paths)) {
    const version = isQuery(path) ? undefined : versionsOf(path, post).find((each) => each.type === type);
    if (version) {
      return typeOfExample(post) === type ? exampleOf(path, post) : startOf(version.schema, components.schemas);
    }
  }
  return {};
}
