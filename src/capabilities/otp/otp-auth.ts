import { Type } from "typebox";
import { addSessionKey } from "../../authority/rules/sessions.ts";
import { requireUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Label, Seconds, Strict } from "../../engine/fields.ts";
import { parseTargetPublicKey, TargetPublicKey } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { fail } from "../../kernel/errors.ts";
import { credentialBundleOf, sessionKeyOf, sessionName, termsOf } from "../sessions/store.ts";
import { findLiveOtp, guess, useOtp } from "./store.ts";

export const otpAuth = activity({
  path: "otp_auth",
  summary: "Sign a user in by the code of init_otp_auth, with a fresh key that only they can open.",
  byParents: true,
  needs: ["apart"],
  asks: ["macOtp", "issueCredential"],
  intent: Strict({
    otpId: Id,
    otpCode: Type.String({ minLength: 1, maxLength: 64 }),
    targetPublicKey: TargetPublicKey,
    apiKeyName: Type.Optional(Label),
    expirationSeconds: Type.Optional(Seconds),
    invalidateExisting: Type.Optional(Type.Boolean()),
  }),
  result: Type.Object({
    userId: Type.String(),
    apiKeyId: Type.Optional(Type.String()),
    credentialBundle: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: ({ targetPublicKey }) => void parseTargetPublicKey(targetPublicKey, "parameters.targetPublicKey"),
  async prepare({ intent, read, organization, signer, apart, now }) {
    const { otpId, otpCode: code } = intent;
    const otp = await findLiveOtp(read, organization.id, otpId, now);
    if (otp.user_id === null) fail("OTP_INVALID", { reason: "it proves a contact, for verify_otp" });
    const { mac } = await signer.ask({ verb: "macOtp", ...keyOwnerOf(organization), otpId, code });
    await guess(apart, otp, mac, now);
    const { publicKey, message } = await signer.ask({
      verb: "issueCredential",
      organizationId: organization.id,
      targetPublicKey: parseTargetPublicKey(intent.targetPublicKey, "parameters.targetPublicKey"),
    });
    const terms = await termsOf(read, organization, intent);
    return { otp, userId: otp.user_id as string, publicKey, credentialBundle: credentialBundleOf(message), terms };
  },
  change: ({ view, id, intent, now, prepared: { userId, publicKey, terms } }) =>
    changesOn(view, (draft) => {
      requireUsers(draft, [userId]);
      const { apiKeyName: name = sessionName("OTP Auth", now), invalidateExisting = false } = intent;
      const type = "CREDENTIAL_TYPE_OTP_AUTH_KEY_P256";
      const key = sessionKeyOf({ id: id("apiKey"), name, type, publicKey, grade: "otp" }, terms);
      addSessionKey(draft, { userId, key, invalidateExisting }, now, "parameters");
    }),
  answer: ({ id, prepared: { userId, credentialBundle } }) => ({ userId, apiKeyId: id("apiKey"), credentialBundle }),
  also: ({ tx, now, prepared: { otp } }) => useOtp(tx, otp, now),
});
