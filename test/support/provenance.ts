import assert from "node:assert/strict";
import { it } from "node:test";
import { operations } from "../../src/capabilities/index.ts";
import { type Traced, type Tracing, traceAuthority } from "../../src/engine/authority/provenance/trace.ts";
import { openInspection } from "../../src/storage/inspection.ts";

/** What `keystead verify-authority` finds in a database. */
export async function traceDatabase(
  databaseUrl: string,
  options: Pick<Tracing, "organizationId"> = {},
): Promise<Traced> {
  const inspection = await openInspection(databaseUrl);
  try {
    return (await traceAuthority({ database: inspection, operations, ...options })) as Traced;
  } finally {
    await inspection.close();
  }
}

/** At the end of what a server was asked: whoever runs it is told of nothing by `keystead doctor`. */
export function leavesAccounts(server: () => { databaseUrl: string }): void {
  it("leaves no row of authority that activities do not account for", async () => {
    const { unaccounted, unknown } = await traceDatabase(server().databaseUrl);
    assert.deepEqual([unaccounted, unknown], [[], []]);
  });
}
