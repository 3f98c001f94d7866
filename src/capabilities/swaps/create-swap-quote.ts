import { type Static, Type } from "typebox";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { type QuoteTerms, quoteIdOf } from "../../crypto/swap-quotes.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { SwapOffer } from "../../providers/swaps/provider.ts";
import type { Reader } from "../../storage/engine.ts";
import { planInTurn } from "../sending/store.ts";
import { findSigningKey, signingKeyFacts } from "../signing/store.ts";
import { sponsorAddress } from "../sponsoring/store.ts";
import { Amount, Bps, Quote, requireWord, type SwapToken, Token, tokenOf } from "./model.ts";
import { type SwapChain, type SwapTerms, swapCluster } from "./services.ts";
import { messageOfOffer, requireForm, requireNotNamed } from "./solana/message.ts";
import { addQuote, asking, findConfig, requireSwaps, type StoredQuote } from "./store.ts";
import { refuseOffer, requireAllowed } from "./swap.ts";

const Intent = Strict({
  signWith: Type.String({
    maxLength: 128,
    pattern: "^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$",
    description: "the address of the wallet that swaps: 0x and 40 hex digits, or a Solana address in base58",
  }),
  inputToken: Token,
  outputToken: Token,
  inputAmount: Amount,
  slippageBps: Type.Optional(Bps),
});
type Intent = Static<typeof Intent>;

export const createSwapQuote = activity({
  path: "create_swap_quote",
  summary:
    "Get a quote from the swap provider for exchanging one asset of a wallet for another. The quote is checked, and can be executed once until it expires. Amounts are net of all fees.",
  needs: ["swaps", "evm", "solana", "assets"],
  intent: Intent,
  result: Type.Object({ quotes: Type.Array(Quote) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check(intent, { swaps, assets }) {
    const { input } = pairOf(intent, requireSwaps(swaps).terms.chains, assets);
    requireWord("inputAmount", intent.inputAmount, input);
  },
  policyFacts: ({ intent, read, organization }) => signingKeyFacts(read, organization.id, intent.signWith),
  // A quote binds nobody until it is executed, so requesting one again after a failure does no harm.
  prepare: takeQuote,
  async run({ tx, now, prepared: { quote, shown } }) {
    await addQuote(tx, quote, now);
    return { quotes: [shown] };
  },
});

function pairOf(
  { inputToken, outputToken }: Intent,
  chains: readonly SwapChain[],
  assets: Services["assets"],
): { input: SwapToken; output: SwapToken } {
  const input = tokenOf(assets, chains, "inputToken", inputToken);
  const output = tokenOf(assets, chains, "outputToken", outputToken);
  const refuse = (reason: string): never => fail("FIELD_INVALID", { field: "parameters.outputToken", reason });
  if (input.caip19 === output.caip19) return refuse("is the same as the input asset; use another");
  if ((input.chain === swapCluster) !== (output.chain === swapCluster)) {
    return refuse("is on the wrong kind of chain: swaps between Solana and Ethereum chains are not supported yet");
  }
  return { input, output };
}

type Context = PrepareContext<Intent, never, undefined, "swaps" | "evm" | "solana" | "assets">;

async function takeQuote({ intent, read, organization, swaps: configured, evm, solana, assets, id, now }: Context) {
  const swaps = requireSwaps(configured);
  const { terms: settled, provider } = swaps;
  const { input, output } = pairOf(intent, settled.chains, assets);
  const user = await walletOf(read, organization.id, intent.signWith, input.chain);
  await (input.chain === swapCluster ? solana.requireChain(input.chain) : evm.requireChain(input.chain));
  const rootId = rootIdOf(organization);
  const isStable = input.isStable && output.isStable;
  const { clientFeeBps, fees } = await feesOf(read, rootId, settled.serviceFee, isStable);
  const { inputAmount, slippageBps } = intent;
  const offer = await asking(swaps, () =>
    swaps.offer(rootId, {
      originChain: input.chain,
      destinationChain: output.chain,
      user,
      inputToken: input.address,
      outputToken: output.address,
      inputAmount,
      ...(slippageBps === undefined ? {} : { slippageBps }),
      fees,
    }),
  );
  const message = await checkedOffer(swaps, { read, solana }, { input, user, organization, offer });
  const { outputAmount, minOutputAmount, seconds } = offer;
  const agreed: QuoteTerms = {
    organizationId: organization.id,
    signWith: user,
    inputToken: input.caip19,
    outputToken: output.caip19,
    inputAmount,
    outputAmount,
    minOutputAmount,
    id: id("quote"),
    ...(message === undefined ? {} : { message }),
  };
  const terms = JSON.stringify(agreed);
  const expiresAt = now + settled.quoteLifetimeMs;
  const quote: StoredQuote = {
    organizationId: organization.id,
    id: quoteIdOf(terms),
    terms,
    provider,
    offer,
    expiresAt,
  };
  const shown = {
    quoteId: quote.id,
    provider,
    outputAmount,
    minOutputAmount,
    expiresAt: String(expiresAt),
    ...(offer.slippageBps === undefined ? {} : { slippageBps: offer.slippageBps }),
    clientFeeBps,
    ...(seconds === undefined ? {} : { estimatedTimeSeconds: seconds }),
  };
  return { quote, shown };
}

/**
 * Refuses an offer that must not be signed.
 *
 * @returns on Solana the message to sign, in hex
 * @throws KeysteadError SWAP_QUOTE_REFUSED, CHAIN_UNAVAILABLE
 */
async function checkedOffer(
  swaps: NonNullable<Services["swaps"]>,
  { read, solana }: { read: Reader; solana: Services["solana"] },
  {
    input,
    user,
    organization,
    offer,
  }: { input: SwapToken; user: string; organization: Organization; offer: SwapOffer },
): Promise<string | undefined> {
  if (!("instructions" in offer)) {
    requireAllowed(swaps, input.chain as EvmChain, offer);
    return undefined;
  }
  const refuse = refuseOffer(swaps);
  const chain = swapCluster;
  requireNotNamed(offer, await sponsorAddress(read, "solana"), refuse);
  const message = await planInTurn(organization, () => messageOfOffer(solana, chain, user, offer, refuse));
  requireForm(message, user, swaps.terms.contracts[chain] ?? [], refuse);
  return message.toString("hex");
}

/** The address of the key on the input's chain; Ethereum's in lowercase. @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, FIELD_INVALID */
async function walletOf(read: Reader, organizationId: string, signWith: string, chain: SwapChain): Promise<string> {
  const { address } = await findSigningKey(read, organizationId, signWith);
  const [format, name] =
    chain === swapCluster ? ["ADDRESS_FORMAT_SOLANA", "Solana"] : ["ADDRESS_FORMAT_ETHEREUM", "Ethereum chains"];
  if (address?.format === format) return chain === swapCluster ? address.address : address.address.toLowerCase();
  return fail("FIELD_INVALID", {
    field: "parameters.signWith",
    reason: `is not an address on ${name}, the chain of the input token`,
  });
}

/** The shares of the input that the parent and the service currently take as fees. */
async function feesOf(
  read: Reader,
  rootId: string,
  { bps, stableBps, recipient }: SwapTerms["serviceFee"],
  isStable: boolean,
): Promise<{ clientFeeBps: string; fees: { recipient: string; bps: number }[] }> {
  const { feeBps = "0", stableFeeBps, receiver } = (await findConfig(read, rootId)) ?? {};
  const clientFeeBps = isStable ? (stableFeeBps ?? feeBps) : feeBps;
  const all = [
    { recipient: receiver, bps: Number(clientFeeBps) },
    { recipient, bps: isStable ? stableBps : bps },
  ];
  return {
    clientFeeBps,
    fees: all.flatMap(({ recipient: to, bps: part }) =>
      to === undefined || part === 0 ? [] : [{ recipient: to, bps: part }],
    ),
  };
}
