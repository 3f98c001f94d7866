import { fail } from "../kernel/errors.ts";
import type { Actor } from "./parties.ts";

/** Who may call an operation at all, before anything is decided on what it would do. */

/** Which organizations an operation is for, where it is not for all. */
export type OnlyFor = "parents" | "subOrganizations";

/** What an operation says of its callers. */
export interface CalledOperation {
  kind: "query" | "activity" | "vote";
  path: string;
  only?: OnlyFor;
  /** Users of the parent may have it done in a sub-organization. */
  byParents?: true;
  /** The type of credential that is made for it: no other one serves. */
  stampedWith?: string;
}

export interface Caller {
  organization: CalledIn;
  actor: Actor;
}

interface CalledIn {
  id: string;
  parentId: string | null;
}

/** Whether it is the actor's own organization. A parent's users may read its sub-organizations; acting in one takes a user of its own. */
export const isOwnOrganization = ({ id }: Pick<CalledIn, "id">, { organizationId }: Actor): boolean =>
  organizationId === id;

/** Whether a user of the parent has something done in a sub-organization, where the operation is for that. */
export const isByParent = ({ kind, byParents }: CalledOperation, { organization, actor }: Caller): boolean =>
  kind === "activity" && byParents === true && !isOwnOrganization(organization, actor);

/**
 * A credential that is made for certain activities stamps nothing else but queries, and they take no other.
 *
 * @param narrowTypes all types of credential that are made for certain activities
 * @throws KeysteadError CREDENTIAL_TYPE_UNFIT
 */
export function refuseUnfitType(
  { kind, path, stampedWith }: CalledOperation,
  { type }: Actor["credential"],
  narrowTypes: ReadonlySet<string>,
): void {
  if (kind === "query") return;
  if (type === stampedWith || (stampedWith === undefined && !narrowTypes.has(type))) return;
  fail("CREDENTIAL_TYPE_UNFIT", { type, path });
}

/**
 * Some operations are for parents or for sub-organizations alone. A parent's user is one wherever it is to be done.
 *
 * @throws KeysteadError INVALID_CALLER
 */
export function refuseOtherKind(operation: CalledOperation, caller: Caller): void {
  const { only, path } = operation;
  if (only === undefined) return;
  const { id: organizationId, parentId } = caller.organization;
  const isParent = parentId === null || isByParent(operation, caller);
  if (isParent === (only === "parents")) return;
  const [whom, what] = isParent
    ? ["for sub-organizations alone", "a parent"]
    : ["for parent organizations alone", "a sub-organization"];
  fail("INVALID_CALLER", { path, whom, what, organizationId });
}

/** @throws KeysteadError ORGANIZATION_MISMATCH for whoever would act in an organization that is not their own */
export function refuseOtherOrganization({ organization, actor }: Caller): void {
  if (isOwnOrganization(organization, actor)) return;
  fail("ORGANIZATION_MISMATCH", { organizationId: organization.id, voterOrganizationId: actor.organizationId });
}
