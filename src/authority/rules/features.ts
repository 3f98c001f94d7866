import { fail } from "../../kernel/errors.ts";
import { ALL } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";

/** @throws KeysteadError FEATURE_OFF */
export function requireFeature(view: AuthorityView, name: string): void {
  if (!isOn(view, name)) fail("FEATURE_OFF", { name, organizationId: view.organizationId });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND if it is not on */
export function removeFeature(draft: Draft, name: string): void {
  const { organizationId } = draft;
  if (!isOn(draft, name)) fail("RESOURCE_NOT_FOUND", { kind: "feature", id: name, organizationId });
  draft.apply({ do: "removeFeature", name });
}

const isOn = (view: AuthorityView, name: string): boolean =>
  view.part("features", ALL).some((feature) => feature.name === name);
