import { type Static, Type } from "typebox";
import { delegateIn } from "../../chains/evm/gas-station.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { NO_BLOCKHASH } from "../../chains/solana/transaction.ts";
import { QUOTE_ID, type QuoteTerms, termsOfQuote } from "../../crypto/swap-quotes.ts";
import { activity, type PlanContext, type PrepareContext, type RunContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_NONCE, SWAP_TURN_MS } from "../../kernel/limits.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import type { EvmOffer } from "../../providers/swaps/provider.ts";
import {
  planBatch,
  planCall,
  planExecution,
  planInTurn,
  queueOwn,
  SponsoredPlan,
  type WantedCalls,
  wantedBlockhash,
} from "../sending/store.ts";
import { solanaTransactionFacts } from "../signing/model.ts";
import { signingKeyFacts } from "../signing/store.ts";
import { planSponsored, solanaSponsor, sponsorSend } from "../sponsoring/store.ts";
import { callsOf, faultOf } from "./calls.ts";
import { Amount, Nonce, type SwapToken, Token, tokenOf } from "./model.ts";
import { swapCluster } from "./services.ts";
import {
  planOnSolana,
  type SignedSwap,
  SolanaPart,
  sendOnSolana,
  signOnSolana,
  swapTransaction,
} from "./solana/execute.ts";
import { addSwap, requireQuote, requireSwaps, type StoredQuote } from "./store.ts";
import { refuseOffer, requireAllowed } from "./swap.ts";

const Intent = Strict({
  quoteId: Type.String({ pattern: QUOTE_ID, description: "the ID of a quote from create_swap_quote" }),
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

/** The transaction, under the member in which the following jobs expect it, and its quote. */
const Plan = Type.Object({
  transactions: Type.Array(SponsoredPlan, { maxItems: 1 }),
  /** The transaction on Solana; `transactions` is empty then. */
  solana: Type.Optional(SolanaPart),
  /** The terms of the quote, which tell the signer which wallet signs. */
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
    "Execute a swap quote, once and as it was quoted. One transaction is built, simulated, signed and sent; it leaves no allowance of the input token behind. With `sponsor`, this service pays for it.",
  needs: ["swaps", "evm", "solana", "assets", "gasStations", "rentPaid"],
  asks: ["sign", "signSponsorTransaction"],
  version: 2,
  intent: Intent,
  result: Type.Object({
    swapRequestId: Type.String(),
    provider: Type.Optional(Type.String()),
    quoteId: Type.Optional(Type.String()),
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check({ inputToken, recentBlockhash, sponsor, evmNonce, gasStationNonce }) {
    if (inputToken.startsWith("solana:")) {
      if (evmNonce !== undefined) refuse("evmNonce", "is only for swaps on Ethereum chains; leave it out");
      if (gasStationNonce !== undefined)
        refuse("gasStationNonce", "is only for swaps on Ethereum chains; leave it out");
      wantedBlockhash({ recentBlockhash: NO_BLOCKHASH }, recentBlockhash);
      return;
    }
    if (recentBlockhash !== undefined) refuse("recentBlockhash", "is only for swaps on Solana; leave it out");
    if (sponsor && evmNonce !== undefined)
      refuse("evmNonce", "is only for swaps that the wallet pays for; leave it out");
    if (evmNonce !== undefined && BigInt(evmNonce) > BigInt(MAX_NONCE))
      refuse("evmNonce", `must be at most ${MAX_NONCE}`);
    if (gasStationNonce !== undefined && BigInt(gasStationNonce) >= 1n << 64n)
      refuse("gasStationNonce", "must fit into 64 bits");
  },
  plan: { schema: Plan, make: planSwap },
  async policyFacts({ plan, intent, read, organization }) {
    const terms = plannedTerms(intent, plan);
    const keyFacts = await signingKeyFacts(read, organization.id, terms.signWith);
    if (!plan.solana) return keyFacts;
    const transaction = swapTransaction(terms, plan.solana);
    return Object.assign(keyFacts, await solanaTransactionFacts(read, organization.id, transaction));
  },
  // Transactions on Ethereum chains are signed later, when they get their nonce.
  async prepare(context: PrepareContext<Intent, "sign" | "signSponsorTransaction", Plan, "solana">) {
    const { solana } = context.plan;
    if (!solana || solana.fault) return undefined;
    return signOnSolana(context, plannedTerms(context.intent, context.plan), solana);
  },
  run: queueSwap,
});

const plannedTerms = ({ quoteId }: Intent, { terms }: Plan): QuoteTerms => termsOfQuote(quoteId, terms) as QuoteTerms;

type Planning = PlanContext<Intent, "swaps" | "evm" | "solana" | "assets" | "gasStations" | "rentPaid">;

async function planSwap(context: Planning): Promise<Plan> {
  const { intent, read, organization, swaps: configured, assets, now } = context;
  const swaps = requireSwaps(configured);
  const quote = await requireQuote(read, organization.id, intent.quoteId);
  const { offer, expiresAt, provider } = quote;
  const terms = requireTerms(quote, intent);
  requireCurrent(quote.id, expiresAt, now);
  const input = tokenOf(assets, swaps.terms.chains, "inputToken", terms.inputToken);
  const output = tokenOf(assets, swaps.terms.chains, "outputToken", terms.outputToken);
  const planned = { terms: quote.terms, expiresAt, provider, providerRequestId: offer.requestId };
  if ("instructions" in offer) {
    return { ...planned, transactions: [], solana: await planSolanaSwap(context, swaps, terms, { input, output }) };
  }
  const late = { from: expiresAt + SWAP_TURN_MS, message: "the quote had expired before its turn came to be signed" };
  return {
    ...planned,
    transactions: [{ ...(await planEvmSwap(context, swaps, terms, { input, output, offer })), late }],
  };
}

async function planSolanaSwap(
  context: Planning,
  swaps: NonNullable<Services["swaps"]>,
  terms: QuoteTerms,
  { input, output }: { input: SwapToken; output: SwapToken },
) {
  const { solana, organization, intent } = context;
  await solana.requireChain(swapCluster);
  const sponsor = intent.sponsor ? await solanaSponsor(context, swapCluster) : undefined;
  const tokens = { input: input.address, output: output.address };
  const programs = swaps.terms.contracts[swapCluster] ?? [];
  const wanted = { terms, tokens, programs, named: intent.recentBlockhash, sponsor };
  return planInTurn(organization, () => planOnSolana(solana, wanted, refuseOffer(swaps)));
}

async function planEvmSwap(
  context: Planning,
  swaps: NonNullable<Services["swaps"]>,
  terms: QuoteTerms,
  { input, output, offer }: { input: SwapToken; output: SwapToken; offer: EvmOffer },
): Promise<Plan["transactions"][number]> {
  const { intent, read, organization, evm, assets, gasStations } = context;
  const chain = input.chain as EvmChain;
  requireAllowed(swaps, chain, offer);
  requireNonces(intent, input);
  await evm.requireChain(chain);
  const station = gasStations.of(chain);
  const through = { evm, assets, read, organizationId: organization.id, station };
  const swap = {
    chain,
    wallet: terms.signWith,
    inputToken: input.address,
    inputAmount: BigInt(terms.inputAmount),
    call: offer.call,
    spender: offer.spender,
    output: chain === output.chain ? { token: output.address, least: BigInt(terms.minOutputAmount) } : undefined,
  };
  return planInTurn(organization, async () => {
    const calls = await callsOf(evm, swap);
    const fault = await faultOf(through, swap, calls);
    const wanted: WantedCalls = {
      caip2: chain,
      account: terms.signWith,
      calls,
      // Calls with a fault are never sent, so their gas is not estimated.
      fault,
      ...(await nonceOf(context, input, terms, station)),
      stationNonce: intent.gasStationNonce,
    };
    return intent.sponsor
      ? await planExecution(through, wanted, (call) => planSponsored(through, call))
      : await (calls.length > 1 ? planBatch(through, wanted) : planCall(through, wanted));
  });
}

/** The terms of a quote. @throws KeysteadError FIELD_INVALID if the request restates any of them differently */
function requireTerms({ id, terms: text }: StoredQuote, intent: Intent): QuoteTerms {
  const terms = termsOfQuote(id, text);
  if (!terms) throw new Error(`the quote ${id} is not of its terms`);
  const restated = [
    ["inputToken", spelled(intent.inputToken), spelled(terms.inputToken)],
    ["outputToken", spelled(intent.outputToken), spelled(terms.outputToken)],
    ["inputAmount", intent.inputAmount, terms.inputAmount],
    ["quotedOutputAmount", intent.quotedOutputAmount, terms.outputAmount],
    ["minOutputAmount", intent.minOutputAmount, terms.minOutputAmount],
  ] as const;
  for (const [member, said, quoted] of restated) {
    if (said !== quoted)
      refuse(member, "differs from the quote; repeat the request and the answer of create_swap_quote");
  }
  return terms;
}

/** Ethereum addresses ignore letter case; Solana addresses do not. */
const spelled = (caip19: string): string => (caip19.startsWith("solana:") ? caip19 : caip19.toLowerCase());

function requireCurrent(quoteId: string, expiresAt: number, now: number): void {
  if (now >= expiresAt) fail("SWAP_QUOTE_EXPIRED", { quoteId });
}

function requireNonces({ sponsor, gasStationNonce }: Intent, input: SwapToken): void {
  if (gasStationNonce !== undefined && !sponsor && input.address === null) {
    refuse("gasStationNonce", "is only for swaps that go through the gas station; leave it out");
  }
}

/** The nonce that the caller named. If the wallet must first authorize the gas station's code, it gets its nonce when it is signed instead. */
async function nonceOf(
  { intent: { evmNonce: nonce }, evm }: Planning,
  { chain, address }: SwapToken,
  { signWith }: QuoteTerms,
  station: string,
): Promise<{ nonce?: string }> {
  if (nonce === undefined) return {};
  if (address === null || delegateIn(await codeAt(evm, chain as EvmChain, signWith)) === station) return { nonce };
  return {};
}

async function queueSwap({
  intent,
  plan,
  prepared,
  tx,
  organization,
  activityId,
  fingerprint,
  id,
  now,
}: RunContext<Intent, SignedSwap | undefined, Plan>) {
  const { transactions, solana, expiresAt, provider, providerRequestId } = plan;
  const { quoteId } = intent;
  // The quote may have expired while the activity waited for approval.
  requireCurrent(quoteId, expiresAt, now);
  const terms = plannedTerms(intent, plan);
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
  if (solana) {
    await sendOnSolana(tx, { ...send, organization }, terms, solana, prepared);
  } else {
    const [planned] = transactions as [Plan["transactions"][number]];
    if (planned.execution) await sponsorSend(tx, { ...send, organization, purpose: "execute_swap", plan: planned });
    else await queueOwn(tx, planned, { ...send, organizationId });
  }
  return { swapRequestId: fingerprint, provider, quoteId };
}
