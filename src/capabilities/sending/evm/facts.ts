import type { PolicyFacts } from "../../../engine/operations.ts";
import { MissingFactError } from "../../../policy/errors.ts";
import type { Reader } from "../../../storage/engine.ts";
import { ethereumTransactionFacts } from "../../signing/model.ts";
import { signingKeyFacts } from "../../signing/store.ts";
import { batchFacts } from "./batch-facts.ts";
import { feesOf, type Plan, transactionOf } from "./transaction.ts";

/** The facts that policies see about a transaction to send: the key, and the transaction with the highest fees that it may have. */
export async function plannedFacts(read: Reader, organizationId: string, plan: Plan): Promise<PolicyFacts> {
  const account = plan.execution?.account ?? plan.from;
  const keyFacts = await signingKeyFacts(read, organizationId, account);
  const calls = plan.execution?.calls ?? plan.calls;
  if (calls) {
    const transactions = calls.map((one) => highestOf({ ...plan, ...one }));
    return { ...keyFacts, ...withoutNonce(await batchFacts(read, organizationId, transactions, account)) };
  }
  const facts = await ethereumTransactionFacts(read, organizationId, highestOf(plan), account);
  return plan.nonce === undefined ? { ...keyFacts, ...withoutNonce(facts) } : { ...keyFacts, ...facts };
}

/** The same for several transactions of one account, as if they were one batch. */
export async function factsOfSeveral(
  read: Reader,
  organizationId: string,
  plans: readonly [Plan, ...Plan[]],
): Promise<PolicyFacts> {
  const [first] = plans;
  if (plans.length === 1) return plannedFacts(read, organizationId, first);
  const keyFacts = await signingKeyFacts(read, organizationId, first.from);
  return { ...keyFacts, ...withoutNonce(await batchFacts(read, organizationId, plans.map(highestOf), first.from)) };
}

const highestOf = (plan: Plan) => transactionOf(plan, { ...feesOf(plan.highest), nonce: plan.nonce ?? 0 });

function withoutNonce({ eth }: PolicyFacts): PolicyFacts {
  const get = () => {
    throw new MissingFactError("the transaction gets its nonce only when it is signed; set one to let policies see it");
  };
  // Copy the descriptors and not the values: some getters of a batch throw, and must do so only when a policy reads them.
  const others = Object.getOwnPropertyDescriptors(eth?.tx ?? {});
  const tx = Object.defineProperties({}, { ...others, nonce: { get, enumerable: true } });
  return { eth: { tx } } as PolicyFacts;
}
