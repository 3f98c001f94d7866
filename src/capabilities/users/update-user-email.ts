import { Type } from "typebox";
import { EmailOrEmpty, Id, Strict } from "../../engine/fields.ts";
import { VerificationTokenOrEmpty } from "../otp/model.ts";
import { updateContact } from "./update-contact.ts";

export const updateUserEmail = updateContact({
  path: "update_user_email",
  summary:
    "Change a user's email address, or remove it with an empty one. It is verified only if the request has a token from verify_otp for the new address.",
  type: "EMAIL",
  field: "parameters.userEmail",
  intent: Strict({ userId: Id, userEmail: EmailOrEmpty, verificationToken: Type.Optional(VerificationTokenOrEmpty) }),
  valueIn: ({ userEmail }) => userEmail,
});
