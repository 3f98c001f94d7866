import { type Static, Type } from "typebox";
import { Id, Label, List, OneOf, SomeOf, Strict } from "../../engine/fields.ts";
import {
  EncryptedBundle,
  parseEncryptedBundle,
  parseTargetPublicKey,
  TargetPublicKey,
} from "../../engine/keys/bundle-envelopes.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_SECRET_BYTES,
  MAX_SECRET_PROPERTIES,
  MAX_SECRET_PROPERTY_LENGTH,
  MAX_SECRETS_PER_REQUEST,
} from "../../kernel/limits.ts";
import { MissingFactError } from "../../policy/errors.ts";
import type { SecretFacts } from "../../policy/facts.ts";
import type { HpkeMessage } from "../../signer/protocol.ts";

export const EncryptionSuite = OneOf(["TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1"]);

/** Clients omit empty values. A key is required, which `parseKeyValues` checks. */
const KeyValues = List(
  Strict({
    key: Type.Optional(Label),
    value: Type.Optional(Type.String({ maxLength: MAX_SECRET_PROPERTY_LENGTH })),
  }),
  MAX_SECRET_PROPERTIES,
);

export interface StaticProperty {
  key: string;
  value: string;
}

const ImportSecretParams = Strict({
  name: Type.Optional(Label),
  secretPayload: EncryptedBundle(MAX_SECRET_BYTES),
  targetPublicKey: TargetPublicKey,
  encryptionSuite: EncryptionSuite,
  staticProperties: Type.Optional(KeyValues),
});
export const ImportSecretsIntent = Strict({ secrets: SomeOf(ImportSecretParams, MAX_SECRETS_PER_REQUEST) });
export type ImportSecretsIntent = Static<typeof ImportSecretsIntent>;

const ExportSecretParams = Strict({
  secretId: Id,
  targetPublicKey: TargetPublicKey,
  encryptionSuite: EncryptionSuite,
  /** The client's own notes on the export. They are stamped and stored with the activity, but the server does not interpret them. */
  requestContext: Type.Optional(KeyValues),
});
export const ExportSecretsIntent = Strict({ secrets: SomeOf(ExportSecretParams, MAX_SECRETS_PER_REQUEST) });
export type ExportSecretsIntent = Static<typeof ExportSecretsIntent>;

/** Does not contain the secret itself. */
export const SecretMetadata = Type.Object(
  {
    secretId: Type.String(),
    name: Type.Optional(Type.String()),
    staticProperties: Type.Array(
      Type.Object({ key: Type.Optional(Type.String()), value: Type.Optional(Type.String()) }),
    ),
    createdAtUnixMs: Type.String(),
  },
  { $id: "SecretMetadata" },
);
export type SecretMetadata = Static<typeof SecretMetadata>;

/** The name of a field of the secret at this index in a request. */
export const fieldAt = (index: number, name: string): string => `parameters.secrets.${index}.${name}`;

/** A secret to import, parsed. */
export interface ImportedParams {
  name: string | undefined;
  bundle: HpkeMessage;
  /** Uncompressed, in lowercase hex. */
  targetPublicKey: string;
  staticProperties: StaticProperty[];
}

/** @throws KeysteadError FIELD_INVALID naming the first invalid field */
export function parseImport({ secrets }: ImportSecretsIntent): ImportedParams[] {
  const parsed = secrets.map(({ name, secretPayload, targetPublicKey, staticProperties = [] }, index) => ({
    name,
    bundle: parseEncryptedBundle(secretPayload, fieldAt(index, "secretPayload"), MAX_SECRET_BYTES),
    targetPublicKey: parseTargetPublicKey(targetPublicKey, fieldAt(index, "targetPublicKey")),
    staticProperties: parseKeyValues(staticProperties, fieldAt(index, "staticProperties")),
  }));
  for (const field of ["name", "targetPublicKey"] as const) {
    const values = parsed.map((secret) => secret[field]);
    refuseRepeated(values, (index) => fieldAt(index, field));
  }
  return parsed;
}

/** The public keys to export secrets to, in the order of the request. */
export function parseExport({ secrets }: ExportSecretsIntent): string[] {
  for (const [index, { requestContext = [] }] of secrets.entries()) {
    parseKeyValues(requestContext, fieldAt(index, "requestContext"));
  }
  return secrets.map(({ targetPublicKey }, index) =>
    parseTargetPublicKey(targetPublicKey, fieldAt(index, "targetPublicKey")),
  );
}

/** Parses keys with their values; a key may occur only once. */
function parseKeyValues(entries: Static<typeof KeyValues>, field: string): StaticProperty[] {
  const seen = new Set<string>();
  return entries.map(({ key, value = "" }, position) => {
    const at = `${field}.${position}.key`;
    if (key === undefined) return fail("FIELD_MISSING", { field: at });
    if (seen.has(key)) fail("FIELD_INVALID", { field: at, reason: "occurs twice" });
    seen.add(key);
    return { key, value };
  });
}

/** @throws KeysteadError FIELD_INVALID naming the first value that repeats an earlier one; undefined values are skipped */
export function refuseRepeated(values: readonly (string | undefined)[], fieldOf: (index: number) => string): void {
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    if (seen.has(value)) fail("FIELD_INVALID", { field: fieldOf(index), reason: "occurs twice" });
    seen.add(value);
  }
}

/**
 * The facts that policies see about the secrets of a request. Several secrets have no single set of properties, so a policy that
 * reads them fails: ALLOW policies then do not allow, and DENY policies deny. Such requests must be sent one secret at a time. `asked`
 * also counts unknown secrets, so that a request for several, of which one is known, is not treated as a request for one.
 */
export function factsOfSecrets(
  secrets: readonly { staticProperties: readonly StaticProperty[] }[],
  asked = secrets.length,
): { secret?: SecretFacts } {
  if (asked > 1) {
    return {
      get secret(): never {
        throw new MissingFactError("the request is about several secrets; send one request for each");
      },
    };
  }
  const [secret] = secrets;
  if (!secret) return {};
  const entries = secret.staticProperties.map(({ key, value }): [string, string] => [key, value]);
  return { secret: { static_properties: Object.fromEntries(entries) } };
}
