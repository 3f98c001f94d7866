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
