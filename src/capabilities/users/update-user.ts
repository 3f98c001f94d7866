import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Email, Id, Ids, Label, PhoneNumber, Strict } from "../../engine/fields.ts";
import { replaceTags, userTags } from "../tags/store.ts";
import { changeUser, type UserChange } from "./store.ts";

export const updateUser = activity({
  path: "update_user",
  summary: "Change a user's name, email, phone number or tags; what is not given stays.",
  intent: Strict({
    userId: Id,
    userName: Type.Optional(Label),
    userEmail: Type.Optional(Email),
    userTagIds: Type.Optional(Ids),
    userPhoneNumber: Type.Optional(PhoneNumber),
  }),
  result: Type.Object({ userId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  async run({ intent: { userId, userName, userEmail, userTagIds, userPhoneNumber }, tx, organization, now }) {
    const change: UserChange = {
      ...(userName === undefined ? {} : { name: userName }),
      ...(userEmail === undefined ? {} : { email: userEmail }),
      ...(userPhoneNumber === undefined ? {} : { phone_number: userPhoneNumber }),
    };
    await changeUser(tx, organization.id, userId, now, change);
    if (userTagIds !== undefined) {
      await replaceTags({ tx, organizationId: organization.id, kind: userTags }, userId, userTagIds);
    }
    return { userId };
  },
});
