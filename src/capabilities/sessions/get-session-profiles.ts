import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { SessionProfile } from "./model.ts";
import { findSessionProfiles } from "./store.ts";

export const getSessionProfiles = query({
  path: "get_session_profiles",
  summary: "List the session profiles of the organization or its parent.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ sessionProfiles: Type.Array(SessionProfile) }),
  async run({ read, organization }) {
    return { sessionProfiles: await findSessionProfiles(read, organization) };
  },
});
