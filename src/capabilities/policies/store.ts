import { sql } from "kysely";
import { timestampOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Policy } from "./model.ts";

/** The stored size of the texts of all policies of an organization, in bytes. */
export async function bytesOfPolicies(read: Reader, organizationId: string): Promise<number> {
  const texts = sql<number>`sum(octet_length(condition) + octet_length(consensus) + octet_length(notes)
    + coalesce(octet_length(time), 0))`;
  const rows = read.selectFrom("policies").select(texts.as("bytes")).where("organization_id", "=", organizationId);
  return Number((await rows.executeTakeFirst())?.bytes ?? 0);
}

/** All policies of the organization, or only the one with this id. */
export async function findPolicies(read: Reader, organizationId: string, id?: string): Promise<Policy[]> {
  const rows = await read
    .selectFrom("policies")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (policies) => policies.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    policyId: row.id,
    policyName: row.name,
    effect: row.effect,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    notes: row.notes,
    consensus: row.consensus,
    condition: row.condition,
    ...(row.time === null ? {} : { time: row.time }),
  }));
}
