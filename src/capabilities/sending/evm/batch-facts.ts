import type { EvmTransaction } from "../../../chains/evm/transaction.ts";
import type { PolicyFacts } from "../../../engine/operations.ts";
import { MissingFactError } from "../../../policy/errors.ts";
import type { Reader } from "../../../storage/engine.ts";
import { ethereumTransactionFacts } from "../../signing/model.ts";

/**
 * The facts that policies see about a batch as `eth.tx`: the sum of its calls' values, and all members that are the same in every call. Reading
 * any other member fails, so that no policy allows a batch because of its first call. The data and arguments of several calls always fail, even
 * if they are equal, because each call executes them.
 */
export async function batchFacts(
  read: Reader,
  organizationId: string,
  calls: readonly EvmTransaction[],
  from: string,
): Promise<PolicyFacts> {
  const all: Record<string, unknown>[] = [];
  for (const call of calls) {
    const { eth } = await ethereumTransactionFacts(read, organizationId, call, from);
    all.push({ ...eth?.tx });
  }
  const tx = {};
  for (const name of new Set(all.flatMap(Object.keys))) {
    const [first, ...others] = all.map((one) => one[name]);
    const isSame = others.every((other) => textOf(other) === textOf(first));
    const get = () => {
      if (name === "value") return calls.reduce((sum, { value }) => sum + value, 0n);
      if (isSame && (others.length === 0 || !tellsWhatToDo(name, first))) return first;
      if (isSame) throw new MissingFactError(`the transaction has several calls, each with this \`${name}\``);
      throw new MissingFactError(`the transaction has several calls, which do not share one \`${name}\``);
    };
    Object.defineProperty(tx, name, { get, enumerable: true, configurable: true });
  }
  return { eth: { tx } } as PolicyFacts;
}

/** Whether a member may contain an amount, which several calls would multiply. */
const tellsWhatToDo = (name: string, value: unknown): boolean =>
  name === "contract_call_args" || (name === "data" && value !== "0x");

const textOf = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === "bigint" ? `${member}n` : member));
