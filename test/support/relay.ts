import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Instruction, isSignerRole, isWritableRole } from "@solana/kit";
import { encodeFunctionData, type Hex, recoverMessageAddress } from "viem";
import type { Json } from "./client.ts";
import { SWAP_ROUTER, swapRouterAbi } from "./swap-world.ts";

/** Relay on this machine: it takes what its documentation says and nothing else, and quotes whatever there is at one to one. */
export interface RelayOfTests {
  url: string;
  /** What came in: method, path and body. */
  requests: { method: string; path: string; body: Json }[];
  /** Changes the answer to the next quote for a wallet: what a provider that lies would say. */
  lie(user: string, change: (answer: Json, body: Json) => void): void;
  /** The router's mode of the next quote for a wallet, as `SwapRouter` has it. */
  mode(user: string, mode: number, other?: string): void;
  /** The instructions that a wallet of Solana is offered, and the lookup tables with them. */
  offer(user: string, build: (body: Json, amounts: SolanaAmounts) => SolanaInstructions): void;
  /** What it called the last quote for a wallet. */
  lastRequestOf(user: string): string;
  /** What it knows of a request from now on. */
  tell(requestId: string, status: Json, details?: Json): void;
  /** What has accrued for a receiver, in USDC on Base. */
  accrue(receiver: string, amount: string): void;
  /** What was claimed: the permits' requests by the receiver. */
  claims: Map<string, string>;
  /** What was paid out for them, by receiver, in the units of what accrued. */
  paid: Map<string, bigint>;
  /** The fees of a request that was quoted accrue, once: each in the input's units, as if one were worth one unit of USDC. */
  accrueFor(requestId: string): void;
  /** What it answers to a wallet's requests for quotes from now on, in place of its own answer. */
  answer(user: string, reply: RequestListener | undefined): void;
}

export interface SolanaAmounts {
  input: bigint;
  output: bigint;
}
export interface SolanaInstructions {
  instructions: readonly Instruction[];
  tables?: readonly string[];
}

export const RELAY_KEY = "relay-key-of-tests";
const NATIVE = `0x${"00".repeat(20)}`;
/** Its number for Solana. */
const SOLANA = 792_703_809;
const BASE_USDC = "0x833589fCD6EDB6E08f4c7C32D4f71b54bdA02913";
const QUOTE_FIELDS = new Set(
  "user recipient originChainId destinationChainId originCurrency destinationCurrency amount tradeType slippageTolerance refundTo appFees ttl usePermit explicitDeposit depositFeePayer includeComputeUnitLimit referrer".split(
    " ",
  ),
);

let ofTests: Promise<RelayOfTests> | undefined;

/** The one of all tests in this process; it ends with it. */
export function relayOfTests(): Promise<RelayOfTests> {
  ofTests ??= startRelay();
  return ofTests;
}

/** Swaps as the configuration file has them. */
export const swapsOfTests = async (more: object = {}): Promise<object> => ({
  provider: "relay",
  baseUrl: (await relayOfTests()).url,
  apiKey: RELAY_KEY,
  pollMs: 200,
  quoteTtlSeconds: 3600,
  contracts: { "eip155:8453": [SWAP_ROUTER] },
  ...more,
});

async function startRelay(): Promise<RelayOfTests> {
  const requests: RelayOfTests["requests"] = [];
  const lies = new Map<string, (answer: Json, body: Json) => void>();
  const modes = new Map<string, { mode: number; other: string }>();
  const offers = new Map<string, Parameters<RelayOfTests["offer"]>[1]>();
  const replies = new Map<string, RequestListener>();
  const known = new Map<string, { status: Json; details: Json }>();
  const accrued = new Map<string, string>();
  const pending = new Map<string, { receiver: string; message: Hex }>();
  const claims = new Map<string, string>();
  const paid = new Map<string, bigint>();
  const fees = new Map<string, { receiver: string; amount: bigint }[]>();
  const last = new Map<string, string>();

  const quote = (body: Json): [number, Json] => {
    const problem = problemIn(body);
    if (problem !== undefined) return [400, { message: problem, errorCode: "INVALID_INPUT" }];
    const user = body.user.toLowerCase();
    const mode = modes.get(user) ?? { mode: 0, other: NATIVE };
    modes.delete(user);
    const answer = body.originChainId === SOLANA ? solanaQuoteOf(body, offers.get(user)) : quoteOf(body, mode);
    const { requestId } = answer.steps[0];
    last.set(user, requestId);
    fees.set(requestId, feesIn(body));
    const lie = lies.get(user);
    lies.delete(user);
    lie?.(answer, body);
    return [200, answer];
  };

  const route = async (method: string, path: string, body: Json): Promise<[number, Json]> => {
    const { pathname, searchParams } = new URL(path, "http://relay");
    if (method === "POST" && pathname === "/quote/v2") return quote(body);
    if (method === "GET" && pathname === "/intents/status/v3") {
      return [200, known.get(searchParams.get("requestId") ?? "")?.status ?? { status: "waiting" }];
    }
    if (method === "GET" && pathname === "/requests/v3") {
      const id = searchParams.get("id") ?? "";
      const details = known.get(id)?.details;
      return [200, { requests: details ? [{ id, ...details }] : [] }];
    }
    const [, receiver = "", what] = /^\/app-fees\/(0x[0-9a-f]{40})\/(balances|claim)$/.exec(pathname) ?? [];
    const currency = { chainId: 8453, address: BASE_USDC, symbol: "USDC", decimals: 6 };
    const amount = accrued.get(receiver);
    if (what === "balances") return [200, { balances: amount === undefined ? [] : [{ currency, amount }] }];
    if (what === "claim") {
      assert.deepEqual(body, { chainId: 8453, currency: BASE_USDC.toLowerCase(), recipient: receiver });
      const requestId = `0x${randomBytes(32).toString("hex")}`;
      const message: Hex = `0x${randomBytes(32).toString("hex")}`;
      pending.set(requestId, { receiver, message });
      const post = { endpoint: "/execute/permits", method: "POST", body: { kind: "claim", requestId } };
      const sign = { signatureKind: "eip191", message };
      return [200, { steps: [{ id: "authorize", kind: "signature", items: [{ data: { sign, post } }] }] }];
    }
    if (method === "POST" && pathname === "/execute/permits") {
      const claim = pending.get(body.requestId);
      if (!claim || body.kind !== "claim") return [400, { message: "no such claim" }];
      const signature = searchParams.get("signature") as Hex;
      const signer = await recoverMessageAddress({ message: { raw: claim.message }, signature });
      if (signer.toLowerCase() !== claim.receiver) return [401, { message: "not by the receiver" }];
      paid.set(claim.receiver, (paid.get(claim.receiver) ?? 0n) + BigInt(accrued.get(claim.receiver) ?? 0));
      accrued.delete(claim.receiver);
      claims.set(claim.receiver, body.requestId);
      return [200, { message: "Permit accepted" }];
    }
    return [404, { message: "no such path" }];
  };

  const server = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    const given = method === "POST" ? await text(request) : "";
    const body = (given === "" ? {} : JSON.parse(given)) as Json;
    requests.push({ method, path: url, body });
    const reply = replies.get(String(body.user).toLowerCase());
    if (reply) return reply(request, response);
    const isKnown = request.headers["x-api-key"] === RELAY_KEY;
    const [status, answer] = isKnown ? await route(method, url, body) : [401, { message: "Invalid API key" }];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    claims,
    paid,
    accrueFor(requestId) {
      for (const { receiver, amount } of fees.get(requestId) ?? []) {
        accrued.set(receiver, String(BigInt(accrued.get(receiver) ?? 0) + amount));
      }
      fees.delete(requestId);
    },
    lie: (user, change) => void lies.set(user.toLowerCase(), change),
    mode: (user, mode, other = NATIVE) => void modes.set(user.toLowerCase(), { mode, other }),
    offer: (user, build) => void offers.set(user.toLowerCase(), build),
    lastRequestOf: (user) => last.get(user.toLowerCase()) ?? "",
    tell: (requestId, status, details) => void known.set(requestId, { status, details }),
    accrue: (receiver, amount) => void accrued.set(receiver.toLowerCase(), amount),
    answer(user, reply) {
      if (reply) replies.set(user.toLowerCase(), reply);
      else replies.delete(user.toLowerCase());
    },
  };
}

function problemIn(body: Json): string | undefined {
  const unknown = Object.keys(body).find((name) => !QUOTE_FIELDS.has(name));
  if (unknown !== undefined) return `${unknown} is unknown`;
  if (body.tradeType !== "EXACT_INPUT" || body.usePermit !== false) return "tradeType or usePermit";
  const isSolana = body.originChainId === SOLANA;
  if (isSolana && (body.destinationChainId !== SOLANA || body.includeComputeUnitLimit !== true)) return "chains";
  if (!body.refundTo || body.recipient !== body.user || body.refundTo !== body.user) return "refundTo or recipient";
  for (const { recipient, fee } of body.appFees ?? []) {
    if (!/^0x[0-9a-f]{40}$/.test(recipient) || !/^[0-9]{1,4}$/.test(fee)) return "appFees";
  }
  return undefined;
}

/** What each receiver takes of the input. */
const feesIn = (body: Json): { receiver: string; amount: bigint }[] =>
  (body.appFees ?? []).map(({ recipient, fee }: Json) => ({
    receiver: recipient,
    amount: (BigInt(body.amount) * BigInt(fee)) / 10_000n,
  }));

/** The same on Solana: one step, whose transaction is a list of instructions. */
function solanaQuoteOf(body: Json, build: Parameters<RelayOfTests["offer"]>[1] | undefined): Json {
  const input = BigInt(body.amount);
  const output = input - feesIn(body).reduce((sum, { amount }) => sum + amount, 0n);
  const slippage = body.slippageTolerance ?? "100";
  const least = (output * (10_000n - BigInt(slippage))) / 10_000n;
  const { instructions, tables = [] } = build?.(body, { input, output }) ?? { instructions: [] };
  const data = {
    instructions: instructions.map(({ programAddress, accounts = [], data: bytes = new Uint8Array() }) => ({
      keys: accounts.map(({ address, role }) => ({
        pubkey: address,
        isSigner: isSignerRole(role),
        isWritable: isWritableRole(role),
      })),
      programId: programAddress,
      data: Buffer.from(bytes).toString("hex"),
    })),
    addressLookupTableAddresses: tables,
  };
  const money = (address: string, value: bigint, minimum = value) => ({
    currency: { chainId: SOLANA, address, symbol: "T", decimals: 6 },
    amount: String(value),
    minimumAmount: String(minimum),
  });
  const requestId = `0x${randomBytes(32).toString("hex")}`;
  return {
    steps: [{ id: "swap", kind: "transaction", requestId, items: [{ status: "incomplete", data }] }],
    fees: {},
    details: {
      operation: "swap",
      sender: body.user,
      recipient: body.user,
      currencyIn: money(body.originCurrency, input),
      currencyOut: money(body.destinationCurrency, output, least),
      slippageTolerance: { total: slippage },
      timeEstimate: 2,
    },
  };
}

/** At one to one, less the fees; the least is what the slippage leaves. */
function quoteOf(body: Json, { mode, other }: { mode: number; other: string }): Json {
  const { user, originCurrency, destinationCurrency, originChainId, destinationChainId } = body;
  const amount = BigInt(body.amount);
  const taken = feesIn(body).reduce((sum, fee) => sum + fee.amount, 0n);
  const output = amount - taken;
  const slippage = body.slippageTolerance ?? "100";
  const least = (output * (10_000n - BigInt(slippage))) / 10_000n;
  const requestId = `0x${randomBytes(32).toString("hex")}`;
  const isHere = originChainId === destinationChainId;
  const isNative = originCurrency === NATIVE;
  const functionName = isHere ? "swap" : "deposit";
  const args = isHere
    ? [originCurrency, amount, destinationCurrency, output, least, user, BigInt(mode), other]
    : [requestId, originCurrency, amount];
  const call = encodeFunctionData({ abi: swapRouterAbi, functionName, args });
  const common = { from: user, chainId: originChainId };
  const step = (id: string, data: Json) => ({
    id,
    kind: "transaction",
    requestId,
    items: [{ status: "incomplete", data: { ...common, ...data } }],
  });
  const word = (value: string) => value.padStart(64, "0");
  const approval = `0x095ea7b3${word(SWAP_ROUTER.slice(2).toLowerCase())}${word(amount.toString(16))}`;
  const money = (chainId: number, address: string, value: bigint, minimum = value) => ({
    currency: { chainId, address, symbol: "T", decimals: 6 },
    amount: String(value),
    minimumAmount: String(minimum),
  });
  return {
    steps: [
      ...(isNative ? [] : [step("approve", { to: originCurrency, data: approval, value: "0" })]),
      step(functionName, { to: SWAP_ROUTER, data: call, value: isNative ? String(amount) : "0" }),
    ],
    fees: {},
    details: {
      operation: "swap",
      // As it writes addresses: in whichever case.
      sender: user.toUpperCase().replace("0X", "0x"),
      recipient: user,
      currencyIn: money(originChainId, originCurrency, amount),
      currencyOut: money(destinationChainId, destinationCurrency, output, least),
      slippageTolerance: { total: slippage },
      timeEstimate: isHere ? 2 : 30,
    },
  };
}
