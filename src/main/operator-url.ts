import { checkOutboundUrl } from "../delivery/url-rules.ts";

/** URLs of services that the operator names in the configuration file, which may be on a private network. */

/** Whether a URL has a private address or a local name, which only the unguarded client may reach. */
export const isOfPrivateNetwork = (text: string): boolean =>
  "problem" in checkOutboundUrl(text.replace(/^http:/i, "https:"), { allowPrivateNetworks: false });

/**
 * The problem with such a URL. The text continues a sentence that starts with the setting's name, and does not contain the URL, which may include
 * a key. Plain http is allowed only on private networks, because elsewhere anybody on the path could forge answers.
 */
export function operatorUrlProblem(text: string, allowPrivateNetworks: boolean): string | undefined {
  const checked = checkOutboundUrl(text, { allowPrivateNetworks: true });
  if ("problem" in checked) return checked.problem;
  if (checked.url.protocol === "https:" || allowPrivateNetworks || isOfPrivateNetwork(text)) return undefined;
  return "must use https, or name a private address";
}
