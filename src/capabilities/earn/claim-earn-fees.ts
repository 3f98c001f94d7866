import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import type { Reader } from "../../storage/engine.ts";
import { planInTurn, plannedFacts } from "../sending/store.ts";
import { planSponsored, SponsoredPlan, type Sponsoring, sponsorSend } from "../sponsoring/store.ts";
import { actions, questions } from "./contracts.ts";
import { EarnAddress } from "./model.ts";
import { addRequest, lastClaim, requireWrapper, type Wrapper } from "./store.ts";

const Plan = Type.Object({
  due: Type.String(),
  claim: SponsoredPlan,
  /** The previous claim; absent if there was none. */
  after: Type.Optional(Type.String()),
});
type Plan = Static<typeof Plan>;

export const claimEarnFees = activity({
  path: "claim_earn_fees",
  summary:
    "Have a wrapper's splitter pay the client's share of the fees that are due to the client's fee wallet, in the asset. The service pays for the transaction.",
  only: "parents",
  needs: ["evm", "assets"],
  intent: Strict({ wrapperAddress: EarnAddress }),
  result: Type.Object({ claimRequestId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  plan: {
    schema: Plan,
    async make({ intent, read, organization, evm, assets }) {
      const wrapper = await requireWrapper(read, organization, intent.wrapperAddress);
      const after = await claimBefore(read, wrapper);
      const sponsoring = { evm, assets, read, organizationId: organization.id };
      const planned = await planInTurn(organization, () => planOf(sponsoring, wrapper));
      return { ...planned, ...(after === undefined ? {} : { after }) };
    },
  },
  policyFacts: ({ plan: { claim }, read, organization }) => plannedFacts(read, organization.id, claim),
  async run({ intent, plan: { due, claim, after }, tx, organization, activityId, id, now }) {
    const wrapper = await requireWrapper(tx, organization, intent.wrapperAddress);
    const before = await claimBefore(tx, wrapper);
    if (before !== after)
      refuse("has paid its fees since this claim was submitted; submit a new claim for what is due now");
    const { wrapperAddress, clientFeeWallet: walletAddress } = wrapper;
    const organizationId = organization.id;
    const claimRequestId = id("sendTransaction");
    const send = { organization, id: claimRequestId, activityId, purpose: "claim_earn_fees", plan: claim, now };
    await sponsorSend(tx, send);
    const request = { kind: "CLAIM", wrapperAddress, walletAddress, amount: due } as const;
    await addRequest(tx, wrapper.chain, { organizationId, id: claimRequestId, ...request }, now);
    return { claimRequestId };
  },
});

async function planOf(
  { evm, assets, read, organizationId }: Sponsoring,
  { chain, provider, splitterAddress: splitter, asset, clientFeeWallet }: Wrapper,
): Promise<Plan> {
  const [answer] = await readContracts(evm, chain, [questions.releasable(splitter, asset.address, clientFeeWallet)]);
  const due = wordIn(answer) ?? 0n;
  if (due === 0n) refuse("has no fees to claim: nothing has accrued since the last claim");
  const call = actions.claim(provider, splitter, asset.address, clientFeeWallet);
  return { due: String(due), claim: await planSponsored({ evm, assets, read, organizationId }, { chain, ...call }) };
}

/** Allows one claim at a time. A claim that is planned while another is pending would find nothing left, and the service would pay for it. */
async function claimBefore(read: Reader, wrapper: Wrapper): Promise<string | undefined> {
  const last = await lastClaim(read, wrapper);
  if (last?.status === "PENDING") refuse(`has a claim that is still being processed, ${last.id}; wait until it ends`);
  return last?.id;
}

const refuse = (reason: string): never => fail("FIELD_INVALID", { field: "parameters.wrapperAddress", reason });
