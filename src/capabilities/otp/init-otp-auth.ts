import { type Static, Type } from "typebox";
import { requireFeature } from "../../authority/rules/features.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import { activity } from "../../engine/declare.ts";
import { findUsersByContact } from "../../engine/identity/contacts.ts";
import { checkTemplate } from "../messages/model.ts";
import { checkInitOtp, contactOf, featureOf, InitOtp, InitOtpAuthV1, InitOtpAuthV2 } from "./model.ts";
import { prepareCode, sendCode } from "./send-code.ts";

const Result = Type.Object({ otpId: Type.String() });
const older = (key: string) => ({ schema: Result, from: (result: Static<typeof Result>) => result, key });

export const initOtpAuth = activity({
  path: "init_otp_auth",
  summary: "Send a user a one-time code for otp_auth. The answer does not reveal whether there is such a user.",
  version: 3,
  byParents: true,
  needs: ["mailTemplates"],
  asks: ["macOtp", "sealJobSecret"],
  intent: InitOtp,
  result: Result,
  resultKey: "initOtpAuthResultV2",
  versions: {
    1: {
      intent: InitOtpAuthV1,
      upgrade: (intent: Static<typeof InitOtpAuthV1>) => ({ appName: "", ...intent }),
      result: older("initOtpAuthResult"),
    },
    2: {
      intent: InitOtpAuthV2,
      upgrade: (intent: Static<typeof InitOtpAuthV2>) => ({ appName: "", ...intent }),
      result: older("initOtpAuthResultV2"),
    },
  },
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  check: checkInitOtp,
  async prepare({ intent, read, organization, signer, mailTemplates, id, now }) {
    await onAuthority(read, organization.id, (view) => requireFeature(view, featureOf(intent.otpType)));
    await checkTemplate(
      mailTemplates,
      "otp",
      intent.emailCustomization ?? {},
      "parameters.emailCustomization.templateId",
    );
    const [user, ...others] = await findUsersByContact(read, organization, contactOf(intent));
    const isKnown = user !== undefined && others.length === 0;
    const asked = { id: id("otp"), userId: isKnown ? user.userId : "", sealedTargetKey: null, isKnown };
    return prepareCode({ read, organization, signer, now }, intent, asked);
  },
  async run({ tx, organization, id, now, prepared: code }) {
    await sendCode(tx, organization, code, { id, now });
    return { otpId: code.otp.id };
  },
});
