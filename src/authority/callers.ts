import { fail } from "../kernel/errors.ts";
import type { Actor } from "./parties.ts";

/** Who may call an operation at all, checked before any decision on what it would do. */

/** The organizations that an operation is for, if not for all. */
export type OnlyFor = "parents" | "subOrganizations";

/** What an operation declares about its callers. */
export interface CalledOperation {
  kind: "query" | "activity" | "vote";
  path: string;
  only?: OnlyFor;
  /** True if users of the parent may submit it for a sub-organization. */
  byParents?: true;
  /** The only credential type that may submit it. */
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

/** Whether it is the actor's own organization. A parent's users may read its sub-organizations, but only a sub-organization's own users act in it. */
export const isOwnOrganization = ({ id }: Pick<CalledIn, "id">, { organizationId }: Actor): boolean =>
  organizationId === id;

/** Whether a user of the parent submits an operation for a sub-organization that allows that. */
export const isByParent = ({ kind, byParents }: CalledOperation, { organization, actor }: Caller): boolean =>
  kind === "activity" && byParents === true && !isOwnOrganization(organization, actor);

/**
 * Enforces `stampedWith`: a credential type that exists for certain activities stamps only those and queries, and those activities accept no
 * other type.
 *
 * @param narrowTypes all credential types that exist for certain activities only
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
 * Enforces `OnlyFor`: some operations are only for parents or only for sub-organizations. What counts is the user's own organization.
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

/** @throws KeysteadError ORGANIZATION_MISMATCH if a user would act in an organization that is not their own */
export function refuseOtherOrganization({ organization, actor }: Caller): void {
  if (isOwnOrganization(organization, actor)) return;
  fail("ORGANIZATION_MISMATCH", { organizationId: organization.id, voterOrganizationId: actor.organizationId });
}
