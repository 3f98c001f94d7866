import { type Static, Type } from "typebox";
import { type EarnEntry, type EarnSettings, earnChains, earnProviders } from "../capabilities/earn/services.ts";
import { MAX_EARN_VAULTS } from "../kernel/limits.ts";

/** The configuration file's settings for vaults and the service's fee. `keystead earn import` reads vaults in the same form. */

const VaultEntry = Type.Object(
  {
    vaultAddress: Type.String({ pattern: "^0x[0-9a-fA-F]{40}$" }),
    chainCaip2: Type.Unsafe<(typeof earnChains)[number]>({ type: "string", enum: [...earnChains] }),
    provider: Type.Unsafe<(typeof earnProviders)[number]>({ type: "string", enum: [...earnProviders] }),
    name: Type.String({ minLength: 1, maxLength: 128 }),
    curator: Type.String({ maxLength: 128 }),
  },
  { additionalProperties: false },
);

export const VaultEntries = Type.Array(VaultEntry, { maxItems: MAX_EARN_VAULTS });

export const Earn = Type.Object(
  {
    serviceFeeBps: Type.Optional(Type.Integer({ minimum: 0, maximum: 5000 })),
    serviceFeeWallet: Type.Optional(Type.String({ pattern: "^0x[0-9a-fA-F]{40}$" })),
    vaults: Type.Optional(VaultEntries),
  },
  {
    additionalProperties: false,
    description: `The catalog of vaults to earn in, only in the configuration file: {"vaults": [{"vaultAddress": "0x…", "chainCaip2": "eip155:8453", "provider": "EARN_PROVIDER_MORPHO", "name": "…", "curator": "…"}]}, up to ${MAX_EARN_VAULTS} vaults. "serviceFeeBps" (1000) is the service's share of the earnings, in basis points up to 5000, and "serviceFeeWallet" the address that receives it, by default the sponsor's account.`,
  },
);

const SERVICE_FEE_BPS = 1000;

/** `refuse` receives the problem with the setting. */
export function earnSettingsOf(
  { serviceFeeBps = SERVICE_FEE_BPS, serviceFeeWallet, vaults = [] }: Static<typeof Earn>,
  refuse: (problem: string) => never,
): EarnSettings {
  return {
    serviceFeeBps,
    serviceFeeWallet: serviceFeeWallet?.toLowerCase(),
    vaults: vaultEntriesOf(vaults, (index, problem) => refuse(`\`vaults.${index}\` ${problem}`)),
  };
}

/** The entries with addresses in lowercase. `refuse` receives the entry that occurs twice. */
export function vaultEntriesOf(
  vaults: Static<typeof VaultEntries>,
  refuse: (index: number, problem: string) => never,
): EarnEntry[] {
  const seen = new Set<string>();
  return vaults.map((vault, index) => {
    const vaultAddress = vault.vaultAddress.toLowerCase();
    const name = `${vault.chainCaip2} ${vaultAddress}`;
    if (seen.has(name)) refuse(index, `names the vault ${vaultAddress} of ${vault.chainCaip2} a second time`);
    seen.add(name);
    return { ...vault, vaultAddress };
  });
}
