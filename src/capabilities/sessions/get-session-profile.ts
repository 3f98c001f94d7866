import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { SessionProfile } from "./model.ts";
import { findSessionProfiles } from "./store.ts";

export const getSessionProfile = query({
  path: "get_session_profile",
  summary: "Get a session profile of the organization or its parent.",
  request: Type.Object({ organizationId: Id, sessionProfileId: Id }),
  response: Type.Object({ sessionProfile: SessionProfile }),
  async run({ request: { sessionProfileId: id }, read, organization }) {
    const [sessionProfile] = await findSessionProfiles(read, organization, id);
    if (!sessionProfile) fail("RESOURCE_NOT_FOUND", { kind: "session profile", id, organizationId: organization.id });
    return { sessionProfile };
  },
});
