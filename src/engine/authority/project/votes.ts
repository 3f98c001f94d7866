import type { Transactor } from "../../../storage/engine.ts";

/** Records what was deleted. `engine/identity/revocations.ts` compares votes with it. */
export async function takeVotesBack(
  tx: Transactor,
  organizationId: string,
  gone: readonly { id: string }[],
  now: number,
): Promise<void> {
  const rows = gone.map(({ id }) => ({ organization_id: organizationId, id, revoked_at: now }));
  await tx
    .insertInto("revocations")
    .values(rows)
    .onConflict((conflict) => conflict.columns(["organization_id", "id"]).doUpdateSet({ revoked_at: now }))
    .execute();
}
