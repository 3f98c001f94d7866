import { createSessionProfile } from "./create-session-profile.ts";
import { getSessionProfile } from "./get-session-profile.ts";
import { getSessionProfiles } from "./get-session-profiles.ts";

export const sessions = [createSessionProfile, getSessionProfile, getSessionProfiles];
