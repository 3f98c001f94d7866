import { generateKeyPairSync } from "node:crypto";
import { seatNewUsers } from "../authority/rules/root-quorum.ts";
import { addUser } from "../authority/rules/users.ts";
import { addOrganization } from "../capabilities/organizations/store.ts";
import { newId } from "../kernel/ids.ts";
import type { Signer } from "../signer/client.ts";
import type { Database } from "../storage/database.ts";
import type { Transactor } from "../storage/engine.ts";
import { type Credentials, credentialsFileIn, readCredentials, writeFileDurably } from "./credentials-file.ts";

/** Creates root organizations: the one of the first start, and further ones by `keystead init`. */

export interface RootOrganizationOptions {
  baseUrl: string;
  organizationName: string;
  userName: string;
  userEmail?: string | undefined;
  /** Compressed, in hex; a key pair is generated if absent. */
  apiPublicKey?: string | undefined;
}

/** The ids and the key of a root organization that is not stored yet. */
export function draftRootOrganization(options: RootOrganizationOptions): Credentials {
  const { baseUrl, organizationName, userName, apiPublicKey } = options;
  const apiKey = apiPublicKey === undefined ? generateApiKey() : { publicKey: apiPublicKey };
  return { baseUrl, organizationId: newId(), organizationName, userId: newId(), userName, apiKey };
}

/** Stores a drafted organization with its only user, who is the only member of the root quorum. */
export async function storeRootOrganization(
  tx: Transactor,
  draft: Credentials,
  organizationKey: string,
  options: { userEmail?: string | undefined; now: number },
): Promise<void> {
  const { userEmail, now } = options;
  const user = {
    id: draft.userId,
    name: draft.userName,
    email: userEmail,
    apiKeys: [
      {
        id: newId(),
        name: "Root API key",
        publicKey: draft.apiKey.publicKey,
        type: "CREDENTIAL_TYPE_API_KEY_P256",
        sessionProfileId: null,
        grade: null,
        expirationSeconds: null,
      },
    ],
    authenticators: [],
    oauthProviders: [],
    tagIds: [],
  };
  const sealedKey = Buffer.from(organizationKey, "base64");
  const organization = { id: draft.organizationId, name: draft.organizationName, parentId: null, sealedKey, now };
  await addOrganization(tx, organization, (authority) => {
    addUser(authority, user, now, "user");
    seatNewUsers(authority, { threshold: 1, userIds: [draft.userId] }, now);
  });
}

/**
 * Creates the first organization if the database has none, and writes its credentials to the data directory. The file is written before the
 * commit. After a crash between the two, the next start uses the file again, so a committed organization always has its key on disk.
 */
export async function ensureFirstOrganization(
  database: Database,
  signer: Signer,
  { dataDir, baseUrl, now }: { dataDir: string; baseUrl: string; now: number },
): Promise<boolean> {
  const hasOrganization = async (tx: Transactor) =>
    (await tx.selectFrom("organizations").select("id").executeTakeFirst()) !== undefined;
  if (await database.transact("installation", hasOrganization)) return false;

  const file = credentialsFileIn(dataDir);
  const draft =
    readCredentials(file) ??
    draftRootOrganization({ baseUrl, organizationName: "First organization", userName: "Root user" });
  const { organizationKey } = await signer.ask({
    verb: "createOrganizationKey",
    organizationId: draft.organizationId,
  });
  return database.transact("installation", async (tx) => {
    if (await hasOrganization(tx)) return false;
    writeFileDurably(file, `${JSON.stringify({ ...draft, baseUrl }, null, 2)}\n`, 0o600);
    await storeRootOrganization(tx, draft, organizationKey, { now });
    return true;
  });
}

function generateApiKey(): { publicKey: string; privateKey: string } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x, y, d } = privateKey.export({ format: "jwk" }) as { x: string; y: string; d: string };
  const isOdd = (Buffer.from(y, "base64url").at(-1) as number) % 2 === 1;
  return {
    publicKey: `${isOdd ? "03" : "02"}${Buffer.from(x, "base64url").toString("hex")}`,
    privateKey: Buffer.from(d, "base64url").toString("hex"),
  };
}
