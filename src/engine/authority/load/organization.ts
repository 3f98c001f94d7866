import { USUAL_QUOTAS } from "../../../authority/quotas.ts";
import { ALL, type AllowlistRule, interfaceAt } from "../../../authority/state.ts";
import { findRootQuorum } from "../root-quorum.ts";
import { findQuotas } from "../stored-quotas.ts";
import { byId, byStatement, type Loaders, whole } from "./loaders.ts";

/** Loaders of an organization's settings and invitations. */
export const organizationLoaders = {
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
      byId((row) => ({
        id: row.id,
        apiKeyId: row.api_key_id,
        enabled: row.enabled === 1,
        onEvaluationError: row.on_evaluation_error,
        rules: JSON.parse(row.rules) as AllowlistRule[],
      })),
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
      byId((row) => ({ at: interfaceAt(row), bytes: row.interface_bytes })),
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
  rootQuorum: {
    absent: { threshold: 0, userIds: [] },
    async load(read, organizationId) {
      return new Map([[ALL, await findRootQuorum(read, organizationId)]]);
    },
  },
  quotas: {
    absent: USUAL_QUOTAS,
    async load(read, organizationId) {
      return new Map([[ALL, await findQuotas(read, organizationId)]]);
    },
  },
} satisfies Partial<Loaders>;
