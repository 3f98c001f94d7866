import { fail } from "../../kernel/errors.ts";
import { ALL } from "../state.ts";
import type { Draft } from "../view.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND if it is not on */
export function removeFeature(draft: Draft, name: string): void {
  const { organizationId } = draft;
  const isOn = draft.part("features", ALL).some((feature) => feature.name === name);
  if (!isOn) fail("RESOURCE_NOT_FOUND", { kind: "feature", id: name, organizationId });
  draft.apply({ do: "removeFeature", name });
}
