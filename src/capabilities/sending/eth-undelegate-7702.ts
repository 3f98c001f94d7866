import { Type } from "typebox";
import { evmChains } from "../../chains/evm/networks.ts";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { feeQuote } from "../../nodes/evm-calls.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import { findSigningKey } from "../signing/store.ts";
import { accountFields, checkQuantities, ownFees } from "./eth-send-transaction.ts";
import { plannedFacts } from "./evm/facts.ts";
import { digitsOf, Plan, plannedFees, withinFeeCap } from "./evm/transaction.ts";
import { planInTurn } from "./planning.ts";
import { queueOwn } from "./store.ts";

/** The published API does not have this operation for the excluded chains. */
const chains = evmChains.filter((chain) => chain !== "eip155:4217" && chain !== "eip155:42431");
const NO_CODE = `0x${"00".repeat(20)}`;
/** Enough for the transaction and its authorization; unused gas is not paid for. */
const GAS = "100000";

const { from, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = accountFields;

export const ethUndelegate7702 = activity({
  path: "eth_undelegate_7702",
  summary: "Remove the code that an Ethereum account has authorized (EIP-7702). The account pays for the transaction.",
  needs: ["evm"],
  intent: Strict({ from, caip2: OneOf(chains), nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas }),
  result: Type.Object({ sendTransactionStatusId: Type.String() }),
  alsoTyped: "ACTIVITY_TYPE_ETH_UNDELEGATE7702",
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check: checkQuantities,
  plan: {
    schema: Plan,
    async make({ intent, read, organization, evm }): Promise<Plan> {
      const { caip2, nonce, gasLimit = GAS } = intent;
      await findSigningKey(read, organization.id, intent.from);
      await evm.requireChain(caip2);
      const account = intent.from.toLowerCase();
      const { code, quote } = await planInTurn(organization, async () => ({
        code: await codeAt(evm, caip2, account),
        quote: await feeQuote(evm, caip2),
      }));
      if (code === "0x") {
        fail("FIELD_INVALID", { field: "parameters.from", reason: `has not authorized any code on ${caip2}` });
      }
      const { fees, highest } = plannedFees(ownFees(intent), quote);
      const plan = {
        caip2,
        ...{ from: account, to: account, value: "0", data: "0x", gas: gasLimit },
        ...(nonce === undefined ? {} : { nonce: Number(nonce) }),
        fees: digitsOf(fees),
        highest: digitsOf(highest),
        authorize: NO_CODE,
      };
      return withinFeeCap(evm, plan, "account", ownFees(intent));
    },
  },
  policyFacts: ({ plan, read, organization }) => plannedFacts(read, organization.id, plan),
  async run({ plan, tx, organization, activityId, id, now }) {
    const sendTransactionStatusId = id("sendTransaction");
    await queueOwn(tx, plan, { organizationId: organization.id, id: sendTransactionStatusId, activityId, now });
    return { sendTransactionStatusId };
  },
});
