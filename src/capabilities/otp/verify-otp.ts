import { type Static, Type } from "typebox";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, Seconds, Strict } from "../../engine/fields.ts";
import { EncryptedBundle, parseEncryptedBundle } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { signVerificationToken } from "../../engine/keys/verification-tokens.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_OTP_BUNDLE_BYTES,
  MAX_VERIFICATION_TOKEN_SECONDS,
  VERIFICATION_TOKEN_SECONDS,
} from "../../kernel/limits.ts";
import { SessionPublicKey } from "../sessions/store.ts";
import { findLiveOtp, guess, type Otp, useOtp } from "./store.ts";

const Newest = Strict({
  otpId: Id,
  encryptedOtpBundle: EncryptedBundle(MAX_OTP_BUNDLE_BYTES),
  expirationSeconds: Type.Optional(Seconds),
});
/** Published clients also send the second version's intent under the name of the first. */
const First = Type.Union([
  Strict({
    otpId: Id,
    otpCode: Type.String({ minLength: 1, maxLength: 64 }),
    publicKey: Type.Optional(SessionPublicKey),
    expirationSeconds: Type.Optional(Seconds),
  }),
  Newest,
]);
type Intent = Static<typeof Newest> | Static<typeof First>;

export const verifyOtp = activity({
  path: "verify_otp",
  summary: "Exchange a one-time code for a token that proves its contact.",
  version: 2,
  needs: ["apart"],
  asks: ["macOtp", "openOtp", "signStatements"],
  intent: Newest,
  result: Type.Object({ verificationToken: Type.String() }),
  versions: { 1: { intent: First, upgrade: (intent: Static<typeof First>) => intent as Static<typeof Newest> } },
  subject: () => ({ governedBy: "policies", resource: "OTP", action: "VERIFY" }),
  check(intent: Intent) {
    if (Number(intent.expirationSeconds ?? 0) > MAX_VERIFICATION_TOKEN_SECONDS) {
      const reason = `must be at most ${MAX_VERIFICATION_TOKEN_SECONDS}`;
      fail("FIELD_INVALID", { field: "parameters.expirationSeconds", reason });
    }
    if (!("otpCode" in intent)) bundleOf(intent);
  },
  async prepare({ intent, read, organization, signer, apart, id, now }) {
    const otp = await findLiveOtp(read, organization.id, intent.otpId, now);
    const { mac, publicKey } = await macOf({ organization, signer }, intent, otp);
    await guess(apart, otp, mac, { failureId: id("failure"), now });
    const seconds = Number(intent.expirationSeconds ?? VERIFICATION_TOKEN_SECONDS);
    const verificationToken = await signVerificationToken(
      { read, signer },
      {
        id: id("token"),
        verification_type: otp.type,
        contact: otp.contact,
        organization_id: organization.id,
        ...(publicKey === undefined ? {} : { public_key: publicKey }),
        exp: String(now + seconds * 1000),
      },
    );
    return { otp, verificationToken };
  },
  async run({ tx, now, prepared: { otp, verificationToken } }) {
    await useOtp(tx, otp, now);
    return { verificationToken };
  },
});

const bundleOf = ({ encryptedOtpBundle }: Static<typeof Newest>) =>
  parseEncryptedBundle(encryptedOtpBundle, "parameters.encryptedOtpBundle", MAX_OTP_BUNDLE_BYTES);

async function macOf(
  { organization, signer }: Pick<PrepareContext<unknown, "macOtp" | "openOtp">, "organization" | "signer">,
  intent: Intent,
  otp: Otp,
): Promise<{ mac: string; publicKey?: string | undefined }> {
  const owner = keyOwnerOf(organization);
  if ("otpCode" in intent) {
    const { otpCode: code, publicKey } = intent;
    const { mac } = await signer.ask({ verb: "macOtp", ...owner, otpId: otp.id, code });
    return { mac, publicKey: publicKey?.toLowerCase() };
  }
  const sealedTargetKey = otp.sealed_target_key;
  if (sealedTargetKey === null)
    return fail("OTP_INVALID", { reason: "it was requested with a version that sends codes unencrypted" });
  const opened = await signer.ask({
    verb: "openOtp",
    ...owner,
    otpId: otp.id,
    sealedTargetKey,
    bundle: bundleOf(intent),
  });
  if (!("problem" in opened)) return opened;
  const reason =
    opened.problem === "undecryptable"
      ? "is not encrypted to the target of this code"
      : 'must contain {"otp_code", "public_key"}, with the key compressed in hex';
  return fail("FIELD_INVALID", { field: "parameters.encryptedOtpBundle", reason });
}
