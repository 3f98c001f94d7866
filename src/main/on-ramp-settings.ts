import { type Static, Type } from "typebox";
import type { OutboundClient } from "../delivery/outbound.ts";
import { createOnRamps, type OnRamps } from "../providers/on-ramp/on-ramps.ts";
import { isOfPrivateNetwork, operatorUrlProblem } from "./operator-url.ts";

/** The configuration file's setting for the APIs of on-ramp providers. */

const ApiUrl = Type.Object({ apiUrl: Type.String() }, { additionalProperties: false });

export const OnRamp = Type.Object(
  { moonpay: Type.Optional(ApiUrl), coinbase: Type.Optional(ApiUrl) },
  {
    additionalProperties: false,
    description:
      'Origins of the APIs of on-ramp providers, if they are not the public ones; only in the configuration file: {"moonpay": {"apiUrl": "https://…"}, "coinbase": {"apiUrl": "https://…"}}.',
  },
);

/** The origins of the APIs, by provider. */
export interface OnRampSettings {
  moonpay: string;
  coinbase: string;
}

const PUBLIC: OnRampSettings = { moonpay: "https://api.moonpay.com", coinbase: "https://api.developer.coinbase.com" };

/** `refuse` receives the problem with the setting. */
export function onRampSettingsOf(
  given: Static<typeof OnRamp>,
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): OnRampSettings {
  const originOf = (name: keyof OnRampSettings): string => {
    const text = given[name]?.apiUrl ?? PUBLIC[name];
    const problem = operatorUrlProblem(text, allowPrivateNetworks);
    if (problem !== undefined) return refuse(`\`${name}.apiUrl\` ${problem}`);
    const { origin, pathname, search } = new URL(text);
    return pathname === "/" && search === ""
      ? origin
      : refuse(`\`${name}.apiUrl\` must be an origin, such as ${PUBLIC[name]}, without a path`);
  };
  return { moonpay: originOf("moonpay"), coinbase: originOf("coinbase") };
}

/** A provider on a private address needs the client that may reach those; others are called by the guarded client. */
export function onRampService(
  { moonpay, coinbase }: OnRampSettings,
  clients: { outbound: OutboundClient; toOwnNetwork: OutboundClient },
  elapsed?: () => number,
): OnRamps {
  const endpoint = (apiUrl: string) => ({
    apiUrl,
    outbound: isOfPrivateNetwork(apiUrl) ? clients.toOwnNetwork : clients.outbound,
  });
  const endpoints = {
    FIAT_ON_RAMP_PROVIDER_COINBASE: endpoint(coinbase),
    FIAT_ON_RAMP_PROVIDER_MOONPAY: endpoint(moonpay),
  };
  return createOnRamps(endpoints, elapsed);
}
