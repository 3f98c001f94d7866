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

/** Clients leave out a value that is empty; a key must be there. */
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
  /** What the client says about the export. It is stamped and kept with the activity, and means nothing here. */
  requestContext: Type.Optional(KeyValues),
});
export const ExportSecretsIntent = Strict({ secrets: SomeOf(ExportSecretParams, MAX_SECRETS_PER_REQUEST) });
export type ExportSecretsIntent = Static<typeof ExportSecretsIntent>;

/** Never the secret itself. */
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

/** The field of the secret at this place of a request. */
export const fieldAt = (index: number, name: string): string => `parameters.secrets.${index}.${name}`;

/** A secret to import, parsed. */
export interface ImportedParams {
  name: string | undefined;
  bundle: HpkeMessage;
  /** Uncompressed, in lowercase hex. */
  targetPublicKey: string;
  staticProperties: StaticProperty[];
}

/** @throws KeysteadError FIELD_INVALID naming the first field that cannot be */
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

/** The keys that secrets are exported to, in the order of the request. */
export function parseExport({ secrets }: ExportSecretsIntent): string[] {
  for (const [index, { requestContext = [] }] of secrets.entries()) {
    parseKeyValues(requestContext, fieldAt(index, "requestContext"));
  }
  return secrets.map(({ targetPublicKey }, index) =>
    parseTargetPublicKey(targetPublicKey, fieldAt(index, "targetPublicKey")),
  );
}

/** Keys with their values, each there once. */
function parseKeyValues(entries: Static<typeof KeyValues>, field: string): StaticProperty[] {
  const seen = new Set<string>();
  return entries.map(({ key, value = "" }, position) => {
    const at = `${field}.${position}.key`;
    if (key === undefined) return fail("FIELD_MISSING", { field: at });
    if (seen.has(key)) fail("FIELD_INVALID", { field: at, reason: "is there twice" });
    seen.add(key);
    return { key, value };
  });
}

/** @throws KeysteadError FIELD_INVALID naming the first that was there before; what is not given is passed over */
export function refuseRepeated(values: readonly (string | undefined)[], fieldOf: (index: number) => string): void {
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    if (seen.has(value)) fail("FIELD_INVALID", { field: fieldOf(index), reason: "is there twice" });
    seen.add(value);
  }
}

/**
 * What policies see of the secrets of a request. Several have no one set of properties: a policy that asks for them ends in an
 * error, by which it allows nothing and denies, so that each is asked for by itself. `asked` counts those that are not known too:
 * what is left of a request for several must not pass for a request for one.
 */
export function factsOfSecrets(
  secrets: readonly { staticProperties: readonly StaticProperty[] }[],
  asked = secrets.length,
): { secret?: SecretFacts } {
  if (asked > 1) {
    return {
      get secret(): never {
        throw new MissingFactError("the request is about several secrets; send one for each");
      },
    };
  }
  const [secret] = secrets;
  if (!secret) return {};
  const entries = secret.staticProperties.map(({ key, value }): [string, string] => [key, value]);
  return { secret: { static_properties: Object.fromEntries(entries) } };
}
