import { checkOutboundUrl } from "../delivery/url-rules.ts";

/** URLs of services that the operator names in the configuration file: they may be on a network of one's own. */

/** Whether a URL names a private address or a local name, which needs a client that may reach them. */
export const isOfPrivateNetwork = (text: string): boolean =>
  "problem" in checkOutboundUrl(text.replace(/^http:/i, "https:"), { allowPrivateNetworks: false });

/**
 * What is wrong with such a URL, to follow its name; without it, as it may hold a key. Plain http is for networks of one's own:
 * anybody on the way could tell us what they like.
 */
export function operatorUrlProblem(text: string, allowPrivateNetworks: boolean): string | undefined {
  const checked = checkOutboundUrl(text, { allowPrivateNetworks: true });
  if ("problem" in checked) return checked.problem;
  if (checked.url.protocol === "https:" || allowPrivateNetworks || isOfPrivateNetwork(text)) return undefined;
  return "must use https, or name a private address";
}
