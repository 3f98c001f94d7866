import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import type { AuthProxySettings } from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import type { MailKindName } from "../../providers/templates/kinds.ts";
import type { Templates } from "../../providers/templates/templates.ts";
import { checkTemplate } from "../messages/model.ts";
import { checkSettings, settingFields } from "./model.ts";
import { findAuthProxy, putAuthProxy, refuseChanged } from "./store.ts";

export const updateAuthProxyConfig = activity({
  path: "update_auth_proxy_config",
  summary: "Set what the auth proxy allows and how it sends codes. What is not given stays as it was.",
  only: "parents",
  needs: ["mailTemplates", "captcha"],
  intent: Strict(settingFields),
  result: Type.Object({ configId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH_PROXY", action: "UPDATE" }),
  check(intent, { captcha }) {
    checkSettings(intent);
    if (intent.captchaEnabled && captcha.siteKey === undefined) {
      const reason =
        "cannot be true: this server has no captcha; its operator must set KEYSTEAD_TURNSTILE_SITE_KEY and KEYSTEAD_TURNSTILE_SECRET";
      fail("FIELD_INVALID", { field: "parameters.captchaEnabled", reason });
    }
  },
  // The given settings are checked together with the stored ones.
  async prepare({ intent, read, organization, mailTemplates, id }) {
    const stored = await findAuthProxy(read, organization.id);
    const settings = { ...stored?.settings, ...intent };
    await checkTemplates(mailTemplates, intent, settings);
    return { stored, configId: stored?.configId ?? id("config"), settings };
  },
  async run({ tx, organization, now, prepared: { stored, configId, settings } }) {
    await refuseChanged(tx, organization.id, stored);
    await putAuthProxy(tx, organization.id, configId, { settings: JSON.stringify(settings) }, now);
    return { configId };
  },
});

/**
 * Checks that the templates can be filled with the customization. Either may be in the request or stored already.
 *
 * @throws KeysteadError FIELD_INVALID naming the given one
 */
async function checkTemplates(
  templates: Templates,
  { otpTemplateId, emailAuthTemplateId, emailCustomizationParams }: AuthProxySettings,
  settings: AuthProxySettings,
): Promise<void> {
  const check = (kind: MailKindName, templateId: string | undefined, field: string) => {
    const customization = { ...settings.emailCustomizationParams, templateId: templateId ?? "" };
    return checkTemplate(templates, kind, customization, `parameters.${field}`);
  };
  if (emailAuthTemplateId) await check("email_auth", emailAuthTemplateId, "emailAuthTemplateId");
  if (otpTemplateId) await check("otp", otpTemplateId, "otpTemplateId");
  else if (otpTemplateId !== undefined || emailCustomizationParams) {
    const named = settings.otpTemplateId || settings.emailCustomizationParams?.templateId;
    await check("otp", named, emailCustomizationParams ? "emailCustomizationParams" : "otpTemplateId");
  }
}
