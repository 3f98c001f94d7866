import { operations } from "../capabilities/index.ts";
import { type Traced, traceAuthority } from "../engine/authority/provenance/trace.ts";
import type { Reader } from "../storage/engine.ts";
import { requireOrganization } from "./operators/operator.ts";

/** The output of `keystead verify-authority`. */
export interface VerifiedAuthority extends Omit<Traced, "archivedBefore"> {
  organizationId?: string;
  /** RFC 3339; activities that ended before may be in archives. Null if none was archived. */
  archivedBefore: string | null;
}

/**
 * Finds rows that determine who may do what and that no activity explains.
 *
 * @param organizationId checks this organization and those below it; all if undefined
 * @throws StartProblem if there is no such organization
 */
export async function verifyAuthority(read: Reader, organizationId: string | undefined): Promise<VerifiedAuthority> {
  if (organizationId !== undefined) await requireOrganization(read, organizationId);
  const database = {
    kind: read.kind,
    all: <Row>(sql: string, parameters: readonly unknown[] = []) => read.all<Row>({ sql, parameters }),
  };
  const { archivedBefore, ...traced } = (await traceAuthority({ database, operations, organizationId })) as Traced;
  return {
    ...(organizationId === undefined ? {} : { organizationId }),
    ...traced,
    archivedBefore: archivedBefore === 0 ? null : new Date(archivedBefore).toISOString(),
  };
}
