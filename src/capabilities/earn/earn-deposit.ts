import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import type { Reader } from "../../storage/engine.ts";
import { planInTurn } from "../sending/store.ts";
import { actions, questions } from "./contracts.ts";
import { ChainCaip2, EarnAddress } from "./model.ts";
import { factsOf, planCalls, queueRequest, Transactions } from "./own-transactions.ts";
import { requireWrapper, type Wrapper } from "./store.ts";

const Intent = Strict({
  wrapperAddress: EarnAddress,
  signWith: EarnAddress,
  assets: Type.String({
    pattern: "^[1-9][0-9]{0,77}$",
    description: "an amount of the asset in its smallest units: digits, more than 0",
  }),
  chainCaip2: ChainCaip2,
  sponsor: Type.Optional(Type.Boolean()),
});
type Intent = Static<typeof Intent>;

export const earnDeposit = activity({
  path: "earn_deposit",
  summary:
    "Deposit an asset from a wallet into a wrapper. First, the wrapper is approved for this amount. With `sponsor`, this service pays.",
  needs: ["evm", "assets", "gasStations"],
  intent: Intent,
  result: Type.Object({ depositRequestId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check({ assets }) {
    if (BigInt.asUintN(256, BigInt(assets)) !== BigInt(assets)) {
      fail("FIELD_INVALID", { field: "parameters.assets", reason: "must fit into 256 bits" });
    }
  },
  plan: {
    schema: Transactions,
    make: ({ intent, organization, read, evm, assets, gasStations }) =>
      planInTurn(organization, () => planOf({ organization, read, evm, assets, gasStations }, intent)),
  },
  policyFacts: ({ plan, read, organization }) => factsOf(read, organization.id, plan),
  async run({ intent, tx, organization, activityId, plan, id, now }) {
    await requireOpen(tx, organization, intent);
    const requested = { tx, organization, activityId, plan, id, now };
    return { depositRequestId: await queueRequest(requested, { kind: "DEPOSIT", amount: intent.assets }) };
  },
});

async function requireOpen(
  read: Reader,
  organization: Organization,
  { wrapperAddress, chainCaip2 }: Intent,
): Promise<Wrapper> {
  const wrapper = await requireWrapper(read, organization, wrapperAddress, chainCaip2);
  if (!wrapper.depositsDisabled) return wrapper;
  return fail("FIELD_INVALID", {
    field: "parameters.wrapperAddress",
    reason: "does not accept deposits now; its organization can open it again with earn_set_wrapper_state",
  });
}

type Planning = Pick<Services, "evm" | "assets" | "gasStations"> & { read: Reader; organization: Organization };

async function planOf({ organization, ...through }: Planning, intent: Intent): Promise<Transactions> {
  const { evm, read } = through;
  const { wrapperAddress, asset, chain } = await requireOpen(read, organization, intent);
  const from = intent.signWith.toLowerCase();
  const assets = BigInt(intent.assets);
  const answers = await readContracts(
    evm,
    chain,
    [questions.balanceOf(asset.address, from), questions.allowance(asset.address, from, wrapperAddress)],
    "pending",
  );
  const [balance = 0n, allowance = 0n] = answers.map(wordIn);
  if (balance < assets) {
    fail("FIELD_INVALID", {
      field: "parameters.assets",
      reason: `is more than the ${balance} of ${asset.address} that ${intent.signWith} has`,
    });
  }
  const deposit = actions.deposit(wrapperAddress, assets, from);
  const approval = actions.approve(asset.address, wrapperAddress, assets);
  // Some tokens let an allowance be changed only from or to zero.
  const withdrawal = actions.approve(asset.address, wrapperAddress, 0n);
  const planning = { ...through, organizationId: organization.id };
  const caller = { chain, from, sponsor: intent.sponsor };
  // Another deposit may be pending, or wait for approval, and use a remaining allowance. Only an unlimited one is certain to suffice.
  if (allowance >= ENDLESS) return planCalls(planning, caller, [deposit]);
  return planCalls(planning, caller, allowance === 0n ? [approval, deposit] : [withdrawal, approval, deposit]);
}

/** More than anybody has of any token. Many tokens treat such allowances as unlimited and do not reduce them. */
const ENDLESS = 1n << 255n;
