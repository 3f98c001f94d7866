import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import { listInTurn } from "../sending/store.ts";
import { questions, shownAddress } from "./contracts.ts";
import { AssetId, caip19Of, Display, Provider, shownAmount } from "./model.ts";
import { netYield, shownYield, yieldsOf } from "./share-prices.ts";
import { findDeployments, findWrappers, type Wrapper } from "./store.ts";

const EnabledVaultItem = Type.Object(
  {
    vaultAddress: Type.String(),
    wrapperAddress: Type.String(),
    provider: Provider,
    caip19: Type.String(),
    /** What the wrapper holds, in the asset's smallest units; absent while the vault does not report what its shares are worth. */
    totalDeposited: Type.Optional(Type.String()),
    display: Display,
    /** Yearly yields, as fractions: the vault's, and what is left after both fees. Absent until there are prices a day apart. */
    apyPct: Type.Optional(Type.String()),
    netApyPct: Type.Optional(Type.String()),
    clientFeeBps: Type.String(),
    depositsDisabled: Type.Boolean(),
    name: Type.String(),
    curator: Type.String(),
    deployStatus: OneOf(["PENDING", "COMPLETED", "FAILED"]),
    deployRequestId: Type.String(),
    deployError: Type.Optional(Type.String()),
    /** These three are only for the organization that owns the wrapper. The first two are absent while the vault does not report them. */
    claimableClientFee: Type.Optional(Type.String()),
    claimableClientFeeDisplay: Type.Optional(Display),
    clientFeeWallet: Type.Optional(Type.String()),
  },
  { $id: "EarnEnabledVault" },
);

export const listEarnEnabledVaults = query({
  path: "list_earn_enabled_vaults",
  summary:
    "List the wrappers of the organization or its parent, with what they hold. The organization that owns them also sees the fees that it can claim.",
  needs: ["evm", "assets"],
  request: Type.Object({
    organizationId: Id,
    provider: Type.Optional(Provider),
    caip19: Type.Optional(AssetId),
  }),
  response: Type.Object({ enabledVaults: Type.Array(EnabledVaultItem) }),
  async run({ request: { provider, caip19 }, read, organization, evm, assets, now }) {
    const wrappers = (await findWrappers(read, organization)).filter(
      (one) =>
        (provider === undefined || one.provider === provider) &&
        (caip19 === undefined || caip19Of(one.asset).toLowerCase() === caip19.toLowerCase()),
    );
    const holdings = await listInTurn(organization, () => holdingsOf(evm, wrappers));
    const isParent = organization.parentId === null;
    const deployments = await findDeployments(read, wrappers);
    const priced = ({ chain, vaultAddress: address }: Wrapper) => ({ chain, address });
    const yieldOfVault = await yieldsOf(read, wrappers.map(priced), now);
    const enabledVaults = [];
    for (const wrapper of wrappers) {
      const { total, claimable } = holdings.get(wrapper) ?? {};
      const deployment = deployments.get(wrapper.deployRequestId);
      const rate = yieldOfVault(priced(wrapper));
      const feeBps = wrapper.clientFeeBps + wrapper.serviceFeeBps;
      enabledVaults.push({
        vaultAddress: shownAddress(wrapper.vaultAddress),
        wrapperAddress: shownAddress(wrapper.wrapperAddress),
        provider: wrapper.provider,
        caip19: caip19Of(wrapper.asset),
        ...(total === undefined ? {} : { totalDeposited: String(total) }),
        display: total === undefined ? {} : shownAmount(assets, wrapper.asset, total),
        ...(rate === undefined ? {} : { apyPct: shownYield(rate), netApyPct: shownYield(netYield(rate, feeBps)) }),
        clientFeeBps: String(wrapper.clientFeeBps),
        depositsDisabled: wrapper.depositsDisabled,
        name: wrapper.name,
        curator: wrapper.curator,
        deployStatus: deployment?.status ?? "PENDING",
        deployRequestId: wrapper.deployRequestId,
        ...(deployment?.error === undefined ? {} : { deployError: deployment.error }),
        ...(isParent ? { clientFeeWallet: shownAddress(wrapper.clientFeeWallet) } : {}),
        ...(isParent && claimable !== undefined
          ? {
              claimableClientFee: String(claimable),
              claimableClientFeeDisplay: shownAmount(assets, wrapper.asset, claimable),
            }
          : {}),
      });
    }
    return { enabledVaults };
  },
});

/** What a wrapper holds, and how much of it is due to the client; undefined if the vault does not report it. */
interface Holdings {
  total?: bigint | undefined;
  claimable?: bigint | undefined;
}

/** The amount in a response; 0 if no contract is deployed yet. */
const amountIn = (answer: string | undefined): bigint | undefined => (answer === "0x" ? 0n : wordIn(answer));

async function holdingsOf(evm: EvmNodes, wrappers: readonly Wrapper[]): Promise<Map<Wrapper, Holdings>> {
  const holdings = new Map<Wrapper, Holdings>();
  for (const chain of new Set(wrappers.map((one) => one.chain))) {
    const ofChain = wrappers.filter((one) => one.chain === chain);
    const answers = await readContracts(
      evm,
      chain,
      ofChain.flatMap(({ wrapperAddress, splitterAddress, asset, clientFeeWallet }) => [
        questions.totalAssets(wrapperAddress),
        questions.releasable(splitterAddress, asset.address, clientFeeWallet),
      ]),
    );
    for (const [index, wrapper] of ofChain.entries()) {
      const [total, claimable] = answers.slice(2 * index, 2 * index + 2).map(amountIn);
      holdings.set(wrapper, { total, claimable });
    }
  }
  return holdings;
}
