import { Type } from "typebox";
import { setTagsOfUser } from "../../authority/rules/tags.ts";
import { changeUser } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Email, Id, Ids, Label, PhoneNumber, Strict } from "../../engine/fields.ts";

export const updateUser = activity({
  path: "update_user",
  summary: "Change a user's name, email, phone number or tags. What is not given stays as it was.",
  intent: Strict({
    userId: Id,
    userName: Type.Optional(Label),
    userEmail: Type.Optional(Email),
    userTagIds: Type.Optional(Ids),
    userPhoneNumber: Type.Optional(PhoneNumber),
  }),
  result: Type.Object({ userId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  change: ({ view, intent: { userId, userName, userEmail, userTagIds, userPhoneNumber }, now }) =>
    changesOn(view, (draft) => {
      changeUser(draft, userId, { name: userName, email: userEmail, phoneNumber: userPhoneNumber }, now);
      if (userTagIds !== undefined) setTagsOfUser(draft, userId, userTagIds, now);
    }),
  answer: ({ intent: { userId } }) => ({ userId }),
});
