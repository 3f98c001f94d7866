import { Type } from "typebox";
import { addInvitations } from "../../authority/rules/invitations.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { INVITATION_LIFETIME_MS, MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import {
  checkEmailCustomization,
  checkTemplate,
  EmailCustomization,
  senderFields,
  senderOfIntent,
} from "../messages/model.ts";
import { queueMail, type SealedMail, sealMail } from "../messages/store.ts";
import { InvitationParams } from "./model.ts";
import { hashOfToken, newToken } from "./tokens.ts";

const CUSTOMIZATION = "parameters.emailCustomization";

const placeOf = (index: number): string => `invitations.${index}`;

export const createInvitations = activity({
  path: "create_invitations",
  summary:
    "Invite people to become users. Each gets a mail with a token for accept_invitation, which can be used once within a week.",
  needs: ["mailTemplates"],
  asks: ["sealJobSecret"],
  intent: Strict({
    invitations: SomeOf(InvitationParams, MAX_OPEN_INVITATIONS),
    emailCustomization: Type.Optional(EmailCustomization),
    ...senderFields,
  }),
  result: Type.Object({ invitationIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "INVITATION", action: "CREATE" }),
  async check({ emailCustomization = {} }, { mailTemplates }) {
    checkEmailCustomization(emailCustomization, CUSTOMIZATION);
    await checkTemplate(mailTemplates, "invitation", emailCustomization, `${CUSTOMIZATION}.templateId`);
  },
  async prepare({ intent, read, organization, signer, id }) {
    const sender = senderOfIntent(intent);
    const { invitations, emailCustomization: customization = {} } = intent;
    const sealed: { tokenHash: string; mail: SealedMail }[] = [];
    // One after the other: all at once would use up the signer's queue for one organization.
    for (const [index, { receiverUserEmail: to }] of invitations.entries()) {
      const secret = newToken(organization.id, id(placeOf(index)));
      const mail = await sealMail({ read, signer }, { to, kind: "invitation", secret, sender, customization });
      sealed.push({ tokenHash: hashOfToken(secret), mail });
    }
    return sealed;
  },
  change: ({ view, id, intent: { invitations }, now, prepared }) =>
    changesOn(view, (draft) =>
      addInvitations(
        draft,
        invitations.map((invitation, index) => ({
          id: id(placeOf(index)),
          receiverName: invitation.receiverUserName,
          receiverEmail: invitation.receiverUserEmail,
          receiverTagIds: [...new Set(invitation.receiverUserTags)],
          accessType: invitation.accessType,
          senderUserId: invitation.senderUserId,
          tokenHash: prepared[index]?.tokenHash ?? null,
          expiresAt: now + INVITATION_LIFETIME_MS,
        })),
        now,
      ),
    ),
  answer: ({ id, intent: { invitations } }) => ({
    invitationIds: invitations.map((_, index) => id(placeOf(index))),
  }),
  async alsoStore({ tx, prepared, organization, id, now }) {
    for (const [index, { mail }] of prepared.entries()) {
      const expiresAt = now + INVITATION_LIFETIME_MS;
      await queueMail(tx, { id: id(`mails.${index}`), mail, organization, now, expiresAt });
    }
  },
});
