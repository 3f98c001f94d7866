import { capability } from "../../engine/capability.ts";
import { sessionKey } from "../../engine/keys/session-tokens.ts";
import { createReadOnlySession } from "./create-read-only-session.ts";
import { createReadWriteSession } from "./create-read-write-session.ts";
import { createSessionProfile } from "./create-session-profile.ts";
import { getSessionProfile } from "./get-session-profile.ts";
import { getSessionProfiles } from "./get-session-profiles.ts";
import { stampLogin } from "./stamp-login.ts";

export const sessions = capability({
  title: "Sessions",
  operations: [
    stampLogin,
    createReadWriteSession,
    createReadOnlySession,
    createSessionProfile,
    getSessionProfile,
    getSessionProfiles,
  ],
  serviceKeys: [sessionKey],
  erases: ["session_profiles"],
});
