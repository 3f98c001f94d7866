import type { Compilable, ExpressionBuilder } from "kysely";
import { USUAL_QUOTAS } from "../../authority/quotas.ts";
import {
  ALL,
  type AllowlistRule,
  contactAt,
  type Grade,
  interfaceAt,
  keyOf,
  type MfaPolicy,
  type PartKind,
  type PartRef,
  type Parts,
  providerAt,
  type Secret,
  type TagType,
} from "../../authority/state.ts";
import { type AuthorityView, type LoadedParts, Missing, viewOf, viewThrough } from "../../authority/view.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { isHeld } from "../../kernel/turns.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { oldestFirst } from "../paging.ts";
import { partsKnownTo } from "./known.ts";
import { findRootQuorum } from "./root-quorum.ts";
import { findQuotas } from "./stored-quotas.ts";

/** The state of authority, read from the tables part by part, as rules ask for it. */

/** Loads parts of one kind together; what is not there is left out of the answer, and then is `absent`. */
interface PartLoader<Kind extends PartKind> {
  absent: Parts[Kind];
  load: Load<Parts[Kind]>;
}

type Load<Part> = (read: Reader, organizationId: string, ids: readonly string[]) => Promise<Map<string, Part>>;

type Select<Row> = (
  db: Pick<Reader, "selectFrom">,
  organizationId: string,
  ids: readonly string[],
) => Compilable<Row> & { execute(): Promise<Row[]> };

/**
 * Loads by one statement. What it looks for is nearly always one of a kind, so that statement is built once; `soughtBy` says
 * what stands in the table for the name of a part.
 */
function byStatement<Row, Part>(
  select: Select<Row>,
  partsOf: (rows: readonly Row[]) => Map<string, Part>,
  soughtBy: (id: string) => string = (id) => id,
): Load<Part> {
  const selectOne = prepared<{ organizationId: string; id: string }>()(
    (db, { organizationId, id }): Compilable<Row> => select(db, organizationId, [id]),
  );
  return async (read, organizationId, ids) => {
    const sought = ids.map(soughtBy);
    const [id] = sought;
    const isOne = sought.length === 1 && id !== undefined;
    return partsOf(
      await (isOne ? selectOne(read, { organizationId, id }) : select(read, organizationId, sought).execute()),
    );
  };
}

const carriersIn = (table: "user_tag_members" | "private_key_tag_members") =>
  byStatement(
    (db, organizationId, tagIds) =>
      db
        .selectFrom(table)
        .select(["tag_id", "member_id"])
        .where("organization_id", "=", organizationId)
        .where("tag_id", "in", tagIds),
    membersBy("tag_id"),
  );
const userCarriers = carriersIn("user_tag_members");
const privateKeyCarriers = carriersIn("private_key_tag_members");

/** How many rows of a table the organization has. */
function countOf(table: "users" | "private_keys" | "wallets" | "secrets") {
  return {
    absent: 0,
    load: byStatement(
      (db, organizationId: string) =>
        db
          // One of several tables of one shape: what is asked of it is told by the type of the parameter.
          .selectFrom(table as "users")
          .select((eb) => eb.fn.countAll<number>().as("count"))
          .where("organization_id", "=", organizationId),
      (rows) => new Map(rows.map(({ count }) => [ALL, count])),
    ),
  };
}

const loaders: { [Kind in PartKind]: PartLoader<Kind> } = {
  tag: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db.selectFrom("tags").selectAll().where("organization_id", "=", organizationId).where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, type, name, created_at, updated_at }) => [
            id,
            { id, type, name, createdAt: created_at, updatedAt: updated_at },
          ]),
        ),
    ),
  },
  carriers: {
    absent: [],
    async load(read, organizationId, ids) {
      // A tag is of one type, so it has rows in one of the tables alone.
      const ofUsers = await userCarriers(read, organizationId, ids);
      return new Map([...ofUsers, ...(await privateKeyCarriers(read, organizationId, ids))]);
    },
  },
  tagCount: {
    absent: 0,
    load: byStatement(
      (db, organizationId, types) =>
        db
          .selectFrom("tags")
          .select((eb) => ["type", eb.fn.countAll<number>().as("count")])
          .where("organization_id", "=", organizationId)
          .where("type", "in", types as TagType[])
          .groupBy("type"),
      (rows) => new Map(rows.map(({ type, count }) => [type, count])),
    ),
  },
  apiKeyId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, publicKeys) =>
        db
          .selectFrom("api_keys")
          .select(["id", "public_key"])
          .where("organization_id", "=", organizationId)
          .where("public_key", "in", publicKeys),
      (rows) => new Map(rows.map(({ id, public_key }) => [public_key, id])),
    ),
  },
  sessionProfiles: {
    absent: [],
    load: byStatement(
      (db, organizationId) =>
        db.selectFrom("session_profiles").selectAll().where("organization_id", "=", organizationId).orderBy("id"),
      whole((row) => ({
        id: row.id,
        name: row.name,
        scope: row.scope,
        expirationSeconds: row.expiration_seconds,
        notes: row.notes,
        createdAt: row.created_at,
      })),
    ),
  },
  allowlist: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db.selectFrom("ip_allowlists").selectAll().where("organization_id", "=", organizationId).where("id", "in", ids),
      (rows) =>
        new Map(
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
        ),
    ),
  },
  openInvitations: {
    absent: [],
    load: byStatement(
      (db, organizationId) =>
        db
          .selectFrom("invitations")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("status", "=", "CREATED")
          .orderBy("id"),
      whole((row) => ({
        id: row.id,
        receiverName: row.receiver_name,
        receiverEmail: row.receiver_email,
        receiverTagIds: JSON.parse(row.receiver_tag_ids) as string[],
        accessType: row.access_type,
        senderUserId: row.sender_user_id,
        tokenHash: row.token_hash,
        expiresAt: row.expires_at,
      })),
    ),
  },
  interface: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("smart_contract_interfaces")
          .select(["id", "type", "lookup", "interface_bytes"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) => new Map(rows.map((row) => [row.id, { at: interfaceAt(row), bytes: row.interface_bytes }])),
    ),
  },
  interfaceId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, lookups) =>
        db
          .selectFrom("smart_contract_interfaces")
          .select(["id", "type", "lookup"])
          .where("organization_id", "=", organizationId)
          .where("lookup", "in", lookups),
      (rows) => new Map(rows.map((row) => [interfaceAt(row), row.id])),
      (place) => place.slice(place.indexOf(" ") + 1),
    ),
  },
  interfaceTotals: {
    absent: { count: 0, bytes: 0 },
    load: byStatement(
      (db, organizationId) =>
        db
          .selectFrom("smart_contract_interfaces")
          .select((eb) => [eb.fn.countAll<number>().as("count"), eb.fn.sum("interface_bytes").as("bytes")])
          .where("organization_id", "=", organizationId),
      (rows) => new Map(rows.map(({ count, bytes }) => [ALL, { count, bytes: Number(bytes) }])),
    ),
  },
  features: {
    absent: [],
    load: byStatement(
      (db, organizationId) =>
        db.selectFrom("organization_features").select(["name", "value"]).where("organization_id", "=", organizationId),
      (rows) => {
        const features = rows.map(({ name, value }) => ({ name, value }));
        return new Map([[ALL, features.sort((one, other) => (one.name < other.name ? -1 : 1))]]);
      },
    ),
  },
  policies: {
    absent: [],
    load: byStatement(
      (db, organizationId) =>
        db.selectFrom("policies").selectAll().where("organization_id", "=", organizationId).orderBy("id"),
      whole((row) => ({
        id: row.id,
        name: row.name,
        effect: row.effect,
        consensus: row.consensus,
        condition: row.condition,
        time: row.time,
        notes: row.notes,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      })),
    ),
  },
  user: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("users")
          .select(["id", "name", "email", "phone_number", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, email, phone_number: phoneNumber, created_at: createdAt, updated_at: updatedAt }) => [
            id,
            { id, name, email, phoneNumber, createdAt, updatedAt },
          ]),
        ),
    ),
  },
  userCount: countOf("users"),
  quotas: {
    absent: USUAL_QUOTAS,
    async load(read, organizationId) {
      return new Map([[ALL, await findQuotas(read, organizationId)]]);
    },
  },
  apiKeys: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("api_keys")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser((row) => ({
        id: row.id,
        name: row.name,
        type: row.credential_type,
        publicKey: row.public_key,
        sessionProfileId: row.session_profile_id,
        expirationSeconds: row.expiration_seconds,
        grade: row.grade as Grade | null,
        createdAt: row.created_at,
      })),
    ),
  },
  authenticators: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("authenticators")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser((row) => ({
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
      })),
    ),
  },
  authenticatorId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, credentialIds) =>
        db
          .selectFrom("authenticators")
          .select(["id", "credential_id"])
          .where("organization_id", "=", organizationId)
          .where("credential_id", "in", credentialIds),
      (rows) => new Map(rows.map(({ id, credential_id }) => [credential_id, id])),
    ),
  },
  oauthProviders: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("oauth_providers")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser(({ id, name, issuer, audience, subject, created_at: createdAt }) => ({
        id,
        name,
        issuer,
        audience,
        subject,
        createdAt,
      })),
    ),
  },
  mfaPolicies: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("mfa_policies")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds)
          .orderBy("position")
          .orderBy("id"),
      (rows) => {
        const groups = Map.groupBy(rows, ({ user_id }) => user_id);
        return new Map(
          [...groups].map(([userId, own]) => [
            userId,
            own.map((row) => ({
              id: row.id,
              name: row.name,
              condition: row.condition,
              requiredMethods: JSON.parse(row.required_methods) as MfaPolicy["requiredMethods"],
              order: row.position,
              notes: row.notes,
              createdAt: row.created_at,
              updatedAt: row.updated_at,
            })),
          ]),
        );
      },
    ),
  },
  oauthProviderId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, subjects) =>
        db
          .selectFrom("oauth_providers")
          .select(["id", "issuer", "audience", "subject"])
          .where("organization_id", "=", organizationId)
          .where("subject", "in", subjects),
      (rows) => new Map(rows.map((row) => [providerAt(row), row.id])),
      (place) => (JSON.parse(place) as string[])[2] as string,
    ),
  },
  verifiedContacts: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("verified_contacts")
          .select(["user_id", "type", "contact"])
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds)
          .orderBy("type"),
      (rows) => {
        const groups = Map.groupBy(rows, ({ user_id }) => user_id);
        return new Map(
          [...groups].map(([userId, own]) => [userId, own.map(({ type, contact: value }) => ({ type, value }))]),
        );
      },
    ),
  },
  contactHolder: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, contacts) =>
        db
          .selectFrom("verified_contacts")
          .select(["type", "contact", "user_id"])
          .where("root_id", "=", (row) => rootIdIn(row.selectFrom, organizationId))
          .where("contact", "in", contacts),
      (rows) => new Map(rows.map(({ type, contact, user_id }) => [contactAt({ type, value: contact }), user_id])),
      (place) => place.slice(place.indexOf(" ") + 1),
    ),
  },
  isBelowParent: {
    absent: false,
    load: byStatement(
      (db, organizationId) => db.selectFrom("organizations").select("parent_id").where("id", "=", organizationId),
      (rows) => new Map(rows.map(({ parent_id }) => [ALL, parent_id !== null])),
    ),
  },
  tagsOfUser: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("user_tag_members")
          .select(["tag_id", "member_id"])
          .where("organization_id", "=", organizationId)
          .where("member_id", "in", userIds),
      membersBy("member_id"),
    ),
  },
  rootQuorum: {
    absent: { threshold: 0, userIds: [] },
    async load(read, organizationId) {
      return new Map([[ALL, await findRootQuorum(read, organizationId)]]);
    },
  },
  privateKey: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("private_keys")
          .select(["id", "name", "curve", "imported", "exported", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, curve, imported, exported, created_at, updated_at }) => {
            const flags = { imported: imported === 1, exported: exported === 1 };
            return [id, { id, name, curve, ...flags, createdAt: created_at, updatedAt: updated_at }];
          }),
        ),
    ),
  },
  privateKeyCount: countOf("private_keys"),
  wallet: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("wallets")
          .select(["id", "name", "imported", "exported", "created_at", "updated_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, imported, exported, created_at, updated_at }) => {
            const flags = { imported: imported === 1, exported: exported === 1 };
            return [id, { id, name, ...flags, createdAt: created_at, updatedAt: updated_at }];
          }),
        ),
    ),
  },
  walletCount: countOf("wallets"),
  secret: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, ids) =>
        db
          .selectFrom("secrets")
          .select(["id", "name", "static_properties", "exported", "created_at"])
          .where("organization_id", "=", organizationId)
          .where("id", "in", ids),
      (rows) =>
        new Map(
          rows.map(({ id, name, static_properties, exported, created_at }) => {
            const staticProperties = JSON.parse(static_properties) as Secret["staticProperties"];
            return [id, { id, name, staticProperties, exported: exported === 1, createdAt: created_at }];
          }),
        ),
    ),
  },
  secretId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, names) =>
        db
          .selectFrom("secrets")
          .select(["id", "name"])
          .where("organization_id", "=", organizationId)
          .where("name", "in", names),
      (rows) => new Map(rows.map(({ id, name }) => [name as string, id])),
    ),
  },
  secretCount: countOf("secrets"),
  tagsOfPrivateKey: {
    absent: [],
    load: byStatement(
      (db, organizationId, keyIds) =>
        db
          .selectFrom("private_key_tag_members")
          .select(["tag_id", "member_id"])
          .where("organization_id", "=", organizationId)
          .where("member_id", "in", keyIds),
      membersBy("member_id"),
    ),
  },
};

/** The parent of an organization, or itself where it has none. */
const rootIdIn = (selectFrom: ExpressionBuilder<Schema, "verified_contacts">["selectFrom"], organizationId: string) =>
  selectFrom("organizations as o")
    .select((row) => row.fn.coalesce("o.parent_id", "o.id").as("root_id"))
    .where("o.id", "=", organizationId);

/** Rows as the one part of a kind that is kept whole. */
function whole<Row, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => new Map([[ALL, rows.map(shown)]]);
}

/** What rows are about, by user, the oldest first. */
function byUser<Row extends { user_id: string; created_at: number; id: string }, Value>(shown: (row: Row) => Value) {
  return (rows: readonly Row[]): Map<string, Value[]> => {
    const groups = Map.groupBy([...rows].sort(oldestFirst), ({ user_id }) => user_id);
    return new Map([...groups].map(([userId, own]) => [userId, own.map(shown)]));
  };
}

/** Who carries which tag: the ids of one side by those of the other, sorted. */
function membersBy(of: "tag_id" | "member_id") {
  const other = of === "tag_id" ? "member_id" : "tag_id";
  return (rows: readonly { tag_id: string; member_id: string }[]): Map<string, string[]> => {
    const groups = Map.groupBy(rows, (row) => row[of]);
    return new Map([...groups].map(([id, members]) => [id, members.map((row) => row[other]).sort()]));
  };
}

/** Parts that an organization shares with others: with its parent and all that are below that, and the quotas with all. */
const SHARED: ReadonlySet<PartKind> = new Set(["contactHolder", "quotas"]);

/** The state of an organization that is about to be made: nothing is in it, but for what it shares with others. */
const emptyState = (organizationId: string, shared: AuthorityView): AuthorityView =>
  viewThrough(organizationId, (refs) => {
    const asked = refs.filter(({ kind }) => SHARED.has(kind));
    // All of a kind together, so that they are loaded together.
    for (const [kind, some] of Map.groupBy(asked, (ref) => ref.kind))
      shared.parts(
        kind,
        some.map(({ id }) => id),
      );
    return refs.map(({ kind, id }) => (SHARED.has(kind) ? shared.part(kind, id) : loaders[kind].absent));
  });

/** Runs `rules` on the state of an organization that is being made and has its row already. */
export const onNewAuthority = <T>(
  read: Reader,
  organizationId: string,
  rules: (view: AuthorityView) => T,
): Promise<T> => onAuthority(read, organizationId, (view) => rules(emptyState(organizationId, view)));

/** Rules ask for a few kinds of parts one after another; more rounds than this are a fault of theirs. */
const MAX_ROUNDS = 50;

/**
 * Runs `rules` on the organization's state, loading what they ask for and the transaction does not know. They may be run several times.
 * `viewOn` is for what lies in another organization, as a parent's session profiles do.
 */
export async function onAuthority<T>(
  read: Reader,
  organizationId: string,
  rules: (view: AuthorityView, viewOn: (organizationId: string) => AuthorityView) => T,
): Promise<T> {
  const loaded = partsKnownTo(read);
  const loadedOf = (id: string): LoadedParts => {
    const parts = loaded.get(id) ?? new Map();
    loaded.set(id, parts);
    return parts;
  };
  const viewOn = (id: string) => viewOf(id, loadedOf(id));
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      return rules(viewOn(organizationId), viewOn);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      await loadInto(loadedOf(error.organizationId), read, error.organizationId, error.parts);
      // Before a transaction's functions the rules of all of them are at it together.
      if (isHeld()) await nextTurn();
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
  const load = async (kind: PartKind, some: readonly PartRef[]) => {
    const loader = loaders[kind] as PartLoader<PartKind>;
    const found = await loader.load(
      read,
      organizationId,
      some.map(({ id }) => id),
    );
    for (const ref of some) loaded.set(keyOf(ref), found.has(ref.id) ? found.get(ref.id) : loader.absent);
  };
  await Promise.all([...Map.groupBy(refs, (ref) => ref.kind)].map(([kind, some]) => load(kind, some)));
}
