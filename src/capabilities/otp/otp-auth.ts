import { Type } from "typebox";
import { hasContact } from "../../authority/rules/contacts.ts";
import { requireFeature } from "../../authority/rules/features.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { contactOf as contactOfType } from "../../authority/state.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { targetOf } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { contactTypeOf } from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";
import { addIssuedKey, issuedKeyFields, issueKey } from "../sessions/store.ts";
import { featureOf } from "./model.ts";
import { findLiveOtp, guess, useOtp } from "./store.ts";

export const otpAuth = activity({
  path: "otp_auth",
  summary: "Sign a user in with the code from init_otp_auth, and return a new key that only they can decrypt.",
  byParents: true,
  needs: ["apart"],
  asks: ["macOtp", "issueCredential"],
  intent: Strict({
    ...issuedKeyFields,
    otpId: Id,
    otpCode: Type.String({ minLength: 1, maxLength: 64 }),
  }),
  result: Type.Object({
    userId: Type.String(),
    apiKeyId: Type.Optional(Type.String()),
    credentialBundle: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: (intent) => void targetOf(intent),
  async prepare({ intent, read, organization, signer, apart, id, now }) {
    const { otpId, otpCode: code } = intent;
    const otp = await findLiveOtp(read, organization.id, otpId, now);
    if (otp.user_id === null) fail("OTP_INVALID", { reason: "it was sent to prove a contact; use it with verify_otp" });
    const { mac } = await signer.ask({ verb: "macOtp", ...keyOwnerOf(organization), otpId, code });
    await guess(apart, otp, mac, { failureId: id("failure"), now });
    return { otp, userId: otp.user_id as string, issued: await issueKey({ read, organization, signer }, intent) };
  },
  change: ({ view, id, intent, now, prepared: { otp, userId, issued } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      requireFeature(draft, featureOf(otp.type));
      if (!hasContact(draft, userId, contactOfType(contactTypeOf(otp.type), otp.contact))) {
        fail("OTP_INVALID", { reason: "it was sent to a contact that no longer belongs to the user" });
      }
      const type = "CREDENTIAL_TYPE_OTP_AUTH_KEY_P256";
      addIssuedKey(draft, userId, issued, intent, { id: id("apiKey"), what: "OTP Auth", type, grade: "otp", now });
    }),
  answer: ({ id, prepared: { userId, issued } }) => ({
    userId,
    apiKeyId: id("apiKey"),
    credentialBundle: issued.credentialBundle,
  }),
  alsoStore: ({ tx, now, prepared: { otp } }) => useOtp(tx, otp, now),
});
