import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { type ReadOnlyClaims, signReadOnlyToken } from "../../engine/keys/read-only-tokens.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";

const LIFETIME_SECONDS = 3600;

export const createReadOnlySession = activity({
  path: "create_read_only_session",
  summary: "Get a token with which you can read for an hour; send it as `X-Session` instead of a stamp.",
  asks: ["signStatements"],
  intent: Strict({}),
  result: Type.Object({
    organizationId: Type.String(),
    organizationName: Type.String(),
    userId: Type.String(),
    username: Type.String(),
    session: Type.String(),
    sessionExpiry: Type.String(),
  }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE", isOwn: true }),
  async prepare({ read, organization, signer, submitter, now }) {
    const { userId, userName: username } = submitter;
    const credential = await keyOfCredential(read, organization.id, submitter.credential.id);
    const expiresAt = (Math.floor(now / 1000) + LIFETIME_SECONDS) * 1000;
    const claims = { organizationId: organization.id, userId, ...credential, expiresAt };
    return { userId, username, organization, session: await signReadOnlyToken({ read, signer }, claims), expiresAt };
  },
  concurrent: true,
  run: async ({ prepared: { userId, username, organization, session, expiresAt } }) => ({
    organizationId: organization.id,
    organizationName: organization.name,
    userId,
    username,
    session,
    sessionExpiry: String(expiresAt / 1000),
  }),
});

/** The claims that identify the credential of a session: its type, its key and its id. */
async function keyOfCredential(
  read: Reader,
  organizationId: string,
  credentialId: string,
): Promise<Pick<ReadOnlyClaims, "with" | "key" | "credentialId">> {
  const [apiKey] = await read
    .selectFrom("api_keys")
    .select("public_key as key")
    .where("organization_id", "=", organizationId)
    .where("id", "=", credentialId)
    .execute();
  if (apiKey) return { with: "apiKey", ...apiKey, credentialId };
  const [passkey] = await read
    .selectFrom("authenticators")
    .select("credential_id as key")
    .where("organization_id", "=", organizationId)
    .where("id", "=", credentialId)
    .execute();
  // If others approve the activity much later, the submitter's credential may have been deleted since.
  if (!passkey) return fail("RESOURCE_NOT_FOUND", { kind: "credential", id: credentialId, organizationId });
  return { with: "passkey", ...passkey, credentialId };
}
