import { fail } from "../../kernel/errors.ts";
import { MAX_SESSION_PROFILES } from "../../kernel/limits.ts";
import { ONLY_ELSEWHERE, refuseExcess } from "../quotas.ts";
import { ALL, type SessionProfile } from "../state.ts";
import type { Draft } from "../view.ts";

/** @throws KeysteadError RESOURCE_EXISTS if the name is taken, or QUOTA_EXCEEDED */
export function addSessionProfile(draft: Draft, profile: SessionProfile): void {
  const profiles = draft.part("sessionProfiles", ALL);
  if (profiles.some(({ name }) => name === profile.name)) {
    const field = "parameters.sessionProfileName";
    fail("RESOURCE_EXISTS", { kind: "session profile", field, reason: "is the name of another profile" });
  }
  refuseExcess(profiles.length + 1, { kind: "session profiles", limit: MAX_SESSION_PROFILES, remedy: ONLY_ELSEWHERE });
  draft.apply({ do: "addSessionProfile", profile });
}
