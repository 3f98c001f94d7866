import {
  ALL,
  type AllowlistRule,
  type Grade,
  interfaceAt,
  keyOf,
  type PartKind,
  type PartRef,
  type Parts,
  providerAt,
} from "../../authority/state.ts";
import { type AuthorityView, type LoadedParts, Missing, viewOf, viewThrough } from "../../authority/view.ts";
import type { Reader } from "../../storage/engine.ts";
import { findRootQuorum } from "../decisions/root-quorum.ts";
import { oldestFirst } from "../paging.ts";

/** The state of authority, read from the tables part by part, as rules ask for it. */

/** Loads parts of one kind together; what is not there is left out of the answer, and then is `absent`. */
interface PartLoader<Kind extends PartKind> {
  absent: Parts[Kind];
  load(read: Reader, organizationId: string, ids: readonly string[]): Promise<Map<string, Parts[Kind]>>;
}

const loaders: { [Kind in PartKind]: PartLoader<Kind> } = {
  tag: {
    absent: undefined,
    async load(read, organizationId, ids) {
      const rows = await read
        .selectFrom("tags")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids])
        .execute();
      return new Map(
        rows.map(({ id, type, name, created_at, updated_at }) => [
          id,
          { id, type, name, createdAt: created_at, updatedAt: updated_at },
        ]),
      );
    },
  },
  carriers: {
    absent: [],
    async load(read, organizationId, ids) {
      const carriersIn = (table: "user_tag_members" | "private_key_tag_members") =>
        read
          .selectFrom(table)
          .select(["tag_id", "member_id"])
          .where("organization_id", "=", organizationId)
          .where("tag_id", "in", [...ids])
          .execute();
      // A tag is of one type, so it has rows in one of the tables alone.
      const rows = [...(await carriersIn("user_tag_members")), ...(await carriersIn("private_key_tag_members"))];
      const byTag = Map.groupBy(rows, ({ tag_id }) => tag_id);
      return new Map([...byTag].map(([id, members]) => [id, members.map(({ member_id }) => member_id).sort()]));
    },
  },
  tagCount: {
    absent: 0,
    async load(read, organizationId, types) {
      const rows = await read
        .selectFrom("tags")
        .select((eb) => ["type", eb.fn.countAll<number>().as("count")])
        .where("organization_id", "=", organizationId)
        .where("type", "in", [...types] as "TAG_TYPE_USER"[])
        .groupBy("type")
        .execute();
      return new Map(rows.map(({ type, count }) => [type, count]));
    },
  },
  apiKeyId: {
    absent: undefined,
    async load(read, organizationId, publicKeys) {
      const rows = await read
        .selectFrom("api_keys")
        .select(["id", "public_key"])
        .where("organization_id", "=", organizationId)
        .where("public_key", "in", [...publicKeys])
        .execute();
      return new Map(rows.map(({ id, public_key }) => [public_key, id]));
    },
  },
  sessionProfiles: {
    absent: [],
    async load(read, organizationId) {
      const rows = await read
        .selectFrom("session_profiles")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .orderBy("id")
        .execute();
      const profiles = rows.map((row) => ({
        id: row.id,
        name: row.name,
        scope: row.scope,
        expirationSeconds: row.expiration_seconds,
        notes: row.notes,
        createdAt: row.created_at,
      }));
      return new Map([[ALL, profiles]]);
    },
  },
  allowlist: {
    absent: undefined,
    async load(read, organizationId, ids) {
      const rows = await read
        .selectFrom("ip_allowlists")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids])
        .execute();
      return new Map(
        rows.map((row) => [
          row.id,
          {
            id: row.id,
            apiKeyId: row.api_key_id,
            enabled: row.enabled === 1,
            onEvaluationError: row.on_evaluation_error,
            rules: JSON.parse(row.rules) as AllowlistRule[],
          },
        ]),
      );
    },
  },
  openInvitations: {
    absent: [],
    async load(read, organizationId) {
      const rows = await read
        .selectFrom("invitations")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("status", "=", "CREATED")
        .orderBy("id")
        .execute();
      const open = rows.map((row) => ({
        id: row.id,
        receiverName: row.receiver_name,
        receiverEmail: row.receiver_email,
        receiverTagIds: JSON.parse(row.receiver_tag_ids) as string[],
        accessType: row.access_type,
        senderUserId: row.sender_user_id,
      }));
      return new Map([[ALL, open]]);
    },
  },
  interface: {
    absent: undefined,
    async load(read, organizationId, ids) {
      const rows = await read
        .selectFrom("smart_contract_interfaces")
        .select(["id", "type", "lookup", "interface_bytes"])
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids])
        .execute();
      return new Map(rows.map((row) => [row.id, { at: interfaceAt(row), bytes: row.interface_bytes }]));
    },
  },
  interfaceId: {
    absent: undefined,
    async load(read, organizationId, places) {
      const rows = await read
        .selectFrom("smart_contract_interfaces")
        .select(["id", "type", "lookup"])
        .where("organization_id", "=", organizationId)
        .where(
          "lookup",
          "in",
          places.map((place) => place.slice(place.indexOf(" ") + 1)),
        )
        .execute();
      return new Map(rows.map((row) => [interfaceAt(row), row.id]));
    },
  },
  interfaceTotals: {
    absent: { count: 0, bytes: 0 },
    async load(read, organizationId) {
      const { count, bytes } = await read
        .selectFrom("smart_contract_interfaces")
        .select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.sum("interface_bytes").as("bytes")])
        .where("organization_id", "=", organizationId)
        .executeTakeFirstOrThrow();
      return new Map([[ALL, { count, bytes: Number(bytes) }]]);
    },
  },
  features: {
    absent: [],
    async load(read, organizationId) {
      const rows = await read
        .selectFrom("organization_features")
        .select(["name", "value"])
        .where("organization_id", "=", organizationId)
        .execute();
      const features = rows.map(({ name, value }) => ({ name, value }));
      return new Map([[ALL, features.sort((one, other) => (one.name < other.name ? -1 : 1))]]);
    },
  },
  user: {
    absent: undefined,
    async load(read, organizationId, ids) {
      const rows = await read
        .selectFrom("users")
        .select(["id", "name", "email", "phone_number", "created_at", "updated_at"])
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids])
        .execute();
      return new Map(
        rows.map(({ id, name, email, phone_number: phoneNumber, created_at: createdAt, updated_at: updatedAt }) => [
          id,
          { id, name, email, phoneNumber, createdAt, updatedAt },
        ]),
      );
    },
  },
  userCount: {
    absent: 0,
    async load(read, organizationId) {
      const { count } = await read
        .selectFrom("users")
        .select((eb) => eb.fn.countAll<number>().as("count"))
        .where("organization_id", "=", organizationId)
        .executeTakeFirstOrThrow();
      return new Map([[ALL, count]]);
    },
  },
  apiKeys: {
    absent: [],
    async load(read, organizationId, userIds) {
      const rows = await read
        .selectFrom("api_keys")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("user_id", "in", [...userIds])
        .execute();
      return byUser(rows, (row) => ({
        id: row.id,
        name: row.name,
        type: row.credential_type,
        publicKey: row.public_key,
        sessionProfileId: row.session_profile_id,
        expirationSeconds: row.expiration_seconds,
        grade: row.grade as Grade | null,
        createdAt: row.created_at,
      }));
    },
  },
  authenticators: {
    absent: [],
    async load(read, organizationId, userIds) {
      const rows = await read
        .selectFrom("authenticators")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("user_id", "in", [...userIds])
        .execute();
      return byUser(rows, (row) => ({
        id: row.id,
        name: row.name,
        credentialId: row.credential_id,
        publicKey: row.public_key,
        aaguid: row.aaguid,
        attestationType: row.attestation_type,
        transports: JSON.parse(row.transports) as string[],
        rpIdHash: row.rp_id_hash,
        origin: row.origin,
        createdAt: row.created_at,
      }));
    },
  },
  authenticatorId: {
    absent: undefined,
    async load(read, organizationId, credentialIds) {
      const rows = await read
        .selectFrom("authenticators")
        .select(["id", "credential_id"])
        .where("organization_id", "=", organizationId)
        .where("credential_id", "in", [...credentialIds])
        .execute();
      return new Map(rows.map(({ id, credential_id }) => [credential_id, id]));
    },
  },
  oauthProviders: {
    absent: [],
    async load(read, organizationId, userIds) {
      const rows = await read
        .selectFrom("oauth_providers")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("user_id", "in", [...userIds])
        .execute();
      return byUser(rows, ({ id, name, issuer, audience, subject, created_at: createdAt }) => ({
        id,
        name,
        issuer,
        audience,
        subject,
        createdAt,
      }));
    },
  },
  oauthProviderId: {
    absent: undefined,
    async load(read, organizationId, places) {
      const subjects = places.map((place) => (JSON.parse(place) as string[])[2] as string);
      const rows = await read
        .selectFrom("oauth_providers")
        .select(["id", "issuer", "audience", "subject"])
        .where("organization_id", "=", organizationId)
        .where("subject", "in", subjects)
        .execute();
      return new Map(rows.map((row) => [providerAt(row), row.id]));
    },
  },
  tagsOfUser: {
    absent: [],
    async load(read, organizationId, userIds) {
      const rows = await read
        .selectFrom("user_tag_members")
        .select(["tag_id", "member_id"])
        .where("organization_id", "=", organizationId)
        .where("member_id", "in", [...userIds])
        .execute();
      const byMember = Map.groupBy(rows, ({ member_id }) => member_id);
      return new Map([...byMember].map(([id, tags]) => [id, tags.map(({ tag_id }) => tag_id).sort()]));
    },
  },
  rootQuorum: {
    absent: { threshold: 0, userIds: [] },
    async load(read, organizationId) {
      return new Map([[ALL, await findRootQuorum(read, organizationId)]]);
    },
  },
  privateKey: {
    absent: false,
    async load(read, organizationId, ids) {
      const rows = await read
        .selectFrom("private_keys")
        .select("id")
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids])
        .execute();
      return new Map(rows.map(({ id }) => [id, true]));
    },
  },
};

/** What the rows are about, by user, the oldest first. */
function byUser<Row extends { user_id: string; created_at: number; id: string }, Value>(
  rows: readonly Row[],
  shown: (row: Row) => Value,
): Map<string, Value[]> {
  const groups = Map.groupBy([...rows].sort(oldestFirst), ({ user_id }) => user_id);
  return new Map([...groups].map(([userId, own]) => [userId, own.map(shown)]));
}

/** The state of an organization that is about to be made: nothing is in it. */
export const emptyState = (organizationId: string): AuthorityView =>
  viewThrough(organizationId, (refs) => refs.map(({ kind }) => loaders[kind].absent));

/** Rules ask for at most a few kinds of parts one after another; more rounds than this are a fault of theirs. */
const MAX_ROUNDS = 1000;

/** Runs `rules` on the organization's state, loading what they ask for. They may be run several times. */
export async function onAuthority<T>(
  read: Reader,
  organizationId: string,
  rules: (view: AuthorityView) => T,
): Promise<T> {
  const loaded: LoadedParts = new Map();
  const view = viewOf(organizationId, loaded);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      return rules(view);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      await loadInto(loaded, read, organizationId, error.parts);
    }
  }
  throw new Error(`rules on organization ${organizationId} asked for more than ${MAX_ROUNDS} rounds of parts`);
}

/** Reads parts of the state as it is now, into `loaded`. */
export async function loadInto(
  loaded: LoadedParts,
  read: Reader,
  organizationId: string,
  refs: readonly PartRef[],
): Promise<void> {
  for (const [kind, some] of Map.groupBy(refs, (ref) => ref.kind)) {
    const loader = loaders[kind] as PartLoader<PartKind>;
    const found = await loader.load(
      read,
      organizationId,
      some.map(({ id }) => id),
    );
    for (const ref of some) loaded.set(keyOf(ref), found.has(ref.id) ? found.get(ref.id) : loader.absent);
  }
}
