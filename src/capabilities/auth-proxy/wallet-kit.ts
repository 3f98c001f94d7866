import { Type } from "typebox";
import {
  type AuthMethod,
  type AuthProxySettings,
  authMethods,
  proxyCall,
  socialMethods,
} from "../../engine/proxy-call.ts";
import { oauthClientIds, otpShapeOf, sessionSecondsOf } from "./model.ts";

/** The calls that a wallet kit makes before it shows anything. It sends them without a body. */

export const walletKitConfig = proxyCall({
  path: "wallet_kit_config",
  summary: "Get what an app shows to people who sign up or in: the allowed methods, and the form of codes.",
  request: Type.Object({}),
  response: Type.Object({
    enabledProviders: Type.Array(Type.String()),
    sessionExpirationSeconds: Type.String(),
    organizationId: Type.String(),
    oauthClientIds: Type.Optional(Type.Object(oauthClientIds)),
    oauthRedirectUrl: Type.Optional(Type.String()),
    otpAlphanumeric: Type.Boolean(),
    otpLength: Type.String(),
  }),
  async answer({ config: { organizationId, settings } }) {
    const { oauthClientIds, oauthRedirectUrl } = settings.walletKitSettings ?? {};
    const { alphanumeric, length } = otpShapeOf(settings);
    return {
      enabledProviders: enabledProvidersOf(settings),
      sessionExpirationSeconds: sessionSecondsOf(settings),
      organizationId,
      ...(oauthClientIds ? { oauthClientIds } : {}),
      ...(oauthRedirectUrl ? { oauthRedirectUrl } : {}),
      otpAlphanumeric: alphanumeric,
      otpLength: String(length),
    };
  },
});

/** The allowed sign-in methods; of the social ones, only those that the settings enable for display. */
function enabledProvidersOf({
  allowedAuthMethods = [...authMethods],
  walletKitSettings,
}: AuthProxySettings): AuthMethod[] {
  const shown: readonly string[] = walletKitSettings?.enabledSocialProviders ?? socialMethods;
  const isSocial = (method: string) => (socialMethods as readonly string[]).includes(method);
  return authMethods.filter(
    (method) =>
      method !== "oidc" && allowedAuthMethods.includes(method) && (!isSocial(method) || shown.includes(method)),
  );
}

export const walletKitClientParams = proxyCall({
  path: "wallet_kit_client_params",
  summary: "Get the site key of the captcha, if one is required.",
  needs: ["captcha"],
  request: Type.Object({}),
  response: Type.Object({ turnstileSiteKey: Type.Optional(Type.String()) }),
  answer: async ({ config: { settings }, captcha: { siteKey } }) =>
    settings.captchaEnabled && siteKey !== undefined ? { turnstileSiteKey: siteKey } : {},
});
