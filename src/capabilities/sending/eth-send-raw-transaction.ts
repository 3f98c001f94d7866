import { type Static, Type } from "typebox";
import { chainIdOf, evmChains } from "../../chains/evm/networks.ts";
import {
  parseSignedTransaction,
  type SignedTransaction,
  senderOf,
  transactionHash,
} from "../../chains/evm/signed-transaction.ts";
import { activity } from "../../engine/declare.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { bytesFromHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_BROADCAST_REFUSALS, MAX_EVM_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import { type BroadcastOutcome, broadcast } from "../../nodes/evm-broadcast.ts";
import { recentBlock } from "../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import { ethereumTransactionFacts } from "../signing/model.ts";
import { signingKeyFacts } from "../signing/store.ts";
import { lostFor } from "./evm/lost-nonce.ts";
import { noteOwner } from "./own-transactions.ts";

const FIELD = "parameters.signedTransaction";
/** The first pause after a rejection; later ones are longer. By then, all nodes know a transaction that one has just accepted. */
const REFUSAL_PAUSE_MS = 1000;

const Chain = OneOf(evmChains);
const Intent = Strict({
  signedTransaction: Type.String({ minLength: 2, maxLength: 2 * MAX_EVM_TRANSACTION_BYTES + 2 }),
  caip2: Chain,
});
type Intent = Static<typeof Intent>;

/** Values that are derived from the request once. */
const Plan = Type.Object({ caip2: Chain, from: Type.String(), transactionHash: Type.String() });

export const ethSendRawTransaction = activity({
  path: "eth_send_raw_transaction",
  summary: "Send a signed transaction to its Ethereum chain. The transaction is parsed, and policies see its content.",
  needs: ["evm"],
  intent: Intent,
  result: Type.Object({ transactionHash: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  plan: {
    schema: Plan,
    async make({ intent, evm }): Promise<Static<typeof Plan>> {
      const signed = parse(intent);
      requireChainId(signed, intent);
      const from = senderOf(signed, FIELD);
      await evm.requireChain(intent.caip2);
      return { caip2: intent.caip2, from, transactionHash: transactionHash(signed) };
    },
  },
  async policyFacts({ intent, plan, read, organization }) {
    return {
      ...(await signingKeyFacts(read, organization.id, plan.from)),
      ...(await ethereumTransactionFacts(read, organization.id, parse(intent).transaction, plan.from)),
    };
  },
  async run({ tx, organization, activityId, plan: { caip2, transactionHash } }) {
    await noteOwner(tx, { organizationId: organization.id, caip2, transactionHash, activityId, isSponsored: false });
    return undefined;
  },
  effect: {
    gate: ({ caip2 }) => caip2,
    async perform({ intent, plan, evm, attempts, noted, note }) {
      const { caip2, from, transactionHash } = plan;
      const doubt = noted as Doubt | undefined;
      const outcome = await give(evm, intent, plan, { doubt, note });
      if (outcome.isKnown) return { done: { transactionHash } };
      const { reason, isInDoubt } = outcome;
      // Another node may have it, so this rejection is not conclusive.
      if (isInDoubt) fail("CHAIN_UNAVAILABLE", { chain: caip2, reason });
      if (doubt) {
        const { nonce } = parse(intent).transaction;
        const lost = await lostFor(
          evm,
          caip2,
          { from: from.toLowerCase(), nonce: Number(nonce), transactionHash },
          doubt.sinceBlock,
        );
        if (lost !== undefined) fail("BROADCAST_REFUSED", { chain: caip2, reason: `${reason}; ${lost}` });
      } else if (attempts + 1 >= MAX_BROADCAST_REFUSALS) {
        fail("BROADCAST_REFUSED", { chain: caip2, reason });
      }
      return { retryInMs: REFUSAL_PAUSE_MS, reason };
    },
  },
});

/** Stored while a node may have accepted the transaction without confirming it. It is then reported as refused only once no block can include it. */
interface Doubt {
  /** The newest block when it was first sent to a node. */
  sinceBlock: number;
}

/** Sends it to the nodes, and stores whether one may have it. */
async function give(
  evm: EvmNodes,
  intent: Intent,
  { caip2, transactionHash }: Static<typeof Plan>,
  { doubt, note }: { doubt: Doubt | undefined; note: (doubt: Doubt | undefined) => Promise<void> },
): Promise<BroadcastOutcome> {
  const signedTransaction = `0x${withoutPrefix(intent)}`;
  let isNoted = false;
  let mayBeOut = doubt !== undefined;
  // Store the doubt before sending, so that after a crash nobody assumes that the transaction was refused.
  const beforeGiven = async () => {
    if (doubt) return;
    await note({ sinceBlock: await recentBlock(evm, caip2) });
    isNoted = true;
  };
  const onDoubt = () => {
    mayBeOut = true;
  };
  try {
    const outcome = await broadcast(evm, caip2, { signedTransaction, transactionHash }, { beforeGiven, onDoubt });
    mayBeOut ||= outcome.isKnown;
    return outcome;
  } finally {
    if (isNoted && !mayBeOut) await note(undefined);
  }
}

const withoutPrefix = ({ signedTransaction }: Intent): string => signedTransaction.replace(/^0x/i, "");

function parse(intent: Intent): SignedTransaction {
  const bytes = bytesFromHex(withoutPrefix(intent));
  if (bytes) return parseSignedTransaction(bytes, FIELD);
  return fail("FIELD_INVALID", {
    field: FIELD,
    reason: "must be an even number of hex digits, with or without 0x",
  });
}

function requireChainId({ transaction: { chainId } }: SignedTransaction, { caip2 }: Intent): void {
  if (chainId === chainIdOf(caip2)) return;
  fail("TRANSACTION_INVALID", { field: FIELD, reason: `is for the chain eip155:${chainId}, not for ${caip2}` });
}
