import { capability } from "../../engine/capability.ts";
import { createSessionProfile } from "./create-session-profile.ts";
import { getSessionProfile } from "./get-session-profile.ts";
import { getSessionProfiles } from "./get-session-profiles.ts";

export const sessions = capability({
  title: "Session profiles",
  operations: [createSessionProfile, getSessionProfile, getSessionProfiles],
  erases: ["session_profiles"],
});
