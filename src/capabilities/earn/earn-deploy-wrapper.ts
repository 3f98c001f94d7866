import { type Static, Type } from "typebox";
import { ONLY_ELSEWHERE } from "../../authority/quotas.ts";
import type { AssetBook } from "../../chains/evm/assets.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { findOrganization } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_EARN_WRAPPERS } from "../../kernel/limits.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader } from "../../storage/engine.ts";
import { planInTurn, plannedFacts } from "../sending/store.ts";
import { planDeployment, planSponsored, SponsoredPlan, sponsorAddress, sponsorSend } from "../sponsoring/store.ts";
import { ownersOfAddresses } from "../wallets/store.ts";
import { catalogOf, requireEntry, requireVault } from "./catalog.ts";
import { shownAddress, splitterAddressOf, type WrapperTerms, wrapperContract } from "./contracts.ts";
import { ChainCaip2, EarnAddress, MAX_CLIENT_FEE_BPS, MAX_FEE_BPS, Provider } from "./model.ts";
import type { EarnSettings } from "./services.ts";
import { addRequest, addWrapper, findRequest, findWrapper, setDeployRequest, type Wrapper } from "./store.ts";
import { problemOfAsset } from "./wrapper-asset.ts";

const Intent = Strict({
  vaultAddress: EarnAddress,
  chainCaip2: ChainCaip2,
  clientFeeBps: Type.String({
    pattern: "^(0|[1-9][0-9]{0,3})$",
    description: `a number of basis points from 0 to ${MAX_CLIENT_FEE_BPS} in digits`,
  }),
  clientFeeWallet: EarnAddress,
});
type Intent = Static<typeof Intent>;

/** Everything about the wrapper, fixed at the time of the request: settings and catalog may have changed when it is approved. */
const Plan = Type.Object({
  wrapperAddress: Type.String(),
  splitterAddress: Type.String(),
  provider: Provider,
  name: Type.String(),
  curator: Type.String(),
  asset: Type.String(),
  assetDecimals: Type.Integer(),
  serviceFeeBps: Type.Integer(),
  /** Absent if the wrapper is on its chain already. */
  deployment: Type.Optional(SponsoredPlan),
});
type Plan = Static<typeof Plan>;

export const earnDeployWrapper = activity({
  path: "earn_deploy_wrapper",
  summary:
    "Enable a vault of the catalog: deploy a wrapper that charges the fee on earnings, and a splitter that pays it out, at the service's expense. The addresses are returned at once, and again if the request is repeated.",
  only: "parents",
  needs: ["evm", "assets", "earn"],
  intent: Intent,
  result: Type.Object({
    wrapperAddress: Type.String(),
    splitterAddress: Type.String(),
    deployRequestId: Type.String(),
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check: ({ clientFeeBps }, { earn }) => checkFee(Number(clientFeeBps), earn),
  plan: {
    schema: Plan,
    make: ({ intent, read, organization, evm, assets, earn }) =>
      planInTurn(organization, () => planOf({ evm, assets, earn, read, organization }, intent)),
  },
  policyFacts: async ({ plan: { deployment }, read, organization }) =>
    deployment ? plannedFacts(read, organization.id, deployment) : {},
  async run({ intent, plan, tx, organization, activityId, id, now }) {
    await requireOwnWallet(tx, organization, intent.clientFeeWallet);
    const { wrapperAddress, splitterAddress, deployment } = plan;
    const shown = { wrapperAddress: shownAddress(wrapperAddress), splitterAddress: shownAddress(splitterAddress) };
    const known = await findWrapper(tx, organization, wrapperAddress);
    const before = known && (await findRequest(tx, organization.id, known.deployRequestId));
    if (before && before.status !== "FAILED") return { ...shown, deployRequestId: before.id };
    const deployRequestId = id("sendTransaction");
    const key = { organizationId: organization.id, wrapperAddress };
    if (known) {
      const { asset, assetDecimals } = plan;
      await setDeployRequest(tx, { ...key, deployRequestId, asset, assetDecimals, now });
    } else {
      await addWrapper(tx, wrapperOf(intent, plan, { ...key, deployRequestId }), now);
      const quota = {
        kind: "wrappers over vaults",
        limit: MAX_EARN_WRAPPERS,
        remedy: ONLY_ELSEWHERE,
        table: "earn_wrappers",
      } as const;
      await enforceQuota(tx, quota, { organization_id: organization.id });
    }
    const purpose = "earn_deploy_wrapper";
    if (deployment) {
      const send = { organization, id: deployRequestId, activityId, purpose, plan: deployment, now };
      await sponsorSend(tx, send);
    }
    const status = deployment ? "PENDING" : "COMPLETED";
    const request = { ...key, id: deployRequestId, kind: "DEPLOY", walletAddress: "", amount: "", status } as const;
    await addRequest(tx, intent.chainCaip2, request, now);
    return { ...shown, deployRequestId };
  },
});

/** @throws KeysteadError FIELD_INVALID */
function checkFee(clientFeeBps: number, { serviceFeeBps }: EarnSettings): void {
  const field = "parameters.clientFeeBps";
  const room = Math.min(MAX_CLIENT_FEE_BPS, MAX_FEE_BPS - serviceFeeBps);
  if (clientFeeBps <= room) return;
  const why = room < MAX_CLIENT_FEE_BPS ? `: the service takes ${serviceFeeBps}, and both at most ${MAX_FEE_BPS}` : "";
  fail("FIELD_INVALID", { field, reason: `must be at most ${room} basis points${why}` });
}

type Planning = { evm: EvmNodes; assets: AssetBook; earn: EarnSettings; read: Reader; organization: Organization };

async function planOf({ evm, assets, earn, read, organization }: Planning, intent: Intent): Promise<Plan> {
  const { chainCaip2: chain } = intent;
  const entry = requireEntry(await catalogOf(read, earn), intent.vaultAddress, chain);
  await requireOwnWallet(read, organization, intent.clientFeeWallet);
  const { asset, provider, name, curator, vaultAddress } = await requireVault(evm, entry);
  const terms: WrapperTerms = {
    provider,
    vaultAddress,
    clientFeeWallet: intent.clientFeeWallet.toLowerCase(),
    clientFeeBps: Number(intent.clientFeeBps),
    serviceFeeWallet: earn.serviceFeeWallet ?? (await sponsorAddress(read, "eip155")).toLowerCase(),
    serviceFeeBps: earn.serviceFeeBps,
  };
  const contract = wrapperContract({ organizationId: organization.id, chain }, terms);
  const { address, call } = await planDeployment(evm, chain, contract);
  const problem = call ? undefined : await problemOfAsset(evm, { chain, wrapperAddress: address }, asset.address);
  if (problem !== undefined)
    fail("FIELD_INVALID", {
      field: "parameters.vaultAddress",
      reason: `has a wrapper that cannot be used: ${problem}`,
    });
  const sending = { evm, assets, read, organizationId: organization.id };
  return {
    wrapperAddress: address,
    splitterAddress: splitterAddressOf(address),
    provider,
    name,
    curator,
    asset: asset.address,
    assetDecimals: asset.decimals,
    serviceFeeBps: terms.serviceFeeBps,
    ...(call ? { deployment: await planSponsored(sending, { chain, ...call }) } : {}),
  };
}

/**
 * The fee wallet must belong to the organization or one of its sub-organizations.
 *
 * @throws KeysteadError FIELD_INVALID
 */
async function requireOwnWallet(read: Reader, organization: Organization, address: string): Promise<void> {
  const owners =
    (await ownersOfAddresses(read, "ADDRESS_FORMAT_ETHEREUM", [address.toLowerCase()])).get(address.toLowerCase()) ??
    [];
  for (const owner of owners) {
    if (owner === organization.id) return;
    if ((await findOrganization(read, owner))?.parentId === organization.id) return;
  }
  fail("FIELD_INVALID", {
    field: "parameters.clientFeeWallet",
    reason: "is not the address of a wallet account of the organization; create one with create_wallet_accounts",
  });
}

const wrapperOf = (
  { vaultAddress, chainCaip2: chain, clientFeeBps, clientFeeWallet }: Intent,
  { splitterAddress, provider, name, curator, asset, assetDecimals, serviceFeeBps }: Plan,
  key: Pick<Wrapper, "organizationId" | "wrapperAddress" | "deployRequestId">,
): Wrapper => ({
  ...key,
  splitterAddress,
  chain,
  vaultAddress: vaultAddress.toLowerCase(),
  provider,
  name,
  curator,
  asset: { chain, address: asset, decimals: assetDecimals },
  clientFeeBps: Number(clientFeeBps),
  serviceFeeBps,
  clientFeeWallet: clientFeeWallet.toLowerCase(),
  depositsDisabled: false,
});
