import { base58 } from "@scure/base";
import type { OutboundAnswer } from "../../delivery/outbound.ts";
import { MAX_SOLANA_TRANSACTION_BYTES, MAX_SWAP_CALL_BYTES, MAX_SWAP_INSTRUCTIONS } from "../../kernel/limits.ts";
import {
  type ClaimOrder,
  type EvmOffer,
  objectOf,
  type SolanaOffer,
  type SwapOffer,
  type SwapOrder,
  SwapProblem,
  type SwapProgress,
  type SwapProvider,
  type SwapSettlement,
} from "./provider.ts";

/** Relay (docs.relay.link). Its offers are compared with the order, member by member, before anything relies on them. */

type Members = Record<string, unknown>;

/** Relay's addresses for the native asset of an Ethereum chain and for SOL, and its number for Solana's main cluster. */
const NATIVE = `0x${"00".repeat(20)}`;
const SOL = "1".repeat(32);
const SOLANA = 792_703_809;
const isOnSolana = (chain: string): boolean => chain.startsWith("solana:");
const nativeOf = (chain: string): string => (isOnSolana(chain) ? SOL : NATIVE);
const idOf = (chain: string): number => (isOnSolana(chain) ? SOLANA : Number(chain.slice(chain.indexOf(":") + 1)));
/** An address in the form for comparisons on this chain. */
const addressOn = (chain: string, value: unknown): string | undefined =>
  isOnSolana(chain) ? keyIn(value) : addressIn(value);
/** An instruction refers to accounts by single bytes. */
const MAX_ACCOUNTS = 255;
/** Fees of apps accrue in USDC on Base. */
const FEE_CHAIN = 8453;
const isFeeChain = (chainId: unknown): boolean => chainId === FEE_CHAIN || chainId === String(FEE_CHAIN);
const APPROVE = "0x095ea7b3";
/** For a Retry-After that is not a number. */
const USUAL_PAUSE_MS = 2000;

export const relay: SwapProvider = {
  name: "relay",

  async offer(order, ask) {
    const { user, inputAmount, slippageBps, fees } = order;
    const answer = await ask({
      method: "POST",
      path: "/quote/v2",
      body: {
        user,
        recipient: user,
        // Without it, nothing is ever refunded.
        refundTo: user,
        originChainId: idOf(order.originChain),
        destinationChainId: idOf(order.destinationChain),
        originCurrency: order.inputToken ?? nativeOf(order.originChain),
        destinationCurrency: order.outputToken ?? nativeOf(order.destinationChain),
        amount: inputAmount,
        tradeType: "EXACT_INPUT",
        usePermit: false,
        ...(isOnSolana(order.originChain) ? { includeComputeUnitLimit: true } : {}),
        ...(slippageBps === undefined ? {} : { slippageTolerance: slippageBps }),
        ...(fees.length === 0 ? {} : { appFees: fees.map(({ recipient, bps }) => ({ recipient, fee: String(bps) })) }),
      },
    });
    return offerIn(answer, order);
  },

  async progressOf(requestId, ask): Promise<SwapProgress> {
    const answer = await ask({
      method: "GET",
      path: `/intents/status/v3?requestId=${encodeURIComponent(requestId)}`,
    });
    switch (answer.status) {
      case "success":
        return { status: "COMPLETED", hashes: hashesIn(answer.txHashes) };
      case "refund":
      case "failure":
        return { status: "FAILED", ...reasonIn(answer.failReason) };
      default:
        // An unknown status may still become any other.
        return { status: "PENDING" };
    }
  },

  async settlementOf(requestId, originChainId, ask): Promise<SwapSettlement> {
    const answer = await ask({ method: "GET", path: `/requests/v3?id=${encodeURIComponent(requestId)}` });
    const request = listOf(answer.requests).find(({ id }) => id === requestId);
    return request ? settlementIn(request, originChainId) : {};
  },

  async claimFor(receiver, ask) {
    const path = `/app-fees/${receiver}`;
    const { balances } = await ask({ method: "GET", path: `${path}/balances` });
    const accrued = listOf(balances).find(
      ({ currency, amount }) => isFeeChain(membersOf(currency).chainId) && BigInt(digitsIn(amount) ?? 0) > 0n,
    );
    if (!accrued) return undefined;
    const currency = addressIn(membersOf(accrued.currency).address) ?? unusable("its balance names no currency");
    const body = { chainId: FEE_CHAIN, currency, recipient: receiver };
    return claimIn(await ask({ method: "POST", path: `${path}/claim`, body }));
  },

  async permit({ body }, signature, ask) {
    await ask({ method: "POST", path: `/execute/permits?signature=${signature}`, body });
  },

  problemIn(answer) {
    const { status, headers } = answer;
    const said = `it answered with the status ${status}`;
    if (status === 401 || status === 403) return new SwapProblem("account", said);
    if (status === 429) return new SwapProblem("provider", said, pauseIn(headers["retry-after"]));
    const code = status >= 400 && status < 500 ? codeIn(answer) : undefined;
    if (status < 400 || status >= 500 || status === 408 || TRANSIENT.has(code ?? "")) {
      return new SwapProblem("provider", said);
    }
    return new SwapProblem("order", REASONS[code ?? ""] ?? `it answered with the status ${status}`);
  },
};

/** Temporary errors, by their `errorCode`. */
const TRANSIENT = new Set(["PRICE_FETCH_FAILED", "SERVICE_UNAVAILABLE", "REQUEST_TIMED_OUT", "RPC_HTTP_ERROR"]);

/** Our texts for the errors. Relay's own texts may contain anything. */
const REASONS: Readonly<Record<string, string>> = {
  AMOUNT_TOO_LOW: "the amount is too low (AMOUNT_TOO_LOW)",
  INSUFFICIENT_FUNDS: "the wallet does not have the amount (INSUFFICIENT_FUNDS)",
  INSUFFICIENT_LIQUIDITY: "there is not enough liquidity (INSUFFICIENT_LIQUIDITY)",
  INVALID_ADDRESS: "it does not take an address of it (INVALID_ADDRESS)",
  INVALID_INPUT_CURRENCY: "it does not know the input token (INVALID_INPUT_CURRENCY)",
  INVALID_OUTPUT_CURRENCY: "it does not know the output token (INVALID_OUTPUT_CURRENCY)",
  INVALID_SLIPPAGE_TOLERANCE: "it does not take this slippage (INVALID_SLIPPAGE_TOLERANCE)",
  NO_QUOTES: "nobody makes an offer (NO_QUOTES)",
  NO_SWAP_ROUTES_FOUND: "there is no route between the tokens (NO_SWAP_ROUTES_FOUND)",
  UNSUPPORTED_CHAIN: "it does not serve a chain of it (UNSUPPORTED_CHAIN)",
  UNSUPPORTED_CURRENCY: "it does not serve a token of it (UNSUPPORTED_CURRENCY)",
  UNSUPPORTED_ROUTE: "it does not serve this pair (UNSUPPORTED_ROUTE)",
  SWAP_IMPACT_TOO_HIGH: "the amount would move the price too far (SWAP_IMPACT_TOO_HIGH)",
  SANCTIONED_WALLET_ADDRESS: "it does not serve this wallet (SANCTIONED_WALLET_ADDRESS)",
  SANCTIONED_CURRENCY: "it does not serve a token of it (SANCTIONED_CURRENCY)",
};

function codeIn(answer: OutboundAnswer): string | undefined {
  try {
    const { errorCode } = objectOf(answer);
    return typeof errorCode === "string" ? errorCode : undefined;
  } catch {
    return undefined;
  }
}

const pauseIn = (retryAfter: string | undefined): number =>
  retryAfter !== undefined && /^[0-9]{1,4}$/.test(retryAfter) ? Number(retryAfter) * 1000 : USUAL_PAUSE_MS;

const refuse = (reason: string): never => {
  throw new SwapProblem("offer", reason);
};
const unusable = (reason: string): never => {
  throw new SwapProblem("provider", reason);
};

/** The offer in an answer, if it matches the order. @throws SwapProblem that names the difference */
function offerIn(answer: Members, order: SwapOrder): SwapOffer {
  const details = membersOf(answer.details);
  const currencyIn = membersOf(details.currencyIn);
  const currencyOut = membersOf(details.currencyOut);
  requireCurrency(currencyIn, order.originChain, order.inputToken, "input token");
  requireCurrency(currencyOut, order.destinationChain, order.outputToken, "output token");
  if (digitsIn(currencyIn.amount) !== order.inputAmount) refuse("it is for another amount of the input token");
  for (const whose of ["sender", "recipient"] as const) {
    if (addressOn(order.originChain, details[whose]) !== order.user) refuse(`its ${whose} is another than the wallet`);
  }
  const outputAmount = digitsIn(currencyOut.amount) ?? refuse("it names no output");
  const minOutputAmount = digitsIn(currencyOut.minimumAmount) ?? refuse("it names no least output");
  requireFloor(BigInt(outputAmount), BigInt(minOutputAmount), order.slippageBps);
  const total = digitsIn(membersOf(details.slippageTolerance).total);
  const slippageBps = total ?? order.slippageBps;
  const seconds = secondsIn(details.timeEstimate);
  return {
    ...(isOnSolana(order.originChain) ? instructionsIn(listOf(answer.steps)) : stepsIn(listOf(answer.steps), order)),
    outputAmount,
    minOutputAmount,
    ...(slippageBps === undefined ? {} : { slippageBps }),
    ...(seconds === undefined ? {} : { seconds }),
  };
}

function requireCurrency({ currency }: Members, chain: string, token: string | null, what: string): void {
  const { chainId, address } = membersOf(currency);
  if (chainId !== idOf(chain)) refuse(`its ${what} is on another chain`);
  if (addressOn(chain, address) !== (token ?? nativeOf(chain))) refuse(`its ${what} is another one`);
}

function requireFloor(output: bigint, least: bigint, slippageBps: string | undefined): void {
  if (output === 0n || least === 0n) refuse("it comes to nothing");
  if (least > output) refuse("its least output is above its output");
  if (slippageBps === undefined) return;
  const floor = (output * (10_000n - BigInt(slippageBps))) / 10_000n;
  if (least < floor) refuse("its least output is below what the slippage that was asked for allows");
}

/** The approval, if there is one, and the call that requires it. */
function stepsIn(steps: Members[], order: SwapOrder): EvmOffer & { requestId: string } {
  const main = steps.at(-1) ?? refuse("it has no steps");
  const [approval, ...others] = steps.slice(0, -1);
  if (others.length > 0) refuse(`it has ${steps.length} steps, and not one or two`);
  if (main.id !== "swap" && main.id !== "deposit") refuse(`its last step is ${shown(main.id)}, and no swap or deposit`);
  if (approval && approval.id !== "approve") refuse(`its first step is ${shown(approval.id)}, and no approval`);
  const requestId = textIn(main.requestId) ?? refuse("it has no id");
  const call = callIn(main, order);
  if (call.value !== (order.inputToken === null ? order.inputAmount : "0")) {
    refuse("its call takes along another amount of the native asset");
  }
  if (order.inputToken === null) {
    return approval ? refuse("it has the native asset approved") : { requestId, call, spender: null };
  }
  const spender = approval ? spenderIn(callIn(approval, order), order, call.to) : call.to;
  return { requestId, call, spender };
}

/** The instructions of the single transaction of a swap on Solana. */
function instructionsIn(steps: Members[]): SolanaOffer & { requestId: string } {
  const [step, ...others] = steps;
  if (!step || others.length > 0) return refuse(`it has ${steps.length} steps, and not one`);
  if (step.id !== "swap" && step.id !== "deposit") refuse(`its step is ${shown(step.id)}, and no swap or deposit`);
  const requestId = textIn(step.requestId) ?? refuse("it has no id");
  const data = membersOf(itemIn(step).data);
  const tables = data.addressLookupTableAddresses ?? [];
  if (!Array.isArray(tables) || tables.length > MAX_SWAP_INSTRUCTIONS) return refuse("it has no list of lookup tables");
  const lookupTables = tables.map((key) => keyIn(key) ?? refuse("it names a lookup table by no address"));
  if (new Set(lookupTables).size < lookupTables.length) refuse("it names a lookup table twice");
  const { instructions } = data;
  if (!Array.isArray(instructions) || instructions.length === 0) return refuse("it has no instructions");
  if (instructions.length > MAX_SWAP_INSTRUCTIONS)
    return refuse(`it has more than ${MAX_SWAP_INSTRUCTIONS} instructions`);
  return { requestId, lookupTables, instructions: listOf(instructions).map(instructionIn) };
}

function instructionIn({ keys, programId, data }: Members): SolanaOffer["instructions"][number] {
  const isHex = typeof data === "string" && /^([0-9a-fA-F]{2})*$/.test(data);
  if (!isHex || data.length > 2 * MAX_SOLANA_TRANSACTION_BYTES)
    return refuse("an instruction has no data, or too much");
  if (!Array.isArray(keys) || keys.length > MAX_ACCOUNTS) return refuse("an instruction has no list of accounts");
  const accounts = listOf(keys).map(({ pubkey, isSigner, isWritable }) => {
    const key = keyIn(pubkey) ?? refuse("an instruction names an account by no address");
    if (typeof isSigner !== "boolean" || typeof isWritable !== "boolean") return refuse("an account has no rights");
    return { key, signer: isSigner, writable: isWritable };
  });
  const program = keyIn(programId) ?? refuse("an instruction is of no program");
  return { program, accounts, data: data.toLowerCase() };
}

function itemIn(step: Members): Members {
  const items = listOf(step.items);
  const [item] = items;
  if (step.kind !== "transaction") refuse(`its step ${shown(step.id)} is not a transaction`);
  if (!item || items.length !== 1) return refuse(`its step ${shown(step.id)} has ${items.length} items, and not one`);
  return item;
}

function callIn(step: Members, order: SwapOrder): EvmOffer["call"] {
  const item = itemIn(step);
  const { from, to, data = "0x", value = "0", chainId } = membersOf(item.data);
  if (chainId !== idOf(order.originChain)) refuse(`its step ${shown(step.id)} is for another chain`);
  if (addressIn(from) !== order.user) refuse(`its step ${shown(step.id)} is from another account`);
  const isHex = typeof data === "string" && /^0x([0-9a-fA-F]{2})*$/.test(data);
  if (!isHex || data.length > 2 * MAX_SWAP_CALL_BYTES + 2) return refuse(`its step ${shown(step.id)} has no call data`);
  return {
    to: addressIn(to) ?? refuse(`its step ${shown(step.id)} calls no address`),
    data: data.toLowerCase(),
    value: digitsIn(value) ?? refuse(`its step ${shown(step.id)} takes along no amount`),
  };
}

/** The spender of an approval. The approval is written again with this amount and no more. */
function spenderIn({ to, data, value }: EvmOffer["call"], order: SwapOrder, target: string): string {
  if (to !== order.inputToken) refuse("its approval is of another token");
  if (value !== "0") refuse("its approval takes along an amount of the native asset");
  if (data === "0x") return target;
  if (!data.startsWith(APPROVE) || data.length !== 2 + 2 * 68) return refuse("its approval is another call");
  const amount = BigInt(`0x${data.slice(74)}`);
  if (amount !== BigInt(order.inputAmount)) refuse("its approval is for another amount");
  const padded = data.slice(10, 74);
  return /^0{24}/.test(padded) ? `0x${padded.slice(24)}` : refuse("its approval is for no address");
}

function settlementIn(request: Members, originChainId: number): SwapSettlement {
  const data = membersOf(request.data);
  const actual = membersOf(membersOf(data.route).actual);
  const outputs = [actual.destination, actual.origin].map((side) =>
    digitsIn(membersOf(membersOf(side).outputCurrency).amount),
  );
  const outputAmount = outputs.find((amount) => amount !== undefined);
  const refund = refundIn(request, data, originChainId);
  return { ...(outputAmount === undefined ? {} : { outputAmount }), ...(refund ? { refund } : {}) };
}

function refundIn(request: Members, data: Members, originChainId: number): SwapSettlement["refund"] {
  const { currency, amount: given } = membersOf(data.refundCurrencyData);
  const amount = digitsIn(given);
  const { address, chainId } = membersOf(currency);
  const token = addressIn(address);
  if (amount === undefined || amount === "0" || token === undefined || typeof chainId !== "number") return undefined;
  const destination = membersOf(membersOf(membersOf(request.protocol).settlement).destination);
  const [refunded] = listOf(destination.refunds);
  const sentBack = listOf(data.outTxs).find((one) => one.chainId === originChainId);
  const transactionHash = hashIn(refunded?.transactionId) ?? hashIn(sentBack?.txHash);
  return {
    chainId,
    token: token === NATIVE ? null : token,
    amount,
    ...(transactionHash === undefined ? {} : { transactionHash }),
  };
}

/** @throws SwapProblem */
function claimIn(answer: Members): ClaimOrder {
  const [step, ...others] = listOf(answer.steps);
  const [item, ...more] = listOf(step?.items);
  const { sign, post } = membersOf(item?.data);
  const { signatureKind, message } = membersOf(sign);
  const { endpoint, method, body } = membersOf(post);
  const isPermit = step?.id === "authorize" && signatureKind === "eip191";
  const isPosted = endpoint === "/execute/permits" && method === "POST";
  if (others.length > 0 || more.length > 0 || !isPermit || !isPosted) return unusable("its claim is no permit");
  const bytes = typeof message === "string" && /^0x[0-9a-fA-F]{64}$/.test(message) ? message.slice(2) : undefined;
  const permit = membersOf(body);
  const requestId = textIn(permit.requestId) ?? textIn(step?.requestId);
  if (bytes === undefined || requestId === undefined) return unusable("its claim has nothing to sign, or no id");
  return { requestId, message: Buffer.from(bytes, "hex"), body: permit };
}

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};
const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value.map(membersOf) : []);
const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^[0-9A-Za-z_-]{1,128}$/.test(value) ? value : undefined;
const addressIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : undefined;
/** 32 bytes in canonical base58. */
const keyIn = (value: unknown): string | undefined => {
  if (typeof value !== "string" || !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return undefined;
  return base58.decode(value).length === 32 ? value : undefined;
};
const hashIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^0x[0-9a-fA-F]{64}$/.test(value) ? value.toLowerCase() : undefined;
const hashesIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(hashIn).filter((hash) => hash !== undefined) : [];
/** An amount of at most 256 bits. */
const digitsIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^(0|[1-9][0-9]{0,77})$/.test(value) && BigInt(value) < 1n << 256n ? value : undefined;
const secondsIn = (value: unknown): string | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 && value < 1e9
    ? String(Math.ceil(value))
    : undefined;
const reasonIn = (value: unknown): { reason?: string } =>
  typeof value === "string" && value !== "N/A" && /^[A-Z0-9_]{1,64}$/.test(value) ? { reason: value } : {};
/** A value from Relay, made safe to show. */
const shown = (value: unknown): string =>
  typeof value === "string" && /^[a-z0-9_-]{1,32}$/i.test(value) ? `\`${value}\`` : "one without a name";
