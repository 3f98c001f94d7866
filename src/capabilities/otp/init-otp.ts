import { type Static, Type } from "typebox";
import { requireFeature } from "../../authority/rules/features.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import { activity } from "../../engine/declare.ts";
import { signEnvelopes } from "../../engine/keys/bundle-envelopes.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { otpKey } from "../../engine/keys/verification-tokens.ts";
import { checkTemplate } from "../messages/model.ts";
import { checkInitOtp, featureOf, InitOtp, InitOtpV1 } from "./model.ts";
import { prepareCode, sendCode } from "./send-code.ts";

const Result = Type.Object({ otpId: Type.String(), otpEncryptionTargetBundle: Type.String() });
const OlderResult = Type.Object({ otpId: Type.String() });
const older = {
  schema: OlderResult,
  from: ({ otpId }: Static<typeof Result>) => ({ otpId }),
  key: "initOtpResult",
};

export const initOtp = activity({
  path: "init_otp",
  summary: "Send a one-time code to an email address or a phone number, whoever it belongs to.",
  version: 3,
  needs: ["mailTemplates"],
  asks: ["macOtp", "sealJobSecret", "createImportKeys", "signStatements"],
  intent: InitOtp,
  result: Result,
  resultKey: "initOtpResultV2",
  versions: {
    1: {
      intent: InitOtpV1,
      upgrade: (intent: Static<typeof InitOtpV1>) => ({ appName: "", ...intent }),
      result: older,
    },
    2: { intent: InitOtp, upgrade: (intent: Static<typeof InitOtp>) => intent, result: older },
  },
  subject: () => ({ governedBy: "policies", resource: "OTP", action: "CREATE" }),
  check: checkInitOtp,
  async prepare({ intent, read, organization, signer, mailTemplates, id: idFor, now }) {
    await onAuthority(read, organization.id, (view) => requireFeature(view, featureOf(intent.otpType)));
    await checkTemplate(
      mailTemplates,
      "otp",
      intent.emailCustomization ?? {},
      "parameters.emailCustomization.templateId",
    );
    const id = idFor("otp");
    const { importKeys } = await signer.ask({
      verb: "createImportKeys",
      ...keyOwnerOf(organization),
      terms: { purpose: "code" },
      importIds: [id],
    });
    const [{ sealedImportKey: sealedTargetKey, targetPublicKey: targetPublic }] = importKeys as [
      (typeof importKeys)[0],
    ];
    const target = { says: "target", targetPublic, organizationId: organization.id } as const;
    const [otpEncryptionTargetBundle] = await signEnvelopes({ read, signer }, [target], otpKey);
    const asked = { id, userId: null, sealedTargetKey, isKnown: true };
    return { code: await prepareCode({ read, organization, signer, now }, intent, asked), otpEncryptionTargetBundle };
  },
  async run({ tx, organization, id, now, prepared: { code, otpEncryptionTargetBundle } }) {
    await sendCode(tx, organization, code, { id, now });
    return { otpId: code.otp.id, otpEncryptionTargetBundle: otpEncryptionTargetBundle as string };
  },
});
