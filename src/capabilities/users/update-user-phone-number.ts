import { Type } from "typebox";
import { Id, PhoneNumberOrEmpty, Strict } from "../../engine/fields.ts";
import { VerificationTokenOrEmpty } from "../otp/model.ts";
import { updateContact } from "./update-contact.ts";

export const updateUserPhoneNumber = updateContact({
  path: "update_user_phone_number",
  summary:
    "Change a user's phone number, or remove it with an empty one. It is verified only if the request has a token from verify_otp for the new number.",
  type: "PHONE_NUMBER",
  field: "parameters.userPhoneNumber",
  intent: Strict({
    userId: Id,
    userPhoneNumber: PhoneNumberOrEmpty,
    verificationToken: Type.Optional(VerificationTokenOrEmpty),
  }),
  valueIn: ({ userPhoneNumber }) => userPhoneNumber,
});
