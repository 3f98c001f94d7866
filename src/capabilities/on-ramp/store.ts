import { parseCredentialBundle } from "../../crypto/bundles.ts";
import type { PrepareContext } from "../../engine/declare.ts";
import { timestampOf } from "../../engine/fields.ts";
import { findOrganization, rootIdOf } from "../../engine/identity/organizations.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { publishedKeyReferences } from "../../engine/keys/service-keys.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ON_RAMP_SECRET_BYTES } from "../../kernel/limits.ts";
import type { OnRampProviderId } from "../../providers/on-ramp/offers.ts";
import type { OnRampHolder } from "../../providers/on-ramp/on-ramps.ts";
import { OnRampProblem } from "../../providers/on-ramp/provider.ts";
import type { HpkeMessage, OnRampProviderName } from "../../signer/protocol.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { CredentialFields, FiatOnRampCredential } from "./model.ts";
import { onRampKey } from "./on-ramp-key.ts";

const nameOf = (provider: OnRampProviderId): OnRampProviderName =>
  provider === "FIAT_ON_RAMP_PROVIDER_COINBASE" ? "coinbase" : "moonpay";

/**
 * Checks the fields that only Coinbase requires.
 *
 * @throws KeysteadError FIELD_MISSING
 */
export function checkCredential({ onrampProvider, projectId, encryptedPrivateApiKey }: CredentialFields): void {
  if (onrampProvider !== "FIAT_ON_RAMP_PROVIDER_COINBASE") return;
  for (const [name, value] of Object.entries({ projectId, encryptedPrivateApiKey })) {
    if (!value) fail("FIELD_MISSING", { field: `parameters.${name}` });
  }
}

type Sealing = Pick<PrepareContext<unknown, "importOnRampKeys">, "read" | "organization" | "signer" | "now">;

/**
 * Has the signer decrypt the keys, which are encrypted to the published key, and seal them for one credential.
 *
 * @throws KeysteadError FIELD_INVALID if they are not encrypted to such a key, or if the provider would not accept them
 */
export async function sealKeys(
  { read, organization, signer, now }: Sealing,
  credentialId: string,
  { onrampProvider, encryptedSecretApiKey, encryptedPrivateApiKey }: CredentialFields,
): Promise<Buffer> {
  const secretApiKey = messageIn("encryptedSecretApiKey", encryptedSecretApiKey);
  const privateApiKey = encryptedPrivateApiKey && messageIn("encryptedPrivateApiKey", encryptedPrivateApiKey);
  const answer = await signer.ask({
    verb: "importOnRampKeys",
    ...keyOwnerOf(organization),
    credentialId,
    provider: nameOf(onrampProvider),
    secretApiKey,
    ...(privateApiKey ? { privateApiKey } : {}),
    ...(await publishedKeyReferences(read, onRampKey, now)),
  });
  if ("sealedKeys" in answer) return Buffer.from(answer.sealedKeys, "base64");
  const field = `parameters.${FIELDS[answer.of]}`;
  if (answer.problem === "undecryptable") return fail("FIELD_INVALID", { field, reason: NOT_OURS });
  if (answer.problem === "tooLarge") {
    return fail("FIELD_INVALID", { field, reason: `contains more than ${MAX_ON_RAMP_SECRET_BYTES} bytes` });
  }
  return fail("FIELD_INVALID", { field, reason: unusableAt(onrampProvider, answer.of) });
}

const FIELDS = { secretApiKey: "encryptedSecretApiKey", privateApiKey: "encryptedPrivateApiKey" } as const;
const NOT_OURS =
  "was not encrypted to a key of this server: use `serviceKeys.onRamp` of /.well-known/keystead.json and `encryptOnRampSecret`";

function unusableAt(provider: OnRampProviderId, of: keyof typeof FIELDS): string {
  if (provider === "FIAT_ON_RAMP_PROVIDER_MOONPAY") return "holds a key that is empty or has spaces or line ends in it";
  if (of === "secretApiKey") return "holds an empty key";
  return "does not contain a key that can sign for Coinbase: encrypt the PEM of a P-256 key or the base64 of an Ed25519 key, as Coinbase issued it";
}

function messageIn(field: string, text: string): HpkeMessage {
  const message = parseCredentialBundle(text);
  if (!message) return fail("FIELD_INVALID", { field: `parameters.${field}`, reason: NOT_OURS });
  return { encappedPublic: toHex(message.encapped), ciphertext: toHex(message.ciphertext) };
}

/** The columns of a credential, from the fields of a request. */
export const columnsOf = (fields: CredentialFields, sealedKeys: Buffer) => ({
  provider: fields.onrampProvider,
  project_id: fields.projectId || null,
  publishable_api_key: fields.publishableApiKey,
  encrypted_secret_api_key: fields.encryptedSecretApiKey,
  encrypted_private_api_key: fields.encryptedPrivateApiKey || null,
  sealed_keys: sealedKeys,
});

type Row = Awaited<ReturnType<typeof findCredentials>>[number];

/** The organization's credentials, oldest first. */
export const findCredentials = (read: Reader, organizationId: string) =>
  read
    .selectFrom("on_ramp_credentials")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .orderBy("id")
    .execute();

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireCredential(read: Reader, organizationId: string, id: string): Promise<Row> {
  const row = await read
    .selectFrom("on_ramp_credentials")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "fiat on-ramp credential", id, organizationId });
}

/** The credential to use, and the organization that owns it. */
export interface Lent {
  row: Row;
  owner: Organization;
}

/** The provider, and whether to use its sandbox. */
export interface Market {
  provider: OnRampProviderId;
  sandbox: boolean;
}

/**
 * The credential with this id if it still exists, else the newest one of the organization, else the newest one of its parent.
 *
 * @throws KeysteadError ON_RAMP_NOT_CONFIGURED
 */
export async function credentialFor(
  read: Reader,
  organization: Organization,
  { provider, sandbox }: Market,
  wantedId?: string,
): Promise<Lent> {
  const parent = organization.parentId === null ? undefined : await findOrganization(read, organization.parentId);
  const lent: Lent[] = [];
  for (const owner of [organization, ...(parent ? [parent] : [])]) {
    const rows = await findCredentials(read, owner.id);
    const fitting = rows.filter((row) => row.provider === provider && row.sandbox === Number(sandbox));
    lent.push(...fitting.reverse().map((row) => ({ row, owner })));
  }
  const found = lent.find(({ row }) => row.id === wantedId) ?? lent[0];
  return (
    found ?? fail("ON_RAMP_NOT_CONFIGURED", { provider, sandbox: String(sandbox), organizationId: organization.id })
  );
}

/** The account of a credential. The signer computes everything that needs the account's secrets. */
export function holderOf(
  { row, owner }: Lent,
  signer: AskedSigner<"authorizeCoinbase"> | AskedSigner<"signMoonPayUrl" | "authorizeCoinbase">,
): OnRampHolder {
  const { id: credentialId, publishable_api_key: publishableApiKey } = row;
  const used = { ...keyOwnerOf(owner), credentialId, sealedKeys: Buffer.from(row.sealed_keys).toString("base64") };
  const { ask } = signer as AskedSigner<"signMoonPayUrl" | "authorizeCoinbase">;
  return {
    provider: row.provider as OnRampProviderId,
    rootId: rootIdOf(owner),
    account: {
      publishableApiKey,
      signUrl: (of) => ask({ verb: "signMoonPayUrl", ...used, sandbox: row.sandbox === 1, of }),
      authorize: async (host, request) =>
        (await ask({ verb: "authorizeCoinbase", ...used, keyId: publishableApiKey, host, request })).token,
    },
  };
}

/**
 * Makes a request to a provider with a credential, and translates its errors.
 *
 * @throws KeysteadError ON_RAMP_CREDENTIAL_REFUSED, ON_RAMP_REFUSED or ON_RAMP_UNAVAILABLE
 */
export async function asking<T>({ row: { id, provider } }: Lent, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof OnRampProblem)) throw error;
    const { message: reason } = error;
    if (error.of === "account") return fail("ON_RAMP_CREDENTIAL_REFUSED", { provider, id, reason });
    if (error.of === "purchase") return fail("ON_RAMP_REFUSED", { provider, reason });
    return fail("ON_RAMP_UNAVAILABLE", { provider, reason });
  }
}

export const renderCredential = (row: Row): FiatOnRampCredential => ({
  fiatOnrampCredentialId: row.id,
  organizationId: row.organization_id,
  onrampProvider: row.provider as OnRampProviderId,
  ...(row.project_id === null ? {} : { projectId: row.project_id }),
  publishableApiKey: row.publishable_api_key,
  encryptedSecretApiKey: row.encrypted_secret_api_key,
  ...(row.encrypted_private_api_key === null ? {} : { encryptedPrivateApiKey: row.encrypted_private_api_key }),
  sandboxMode: row.sandbox === 1,
  createdAt: timestampOf(row.created_at),
  updatedAt: timestampOf(row.updated_at),
});

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireTransaction(read: Reader, organizationId: string, id: string) {
  const row = await read
    .selectFrom("on_ramp_transactions")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "on-ramp transaction", id, organizationId });
}

/** Stores a purchase's status. A completed purchase stays completed. */
export async function noteStatus(
  tx: Transactor,
  { organizationId, id, status, now }: { organizationId: string; id: string; status: string; now: number },
): Promise<void> {
  await tx
    .updateTable("on_ramp_transactions")
    .set({ status, updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .where("status", "!=", "COMPLETED")
    .execute();
}
