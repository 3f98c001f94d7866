import { type Static, type TSchema, Type } from "typebox";
import { requireWithoutContact, verifyContact } from "../../authority/rules/contacts.ts";
import { changeUser } from "../../authority/rules/users.ts";
import { type ContactType, contactOf } from "../../authority/state.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { contactOfToken, requireVerificationToken } from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";

/** The members common to both intents, which also have the contact. */
interface Given {
  userId: string;
  verificationToken?: string;
}

const TOKEN = "parameters.verificationToken";

/**
 * Declares the activity that changes one contact of a user. An empty value removes the contact. A token of `verify_otp` marks the new one
 * as verified; this does not use the token up.
 */
export const updateContact = <const Path extends string, I extends TSchema>({
  path,
  summary,
  type,
  field,
  intent,
  valueIn,
}: {
  path: Path;
  summary: string;
  type: ContactType;
  /** The name of the contact's field among the parameters. */
  field: string;
  intent: I;
  valueIn: (intent: Static<I>) => string;
}) =>
  activity({
    path,
    summary,
    intent,
    result: Type.Object({ userId: Type.String() }),
    subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
    async prepare({ intent, read, organization, now }) {
      const { verificationToken } = intent as Given;
      if (!verificationToken) return { shown: undefined };
      const where = { organization, field: TOKEN, now };
      const shown = contactOfToken(await requireVerificationToken(read, verificationToken, where));
      if (shown.type !== type || shown.value !== contactOf(type, valueIn(intent)).value) {
        fail("VERIFICATION_TOKEN_INVALID", { field: TOKEN, reason: `it proves a contact other than \`${field}\`` });
      }
      return { shown };
    },
    change: ({ view, intent, now, prepared: { shown } }) =>
      changesOn(view, (draft) => {
        const { userId } = intent as Given;
        const value = valueIn(intent) || null;
        changeUser(draft, userId, type === "EMAIL" ? { email: value } : { phoneNumber: value }, now);
        if (value === null) requireWithoutContact(draft, userId, type, field);
        if (shown) verifyContact(draft, userId, shown, now, TOKEN);
      }),
    answer: ({ intent }) => ({ userId: (intent as Given).userId }),
  });
