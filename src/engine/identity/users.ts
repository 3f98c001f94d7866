import type { Compilable } from "kysely";
import { MAX_CACHED_USER_BYTES, MAX_CACHED_USERS } from "../../kernel/limits.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { isRoundLong } from "../../kernel/turns.ts";
import { isTransactor, type Reader, type Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { bytesOfRows } from "../bytes-of-rows.ts";
import { timestampOf } from "../fields.ts";
import { oldestFirst } from "../paging.ts";
import { type AnyCredentialTable, credentialsOfUsers } from "./credential-rows.ts";
import type { ApiKey, Authenticator, CredentialType, MfaPolicy, OauthProvider, User } from "./user-schemas.ts";

/** Reads users and their credentials as the API shows them: in queries, and inside every vote. */

type UserRef = { organizationId: string; userId: string };

const findUser = prepared<UserRef>()(
  (db, { organizationId, userId }) =>
    db.selectFrom("users").selectAll().where("organization_id", "=", organizationId).where("id", "=", userId),
  {
    isLasting: true,
    isTogether: true,
    sees:
      ({ organizationId, userId }) =>
      (table, row) =>
        table === "users" && row.organization_id === organizationId && row.id === userId,
  },
);
const findUsers = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("users").selectAll().where("organization_id", "=", organizationId).orderBy("id"),
);
/** The number of users read by one statement. */
const TOGETHER = 50;
const places = Array.from({ length: TOGETHER }, (_, index) => `user${index}`);

/** A look-up of rows that belong to users: one statement, whether for a single user or for a batch. */
function ofUsers<Select extends Compilable<unknown>>(
  build: (db: Pick<Reader, "selectFrom">, organizationId: string, userIds: readonly string[]) => Select,
  isTogether = true,
) {
  const ofOne = prepared<UserRef>()((db, { organizationId, userId }) => build(db, organizationId, [userId]), {
    isTogether,
  });
  const ofMany = prepared<Record<string, string>>()((db, given) =>
    build(
      db,
      given.organizationId as string,
      places.map((place) => given[place] as string),
    ),
  );
  return (reader: Reader, organizationId: string, userIds: readonly string[]) => {
    const [userId = ""] = userIds;
    if (userIds.length === 1) return ofOne(reader, { organizationId, userId });
    const named = places.map((place, index) => [place, userIds[index] ?? userId]);
    return ofMany(reader, { ...Object.fromEntries(named), organizationId });
  };
}

const credentialsBy = <Table extends AnyCredentialTable>(table: Table) =>
  ofUsers((db, organizationId, userIds) => credentialsOfUsers(db, table, organizationId, userIds));
const findApiKeys = credentialsBy("api_keys");
const findAuthenticators = credentialsBy("authenticators");
const findOauthProviders = credentialsBy("oauth_providers");
const findVersions = ofUsers((db, organizationId, userIds) =>
  db
    .selectFrom("users")
    .select(["id", "version"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", userIds),
);
const findTags = ofUsers((db, organizationId, userIds) =>
  db
    .selectFrom("user_tag_members")
    .select(["tag_id", "member_id as user_id"])
    .where("organization_id", "=", organizationId)
    .where("member_id", "in", userIds),
);

/** In the order in which they are evaluated. */
const findMfaPolicies = ofUsers(
  (db, organizationId, userIds) =>
    db
      .selectFrom("mfa_policies")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("user_id", "in", userIds)
      .orderBy("position")
      .orderBy("id"),
  // Rows of several users are not sorted.
  false,
);

/** The size of a list of the organization's users in an answer, in bytes. */
export const bytesOfUsers = (read: Reader, organizationId: string): Promise<number> =>
  bytesOfRows(read, organizationId, {
    users: 512,
    api_keys: 512,
    authenticators: 1024,
    oauth_providers: 512,
    mfa_policies: 1024,
    user_tag_members: 64,
  });

type UserRow = Awaited<ReturnType<typeof findUser>>[number];
type ApiKeyRow = Awaited<ReturnType<typeof findApiKeys>>[number];
type OauthProviderRow = Awaited<ReturnType<typeof findOauthProviders>>[number];
type MfaPolicyRow = Awaited<ReturnType<typeof findMfaPolicies>>[number];
type AuthenticatorRow = Awaited<ReturnType<typeof findAuthenticators>>[number];

/** A cache of rendered users by version. The version is read each time, so changes of other processes are seen immediately. */
const cache = recentlyUsed<{ version: number; user: User }>({
  entries: MAX_CACHED_USERS,
  bytes: MAX_CACHED_USER_BYTES,
  sizeOf: ({ user }) => Buffer.byteLength(JSON.stringify(user)),
});
/** Users that are being read, so that requests committed together read a user once. */
const reading = new Map<string, { version: number; user: Promise<User> }>();

/** Pending reads of users' rows, by user id. */
export type AskedUsers = ReadonlyMap<string, Promise<UserRow[]>>;

/** Bounded, because the organization's next transaction waits for the reads at the end of this one. */
const MAX_ASKED_LAST = 16;

/** Starts reading users at the end of the transaction; only the first of them if there are many. */
export function askForUsers(
  { kind, selectFrom, last }: Transactor,
  organizationId: string,
  users: readonly { userId: string }[],
): AskedUsers {
  const atTheEnd: Reader = { kind, selectFrom, all: last };
  const asked = users.slice(0, MAX_ASKED_LAST);
  return new Map(asked.map(({ userId }) => [userId, findUser(atTheEnd, { organizationId, userId })]));
}

/** The current state of a user, or undefined if there is none. `asked` are pending reads to use. */
export async function loadUser(
  reader: Reader,
  organizationId: string,
  userId: string,
  asked = findUser(reader, { organizationId, userId }),
): Promise<User | undefined> {
  const [row] = await asked;
  if (!row) return undefined;
  const cached = cache.get(userId);
  if (cached?.version === row.version) return cached.user;
  // What a transaction reads may never be committed, and the same version number may then mean something else.
  return isTransactor(reader) ? readUser(reader, row) : readOnce(reader, row);
}

/** All users of an organization, in the order of their creation. */
export async function loadUsers(reader: Reader, organizationId: string): Promise<User[]> {
  const rows = await findUsers(reader, { organizationId });
  const cached = (row: UserRow) => {
    const known = cache.get(row.id);
    return known?.version === row.version ? known.user : undefined;
  };
  const users = rows.map(cached);
  const unknown = rows.filter((_, index) => users[index] === undefined);
  const read = new Map<string, User | undefined>();
  for (let from = 0; from < unknown.length; from += TOGETHER) {
    if (isRoundLong()) await nextTurn();
    const some = unknown.slice(from, from + TOGETHER);
    const found = await readUsers(reader, organizationId, some);
    if (isTransactor(reader)) for (const user of found) read.set(user.userId, user);
    else await keepUnchanged(reader, organizationId, some, found, read);
  }
  const all = rows.map(({ id }, index) => users[index] ?? read.get(id));
  return all.filter((user) => user !== undefined);
}

/** Caches users whose version did not change while several statements read them: those reads are consistent. */
async function keepUnchanged(
  reader: Reader,
  organizationId: string,
  rows: readonly UserRow[],
  found: readonly User[],
  into: Map<string, User | undefined>,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  const versions = new Map((await findVersions(reader, organizationId, ids)).map(({ id, version }) => [id, version]));
  for (const [index, user] of found.entries()) {
    const { id, version } = rows[index] as UserRow;
    const isUnchanged = versions.get(id) === version;
    if (isUnchanged) cache.set(id, { version, user });
    into.set(id, isUnchanged ? user : await loadUser(reader, organizationId, id));
  }
}

function readOnce(reader: Reader, row: UserRow): Promise<User> {
  const { id, version } = row;
  const open = reading.get(id);
  if (open?.version === version) return open.user;
  const entry = { version, user: readAndRemember() };
  reading.set(id, entry);
  return entry.user;

  async function readAndRemember(): Promise<User> {
    try {
      const user = await readUser(reader, row);
      cache.set(id, { version, user });
      return user;
    } finally {
      if (reading.get(id) === entry) reading.delete(id);
    }
  }
}

async function readUser(reader: Reader, row: UserRow): Promise<User> {
  const [user] = await readUsers(reader, row.organization_id, [row]);
  return user as User;
}

/** Reads a batch of users. */
async function readUsers(reader: Reader, organizationId: string, rows: readonly UserRow[]): Promise<User[]> {
  const ids = rows.map(({ id }) => id);
  const haveMfa = rows.some((row) => row.mfa_policies > 0);
  const [apiKeys, authenticators, oauthProviders, tags, mfaPolicies] = await Promise.all([
    findApiKeys(reader, organizationId, ids).then(byUser),
    findAuthenticators(reader, organizationId, ids).then(byUser),
    findOauthProviders(reader, organizationId, ids).then(byUser),
    findTags(reader, organizationId, ids).then(byUser),
    haveMfa ? findMfaPolicies(reader, organizationId, ids).then(byUser) : undefined,
  ]);
  return rows.map((row) => ({
    userId: row.id,
    userName: row.name,
    ...(row.email === null ? {} : { userEmail: row.email }),
    ...(row.phone_number === null ? {} : { userPhoneNumber: row.phone_number }),
    authenticators: (authenticators.get(row.id) ?? []).sort(oldestFirst).map(renderAuthenticator),
    apiKeys: (apiKeys.get(row.id) ?? []).sort(oldestFirst).map(renderApiKey),
    userTags: (tags.get(row.id) ?? []).map(({ tag_id }) => tag_id).sort(),
    oauthProviders: (oauthProviders.get(row.id) ?? []).sort(oldestFirst).map(renderOauthProvider),
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    mfaPolicies: row.mfa_policies > 0 ? (mfaPolicies?.get(row.id) ?? []).map(renderMfaPolicy) : [],
  }));
}

const byUser = <Row extends { user_id: string }>(rows: readonly Row[]): Map<string, Row[]> =>
  Map.groupBy(rows, ({ user_id }) => user_id);

export const renderOauthProvider = (row: OauthProviderRow): OauthProvider => ({
  providerId: row.id,
  providerName: row.name,
  issuer: row.issuer,
  audience: row.audience,
  subject: row.subject,
  createdAt: timestampOf(row.created_at),
  updatedAt: timestampOf(row.updated_at),
});

const renderMfaPolicy = (row: MfaPolicyRow): MfaPolicy => ({
  mfaPolicyId: row.id,
  mfaPolicyName: row.name,
  condition: row.condition,
  requiredAuthenticationMethods: JSON.parse(row.required_methods) as MfaPolicy["requiredAuthenticationMethods"],
  order: row.position,
  ...(row.notes === null ? {} : { notes: row.notes }),
  createdAt: timestampOf(row.created_at),
  updatedAt: timestampOf(row.updated_at),
});

/** What is shown of a user who was deleted after voting. */
export const departedUser = (userId: string, userName: string, createdAt: number): User => ({
  userId,
  userName,
  authenticators: [],
  apiKeys: [],
  userTags: [],
  oauthProviders: [],
  createdAt: timestampOf(createdAt),
  updatedAt: timestampOf(createdAt),
  mfaPolicies: [],
});

export function renderApiKey(row: ApiKeyRow): ApiKey {
  return {
    credential: {
      publicKey: row.public_key,
      type: row.credential_type as CredentialType,
      ...(row.session_profile_id === null ? {} : { sessionProfileId: row.session_profile_id }),
    },
    apiKeyId: row.id,
    apiKeyName: row.name,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    ...(row.expiration_seconds === null ? {} : { expirationSeconds: String(row.expiration_seconds) }),
  };
}

export function renderAuthenticator(row: AuthenticatorRow): Authenticator {
  return {
    transports: JSON.parse(row.transports) as Authenticator["transports"],
    attestationType: row.attestation_type,
    aaguid: row.aaguid,
    credentialId: row.credential_id,
    model: "",
    credential: {
      publicKey: Buffer.from(row.public_key).toString("hex"),
      type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR",
    },
    authenticatorId: row.id,
    authenticatorName: row.name,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
  };
}
