import { randomBytes } from "node:crypto";
import { type Static, Type } from "typebox";
import { chainIdOf, type EvmChain } from "../../chains/evm/networks.ts";
import { type QuoteTerms, quoteIdOf } from "../../crypto/swap-quotes.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Services, SwapTerms } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { findSigningKey, signingKeyFacts } from "../signing/store.ts";
import { Amount, Bps, Quote, requireWord, type SwapToken, Token, tokenOf } from "./model.ts";
import { addQuote, asking, findConfig, requireSwaps, type StoredQuote } from "./store.ts";
import { requireAllowed } from "./swap.ts";

const Intent = Strict({
  signWith: Type.String({
    maxLength: 128,
    pattern: "^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$",
    description: "the address of the wallet that swaps: 0x and 40 hex digits",
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
    "Have the swap provider quote one asset of a wallet for another; what it offers is checked, and can be executed once until it expires. Amounts are net of all fees.",
  needs: ["swaps", "evm", "assets"],
  intent: Intent,
  result: Type.Object({ quotes: Type.Array(Quote) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check(intent, { swaps, assets }) {
    pairOf(intent, requireSwaps(swaps).terms.chains, assets);
    requireWord("inputAmount", intent.inputAmount);
  },
  policyFacts: ({ intent, read, organization }) => signingKeyFacts(read, organization.id, intent.signWith),
  // Nobody is bound by a quote that is not executed, so that it may be taken in vain and taken again.
  prepare: takeQuote,
  async run({ tx, now, prepared: { quote, shown } }) {
    await addQuote(tx, quote, now);
    return { quotes: [shown] };
  },
});

function pairOf(
  { inputToken, outputToken }: Intent,
  chains: readonly EvmChain[],
  assets: Services["assets"],
): { input: SwapToken; output: SwapToken } {
  const input = tokenOf(assets, chains, "inputToken", inputToken);
  const output = tokenOf(assets, chains, "outputToken", outputToken);
  if (input.caip19 !== output.caip19) return { input, output };
  return fail("FIELD_INVALID", {
    field: "parameters.outputToken",
    reason: "is the asset that is swapped; name another",
  });
}

type Context = PrepareContext<Intent, never, undefined, "swaps" | "evm" | "assets">;

async function takeQuote({ intent, read, organization, swaps: configured, evm, assets, now }: Context) {
  const swaps = requireSwaps(configured);
  const { terms: settled, provider } = swaps;
  const { input, output } = pairOf(intent, settled.chains, assets);
  const user = await walletOf(read, organization.id, intent.signWith);
  await evm.requireChain(input.chain);
  const rootId = rootIdOf(organization);
  const isStable = input.isStable && output.isStable;
  const { clientFeeBps, fees } = await feesOf(read, rootId, settled.serviceFee, isStable);
  const { inputAmount, slippageBps } = intent;
  const offer = await asking(swaps, () =>
    swaps.offer(rootId, {
      originChainId: Number(chainIdOf(input.chain)),
      destinationChainId: Number(chainIdOf(output.chain)),
      user,
      inputToken: input.address,
      outputToken: output.address,
      inputAmount,
      ...(slippageBps === undefined ? {} : { slippageBps }),
      fees,
    }),
  );
  requireAllowed(swaps, input.chain, offer);
  const { outputAmount, minOutputAmount, seconds } = offer;
  const agreed: QuoteTerms = {
    organizationId: organization.id,
    signWith: user,
    inputToken: input.caip19,
    outputToken: output.caip19,
    inputAmount,
    outputAmount,
    minOutputAmount,
    random: randomBytes(16).toString("hex"),
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

/** The address of a key that pays on Ethereum chains, in lowercase. @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, FIELD_INVALID */
async function walletOf(read: Reader, organizationId: string, signWith: string): Promise<string> {
  const { address } = await findSigningKey(read, organizationId, signWith);
  if (address?.format === "ADDRESS_FORMAT_ETHEREUM") return address.address.toLowerCase();
  return fail("FIELD_INVALID", {
    field: "parameters.signWith",
    reason: "is no address on Ethereum chains, on which alone this server swaps",
  });
}

/** What the parent and the service take of the input, as it is settled now. */
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
