import { fail } from "../../kernel/errors.ts";
import type { AuthorityView } from "../view.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first id that does not exist; `kind` is the name of what it identifies */
export function refuseUnknown(
  { organizationId }: AuthorityView,
  ids: readonly string[],
  isKnown: (index: number) => boolean,
  kind: string,
): void {
  const unknown = ids.find((_, index) => !isKnown(index));
  if (unknown !== undefined) fail("RESOURCE_NOT_FOUND", { kind, id: unknown, organizationId });
}
