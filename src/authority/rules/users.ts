import type { AuthorityView } from "../view.ts";
import { refuseUnknown } from "./unknown.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first user that the organization does not have */
export function requireUsers(view: AuthorityView, userIds: readonly string[]): void {
  const known = view.parts("user", userIds);
  refuseUnknown(view, userIds, (index) => known[index] === true, "user");
}
