import { Type } from "typebox";
import { isEvmChain } from "../../chains/evm/networks.ts";
import { query } from "../../engine/declare.ts";
import { CursorPagination, Id, PageInfo } from "../../engine/fields.ts";
import { cursorOf, pageOf, placeIn } from "../../engine/paging.ts";
import { listInTurn } from "../sending/store.ts";
import { catalogOf, checkVaults, type Vault } from "./catalog.ts";
import { shownAddress } from "./contracts.ts";
import { AssetId, caip19Of, Display, Provider, shownAmount } from "./model.ts";
import { shownYield, yieldsOf } from "./share-prices.ts";
import { findDeployments, findWrappers } from "./store.ts";

const VaultItem = Type.Object(
  {
    vaultAddress: Type.String(),
    provider: Provider,
    caip19: Type.String(),
    /** In the asset's smallest units. */
    tvl: Type.String(),
    /** The gross yearly yield, as a fraction; absent until there are prices a day apart. */
    apyPct: Type.Optional(Type.String()),
    enabled: Type.Boolean(),
    display: Display,
    name: Type.String(),
    curator: Type.String(),
  },
  { $id: "EarnVault" },
);

export const listEarnVaults = query({
  path: "list_earn_vaults",
  summary:
    "List the vaults in this server's catalog that accept an asset and are confirmed on its chain, those that hold most first.",
  needs: ["evm", "assets", "earn"],
  request: Type.Object({
    organizationId: Id,
    caip19: AssetId,
    provider: Type.Optional(Provider),
    paginationOptions: Type.Optional(CursorPagination),
  }),
  response: Type.Object({ vaults: Type.Array(VaultItem), pageInfo: PageInfo }),
  async run({ request, read, organization, evm, assets, earn, now }) {
    const { provider } = request;
    const caip19 = request.caip19.toLowerCase();
    const list = ["earn vaults", organization.id, caip19, provider ?? ""];
    const page = pageOf(request.paginationOptions);
    const [after, before] = [placeIn(list, page.after, "after"), placeIn(list, page.before, "before")];
    const entries = (await catalogOf(read, earn)).filter(
      (one) => caip19.startsWith(`${one.chainCaip2}/`) && (provider === undefined || one.provider === provider),
    );
    const chain = caip19.slice(0, caip19.indexOf("/"));
    const checked = isEvmChain(chain) ? await listInTurn(organization, () => checkVaults(evm, chain, entries)) : [];
    const vaults = checked
      .flatMap((one) => ("vault" in one ? [one.vault] : []))
      .filter(({ asset }) => caip19Of(asset).toLowerCase() === caip19)
      .sort(largestFirst);
    const end = before ?? vaults.length;
    const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - page.limit);
    const shown = vaults.slice(start, Math.min(end, start + page.limit));
    const enabled = await enabledVaults();
    const priced = ({ chainCaip2: chain, vaultAddress: address }: Vault) => ({ chain, address });
    const yieldOfVault = await yieldsOf(read, shown.map(priced), now);
    const last = start + shown.length - 1;
    return {
      vaults: shown.map((vault) => ({
        vaultAddress: shownAddress(vault.vaultAddress),
        provider: vault.provider,
        caip19: caip19Of(vault.asset),
        tvl: String(vault.totalAssets),
        ...apyOf(yieldOfVault(priced(vault))),
        enabled: enabled.has(vault.vaultAddress),
        display: shownAmount(assets, vault.asset, vault.totalAssets),
        name: vault.name,
        curator: vault.curator,
      })),
      pageInfo: {
        hasNextPage: last + 1 < vaults.length,
        hasPreviousPage: start > 0,
        ...(shown.length > 0 ? { startCursor: cursorOf(list, start), endCursor: cursorOf(list, last) } : {}),
      },
    };

    async function enabledVaults(): Promise<Set<string>> {
      const found = new Set<string>();
      const wrappers = await findWrappers(read, organization);
      const deployments = await findDeployments(read, wrappers);
      for (const wrapper of wrappers) {
        const isThere = deployments.get(wrapper.deployRequestId)?.status === "COMPLETED";
        if (wrapper.chain === chain && isThere) found.add(wrapper.vaultAddress);
      }
      return found;
    }
  },
});

/** All hold the same asset, so this is the order of their value even if the asset has no price. */
const largestFirst = (one: Vault, other: Vault): number =>
  one.totalAssets === other.totalAssets
    ? one.vaultAddress.localeCompare(other.vaultAddress)
    : one.totalAssets > other.totalAssets
      ? -1
      : 1;

const apyOf = (rate: number | undefined) => (rate === undefined ? {} : { apyPct: shownYield(rate) });
