import type { MfaPolicy } from "../../../authority/state.ts";
import { byStatement, byUserInOrder, type Loaders, whole } from "./loaders.ts";

export const policyLoaders = {
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
      byUserInOrder((row) => ({
        id: row.id,
        name: row.name,
        condition: row.condition,
        requiredMethods: JSON.parse(row.required_methods) as MfaPolicy["requiredMethods"],
        order: row.position,
        notes: row.notes,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      })),
    ),
  },
} satisfies Partial<Loaders>;
