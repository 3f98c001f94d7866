import type { TSchema } from "typebox";
import { Type } from "typebox";
import { operatorActivityTypes } from "../engine/activities/operator-activities.ts";
import { AnyActivity, activityOf } from "../engine/activities/schema.ts";
import type { Capability } from "../engine/capability.ts";
import { VoteParameters } from "../engine/envelope.ts";
import { OneOf } from "../engine/fields.ts";
import type { ActivityOperation, Operation, VoteOperation } from "../engine/operations.ts";
import { type ProxyCall, proxyPathOf } from "../engine/proxy-call.ts";
import { pathOf } from "../engine/registry.ts";
import type { Example } from "./examples.ts";

export interface OpenApiInfo {
  version: string;
  baseUrl: string;
}

type Json = { [key: string]: unknown };

/** The content of the document. */
export interface Documented {
  /** In the order of the document. */
  capabilities: readonly Capability[];
  /** By operation path, or by the `operationId` of a call of the auth proxy. */
  examples: ReadonlyMap<string, Example>;
}

/**
 * The OpenAPI 3.1 document of all operations, grouped by capability. TypeBox schemas are JSON Schema, so they need no conversion. A schema
 * with an `$id` becomes a component of that name; all others are inlined.
 */
export function openApiDocument({ capabilities, examples }: Documented, { version, baseUrl }: OpenApiInfo): Json {
  const components: Json = {};
  const paths: Json = {};
  const groups = capabilities.filter(({ operations }) => operations.length > 0);
  for (const { title, operations, proxyCalls = [] } of groups) {
    for (const operation of operations) {
      const example = examples.get(operation.path);
      paths[pathOf(operation)] = { post: operationObject(operation, { title, example, components }) };
    }
    for (const call of proxyCalls) {
      const example = examples.get(proxyOperationId(call));
      paths[proxyPathOf(call)] = { post: proxyCallObject(call, { example, components }) };
    }
  }
  components.ActivityType = activityTypeSchema(groups.flatMap(({ operations }) => operations));
  components.Error = plain(ErrorBody, {});
  return {
    openapi: "3.1.0",
    info: {
      title: "Keystead",
      version,
      description: "Self-hosted key and wallet management. Every request is stamped with an API key or a passkey.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: baseUrl }],
    security: [{ stamp: [] }, { webAuthnStamp: [] }, { attestedStamp: [] }, { session: [] }],
    tags: [...groups.map(({ title }) => title), PROXY_TITLE].map((name) => ({ name })),
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "header",
          name: "X-Session",
          description: "A token from `create_read_only_session`; valid only for queries.",
        },
        stamp: { type: "apiKey", in: "header", name: "X-Stamp", description: "An API key's signature over the body." },
        attestedStamp: {
          type: "apiKey",
          in: "header",
          name: "X-Stamp-Attested",
          description:
            "A signature by a key that a verification token or an OIDC token is bound to; valid only for `stamp_login` and `approve_activity`.",
        },
        webAuthnStamp: {
          type: "apiKey",
          in: "header",
          name: "X-Stamp-WebAuthn",
          description: "A passkey's assertion over the body.",
        },
      },
    },
  };
}

/** The activity types that the published SDKs know, and those of this service's own operations. */
function activityTypeSchema(operations: readonly Operation[]): Json {
  const activities = operations.filter((operation) => operation.kind === "activity");
  const votes = operations.filter((operation) => operation.kind === "vote");
  const typesOf = (some: ActivityOperation[]) => some.flatMap(({ versions }) => [...versions.keys()]);
  const extensions = [...typesOf(activities.filter(({ isExtension }) => isExtension)), ...operatorActivityTypes];
  return {
    type: "string",
    enum: [...typesOf(activities.filter(({ isExtension }) => !isExtension)), ...votes.map(({ type }) => type)],
    description: `Extensions of this server add ${extensions.join(", ")}.`,
  };
}

const ErrorBody = Type.Object(
  {
    code: Type.Integer({ description: "The gRPC status code." }),
    message: Type.String(),
    details: Type.Array(Type.Object({ "@type": Type.String() })),
    turnkeyErrorCode: Type.String(),
  },
  { $id: "Error" },
);

interface Surroundings {
  /** The title of the operation's capability. */
  title: string;
  example: Example | undefined;
  components: Json;
}

const contentOf = (components: Json) => (schema: TSchema, example?: unknown) => ({
  "application/json": { schema: plain(schema, components), ...(example === undefined ? {} : { example }) },
});

/** The responses of every operation: its own answer, or an error. */
const responsesWith = (content: Json): Json => ({
  200: { description: "The answer.", content },
  default: {
    description: "What was wrong; nothing was changed.",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  },
});

function operationObject(operation: Operation, { title, example, components }: Surroundings): Json {
  const content = contentOf(components);
  return {
    operationId: operation.path,
    summary: nameOf(operation.path),
    description: operation.summary,
    tags: [title],
    requestBody: { required: true, content: content(requestOf(operation), example?.request) },
    responses: responsesWith(content(responseOf(operation), example?.answer)),
  };
}

const PROXY_TITLE = "Calls of the auth proxy";

const proxyOperationId = ({ path }: ProxyCall): string => `auth_proxy_${path}`;

/** Calls without a stamp. */
const proxyCallObject = (
  call: ProxyCall,
  { example, components }: Pick<Surroundings, "example" | "components">,
): Json => ({
  operationId: proxyOperationId(call),
  summary: `Proxy - ${nameOf(call.path)}`,
  description: call.summary,
  tags: [PROXY_TITLE],
  security: [],
  parameters: [
    {
      in: "header",
      name: "X-Auth-Proxy-Config-Id",
      required: true,
      description: "The `configId` from `get_auth_proxy_config`.",
      schema: { type: "string" },
    },
  ],
  requestBody: { content: contentOf(components)(call.request, example?.request) },
  responses: responsesWith(contentOf(components)(call.response, example?.answer)),
});

/** Words in paths that are abbreviations or are written together. */
const SPELLINGS: Record<string, string> = {
  api: "API",
  eth: "Ethereum",
  ip: "IP",
  mfa: "MFA",
  onramp: "on-ramp",
  otp: "one-time code",
  oauth: "OAuth",
  oauth2: "OAuth 2.0",
  suborgs: "sub-organizations",
  whoami: "who am I",
};

/** The title for a path: `create_wallet` becomes "Create wallet". */
export function nameOf(path: string): string {
  const words = path.replace("sub_organization", "sub-organization").replace("on_ramp", "on-ramp").split("_");
  const name = words.map((word) => SPELLINGS[word] ?? word).join(" ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The schema of a whole request body. */
export function requestOf(operation: Operation): TSchema {
  switch (operation.kind) {
    case "query":
      return operation.request;
    case "vote":
      return envelope(operation.type, VoteParameters, true);
    case "activity": {
      const versions = [...operation.versions.values()];
      const { takesAppProofs } = operation;
      const envelopes = versions.map(({ type, intent }) => envelope(type, intent, takesAppProofs));
      return envelopes.length === 1 ? (envelopes[0] as TSchema) : Type.Union(envelopes);
    }
  }
}

const envelope = (type: string, parameters: TSchema, takesAppProofs: boolean): TSchema =>
  Type.Object({
    type: OneOf([type]),
    timestampMs: Type.String({ description: "The time of the request in milliseconds." }),
    organizationId: Type.String(),
    parameters,
    ...(takesAppProofs ? { generateAppProofs: Type.Optional(Type.Boolean()) } : {}),
  });

/** The schema of a whole response body. */
export function responseOf(operation: Operation): TSchema {
  if (operation.kind === "query") return operation.response;
  return Type.Object({ activity: shownActivity(operation) });
}

const shownActivity = (operation: ActivityOperation | VoteOperation): TSchema =>
  operation.kind === "vote" ? AnyActivity : activityOf(operation);

/** A copy without TypeBox's own symbols. Named schemas become references. */
function plain(schema: unknown, components: Json, isRoot = true): unknown {
  if (Array.isArray(schema)) return schema.map((item) => plain(item, components, false));
  if (typeof schema !== "object" || schema === null) return schema;
  const { $id, ...rest } = schema as Json;
  if (typeof $id === "string" && !(isRoot && $id === "Error")) {
    if (!(($id as string) in components)) {
      components[$id] = {};
      components[$id] = members(rest, components);
    }
    return { $ref: `#/components/schemas/${$id}` };
  }
  return members(rest, components);
}

const members = (schema: Json, components: Json): Json =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !key.startsWith("~"))
      .map(([key, value]) => [key, plain(value, components, false)]),
  );
