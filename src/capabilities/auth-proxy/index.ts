import { capability } from "../../engine/capability.ts";
import { disableAuthProxy } from "./disable-auth-proxy.ts";
import { enableAuthProxy } from "./enable-auth-proxy.ts";
import { getAuthProxyConfig } from "./get-auth-proxy-config.ts";
import { updateAuthProxyConfig } from "./update-auth-proxy-config.ts";
import { walletKitClientParams, walletKitConfig } from "./wallet-kit.ts";

export { isAllowedOrigin } from "./model.ts";
export { findEnabledAuthProxy } from "./store.ts";

export const authProxyCapability = capability({
  title: "Auth proxy",
  operations: [enableAuthProxy, updateAuthProxyConfig, disableAuthProxy, getAuthProxyConfig],
  proxyCalls: [walletKitConfig, walletKitClientParams],
  erases: ["auth_proxies"],
});
