import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";

export const whoami = query({
  path: "whoami",
  summary: "Get the user and organization that the stamp belongs to.",
  findsSubOrganization: true,
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({
    organizationId: Type.String(),
    organizationName: Type.String(),
    userId: Type.String(),
    username: Type.String(),
  }),
  async run({ organization, actor }) {
    return {
      organizationId: organization.id,
      organizationName: organization.name,
      userId: actor.userId,
      username: actor.userName,
    };
  },
});
