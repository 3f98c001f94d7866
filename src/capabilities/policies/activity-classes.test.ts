import assert from "node:assert/strict";
import { it } from "node:test";
import { activityClass } from "../../policy/activities.ts";
import { operations } from "../index.ts";

it("operations tell policies the resource and action that the language has for their type", () => {
  let compared = 0;
  for (const operation of operations) {
    if (operation.kind !== "activity" || operation.isExtension) continue;
    const subject = operation.subject({});
    for (const type of operation.versions.keys()) {
      const known = activityClass(type);
      if (subject.governedBy === "policies") {
        assert.deepEqual([subject.resource, subject.action], known && [known.resource, known.action], type);
        compared++;
      } else if (known) {
        // The language has a name for it, though only the root quorum decides.
        assert.deepEqual([subject.governedBy, subject.action], ["rootQuorum", known.action], type);
      }
    }
  }
  assert.ok(compared > 30);
});
