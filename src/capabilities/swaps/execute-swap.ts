import { type Static, Type } from "typebox";
import { delegateIn } from "../../chains/evm/gas-station.ts";
import { QUOTE_ID, type QuoteTerms, termsOfQuote } from "../../crypto/swap-quotes.ts";
import { activity, type PlanContext, type RunContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_NONCE } from "../../kernel/limits.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import {
  planBatch,
  planCall,
  planExecution,
  planInTurn,
  queueOwn,
  SponsoredPlan,
  type WantedCalls,
} from "../sending/store.ts";
import { signingKeyFacts } from "../signing/store.ts";
import { planSponsored, sponsorSend } from "../sponsoring/store.ts";
import { callsOf, faultOf } from "./calls.ts";
import { Amount, Nonce, type SwapToken, Token, tokenOf } from "./model.ts";
import { addSwap, requireQuote, requireSwaps, type StoredQuote } from "./store.ts";
import { requireAllowed } from "./swap.ts";

const Intent = Strict({
  quoteId: Type.String({ pattern: QUOTE_ID, description: "the id of a quote, as create_swap_quote answers it" }),
  inputToken: Token,
  inputAmount: Amount,
  outputToken: Token,
  quotedOutputAmount: Amount,
  minOutputAmount: Amount,
  sponsor: Type.Boolean(),
  evmNonce: Type.Optional(Nonce),
  recentBlockhash: Type.Optional(Type.String({ maxLength: 64 })),
  gasStationNonce: Type.Optional(Nonce),
});
type Intent = Static<typeof Intent>;

/** What is sent, in the one place where whoever follows transactions looks for it, and the quote that it is for. */
const Plan = Type.Object({
  transactions: Type.Array(SponsoredPlan, { minItems: 1, maxItems: 1 }),
  /** By which the signer knows whose quote it is. */
  terms: Type.String(),
  expiresAt: Type.Integer(),
  provider: Type.String(),
  providerRequestId: Type.String(),
});
type Plan = Static<typeof Plan>;

const refuse = (member: string, reason: string): never =>
  fail("FIELD_INVALID", { field: `parameters.${member}`, reason });

export const executeSwap = activity({
  path: "execute_swap",
  summary:
    "Execute a swap quote, once and as it was quoted: one transaction is built, simulated, signed and sent, which leaves nothing allowed of the input token; with `sponsor` this service pays for it.",
  needs: ["swaps", "evm", "assets", "gasStations"],
  version: 2,
  intent: Intent,
  result: Type.Object({
    swapRequestId: Type.String(),
    provider: Type.Optional(Type.String()),
    quoteId: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check({ recentBlockhash, sponsor, evmNonce, gasStationNonce }) {
    if (recentBlockhash !== undefined) refuse("recentBlockhash", "is for swaps on Solana; leave it out");
    if (sponsor && evmNonce !== undefined) refuse("evmNonce", "is for swaps that the wallet pays for; leave it out");
    if (evmNonce !== undefined && BigInt(evmNonce) > BigInt(MAX_NONCE))
      refuse("evmNonce", `must be at most ${MAX_NONCE}`);
    if (gasStationNonce !== undefined && BigInt(gasStationNonce) >= 1n << 64n)
      refuse("gasStationNonce", "must fit into 64 bits");
  },
  plan: { schema: Plan, make: planSwap },
  policyFacts: ({ plan, intent, read, organization }) =>
    signingKeyFacts(read, organization.id, termsOfQuote(intent.quoteId, plan.terms)?.signWith ?? ""),
  run: queueSwap,
});

async function planSwap(context: PlanContext<Intent, "swaps" | "evm" | "assets" | "gasStations">): Promise<Plan> {
  const { intent, read, organization, swaps: configured, evm, assets, gasStations, now } = context;
  const swaps = requireSwaps(configured);
  const quote = await requireQuote(read, organization.id, intent.quoteId);
  const { offer, expiresAt, provider } = quote;
  const terms = requireTerms(quote, intent);
  requireCurrent(quote.id, expiresAt, now);
  const input = tokenOf(assets, swaps.terms.chains, "inputToken", terms.inputToken);
  const output = tokenOf(assets, swaps.terms.chains, "outputToken", terms.outputToken);
  requireAllowed(swaps, input.chain, offer);
  requireNonces(intent, input);
  await evm.requireChain(input.chain);
  const station = gasStations.of(input.chain);
  const through = { evm, assets, read, organizationId: organization.id, station };
  const swap = {
    chain: input.chain,
    wallet: terms.signWith,
    inputToken: input.address,
    inputAmount: BigInt(terms.inputAmount),
    call: offer.call,
    spender: offer.spender,
    output: input.chain === output.chain ? { token: output.address, least: BigInt(terms.minOutputAmount) } : undefined,
  };
  const planned = await planInTurn(organization, async () => {
    const calls = await callsOf(evm, swap);
    const fault = await faultOf(through, swap, calls);
    const wanted: WantedCalls = {
      caip2: input.chain,
      account: terms.signWith,
      calls,
      // What would not be the swap is not estimated: it is never sent.
      fault,
      ...(await nonceOf(context, input, terms, station)),
      stationNonce: intent.gasStationNonce,
    };
    return intent.sponsor
      ? await planExecution(through, wanted, (call) => planSponsored(through, call))
      : await (calls.length > 1 ? planBatch(through, wanted) : planCall(through, wanted));
  });
  const providerRequestId = offer.requestId;
  return { transactions: [planned], terms: quote.terms, expiresAt, provider, providerRequestId };
}

/** The terms of a quote, of which nothing is restated otherwise. @throws KeysteadError FIELD_INVALID */
function requireTerms({ id, terms: text }: StoredQuote, intent: Intent): QuoteTerms {
  const terms = termsOfQuote(id, text);
  if (!terms) throw new Error(`the quote ${id} is not of its terms`);
  const restated = [
    ["inputToken", intent.inputToken.toLowerCase(), terms.inputToken.toLowerCase()],
    ["outputToken", intent.outputToken.toLowerCase(), terms.outputToken.toLowerCase()],
    ["inputAmount", intent.inputAmount, terms.inputAmount],
    ["quotedOutputAmount", intent.quotedOutputAmount, terms.outputAmount],
    ["minOutputAmount", intent.minOutputAmount, terms.minOutputAmount],
  ] as const;
  for (const [member, said, quoted] of restated) {
    if (said !== quoted)
      refuse(member, "is not that of the quote; restate what create_swap_quote was asked and answered");
  }
  return terms;
}

function requireCurrent(quoteId: string, expiresAt: number, now: number): void {
  if (now >= expiresAt) fail("SWAP_QUOTE_EXPIRED", { quoteId });
}

function requireNonces({ sponsor, gasStationNonce }: Intent, input: SwapToken): void {
  if (gasStationNonce !== undefined && !sponsor && input.address === null) {
    refuse("gasStationNonce", "is for swaps that go through the gas station; leave it out");
  }
}

/** The caller's own; a wallet that takes on the gas station's code first gets its nonce when its turn comes. */
async function nonceOf(
  { intent: { evmNonce: nonce }, evm }: PlanContext<Intent, "swaps" | "evm" | "assets" | "gasStations">,
  { chain, address }: SwapToken,
  { signWith }: QuoteTerms,
  station: string,
): Promise<{ nonce?: string }> {
  if (nonce === undefined) return {};
  if (address === null || delegateIn(await codeAt(evm, chain, signWith)) === station) return { nonce };
  return {};
}

async function queueSwap({
  intent,
  plan: { transactions, terms: text, expiresAt, provider, providerRequestId },
  tx,
  organization,
  activityId,
  fingerprint,
  id,
  now,
}: RunContext<Intent, unknown, Plan>) {
  const { quoteId } = intent;
  // It may have waited for approval.
  requireCurrent(quoteId, expiresAt, now);
  const [plan] = transactions as [SponsoredPlan];
  const terms = termsOfQuote(quoteId, text) as QuoteTerms;
  const organizationId = organization.id;
  const sendId = id("sendTransaction");
  const { signWith: walletAddress, inputToken, outputToken, inputAmount } = terms;
  const kind = inputToken.split("/")[0] === outputToken.split("/")[0] ? "SAME_CHAIN" : "CROSS_CHAIN";
  await addSwap(
    tx,
    {
      organizationId,
      id: fingerprint,
      quoteId,
      sendId,
      provider,
      providerRequestId,
      kind,
      walletAddress,
      inputToken,
      outputToken,
      inputAmount,
    },
    now,
  );
  const send = { id: sendId, activityId, now };
  if (plan.execution) await sponsorSend(tx, { ...send, organization, purpose: "execute_swap", plan });
  else await queueOwn(tx, plan, { ...send, organizationId });
  return { swapRequestId: fingerprint, provider, quoteId };
}
