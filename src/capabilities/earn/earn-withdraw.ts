import { type Static, Type } from "typebox";
import type { ContractCall } from "../../chains/evm/call-data.ts";
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
import { requireWrapper } from "./store.ts";

const Intent = Strict({
  wrapperAddress: EarnAddress,
  signWith: EarnAddress,
  chainCaip2: ChainCaip2,
  sponsor: Type.Optional(Type.Boolean()),
  amountValue: Type.String({
    pattern: "^(MAX|[1-9][0-9]{0,77})$",
    description: "an amount of the asset in its smallest units (digits, more than 0), or MAX for all there is",
  }),
});
type Intent = Static<typeof Intent>;

export const earnWithdraw = activity({
  path: "earn_withdraw",
  summary:
    "Withdraw an amount of the asset, or MAX for all of it, from a wrapper to the wallet that deposited it. With `sponsor`, this service pays.",
  needs: ["evm", "assets", "gasStations"],
  intent: Intent,
  result: Type.Object({ withdrawRequestId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check({ amountValue }) {
    if (amountValue !== "MAX" && BigInt.asUintN(256, BigInt(amountValue)) !== BigInt(amountValue)) {
      fail("FIELD_INVALID", { field: "parameters.amountValue", reason: "must fit into 256 bits" });
    }
  },
  plan: {
    schema: Transactions,
    make: ({ intent, organization, read, evm, assets, gasStations }) =>
      planInTurn(organization, () => planOf({ organization, read, evm, assets, gasStations }, intent)),
  },
  policyFacts: ({ plan, read, organization }) => factsOf(read, organization.id, plan),
  async run({ intent, tx, organization, activityId, plan, id, now }) {
    const requested = { tx, organization, activityId, plan, id, now };
    return { withdrawRequestId: await queueRequest(requested, { kind: "WITHDRAW", amount: intent.amountValue }) };
  },
});

type Planning = Pick<Services, "evm" | "assets" | "gasStations"> & { read: Reader; organization: Organization };

async function planOf({ organization, ...through }: Planning, intent: Intent): Promise<Transactions> {
  const { evm, read } = through;
  const { wrapperAddress, chain } = await requireWrapper(read, organization, intent.wrapperAddress, intent.chainCaip2);
  const from = intent.signWith.toLowerCase();
  const answers = await readContracts(evm, chain, [
    questions.balanceOf(wrapperAddress, from),
    questions.maxWithdraw(wrapperAddress, from),
  ]);
  const [shares = 0n, worth] = answers.map(wordIn);
  const call = callOf(intent, { wrapperAddress, from, shares, worth });
  const planning = { ...through, organizationId: organization.id };
  return planCalls(planning, { chain, from, sponsor: intent.sponsor }, [call]);
}

/** @throws KeysteadError FIELD_INVALID for more than the wallet has */
function callOf(
  { amountValue, signWith }: Intent,
  {
    wrapperAddress,
    from,
    shares,
    worth,
  }: { wrapperAddress: string; from: string; shares: bigint; worth: bigint | undefined },
): ContractCall {
  if (shares === 0n) {
    const reason = `holds nothing for ${signWith}; list_earn_positions shows where that address has deposits`;
    return fail("FIELD_INVALID", { field: "parameters.wrapperAddress", reason });
  }
  if (amountValue === "MAX") return actions.redeem(wrapperAddress, shares, from);
  const assets = BigInt(amountValue);
  // A vault that does not report a value may pay nevertheless.
  if (worth !== undefined && assets > worth) {
    fail("FIELD_INVALID", {
      field: "parameters.amountValue",
      reason: `is more than the ${worth} that ${signWith} has there; MAX withdraws all`,
    });
  }
  return actions.withdraw(wrapperAddress, assets, from);
}
