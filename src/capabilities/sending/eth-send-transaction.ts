import { type Static, Type } from "typebox";
import { evmChains } from "../../chains/evm/networks.ts";
import { activity } from "../../engine/declare.ts";
import { OneOf, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_EVM_TRANSACTION_BYTES, MAX_NONCE, MAX_SENT_CALLS, MAX_SPONSORED_GAS } from "../../kernel/limits.ts";
import { findSigningKey } from "../signing/store.ts";
import { planSponsored, sponsorSend } from "../sponsoring/store.ts";
import { plannedFacts } from "./evm/facts.ts";
import { planBatch, planCall, planExecution, type WantedCalls } from "./evm/plans.ts";
import { type Fees, Plan, type PlannedCall } from "./evm/transaction.ts";
import { planInTurn } from "./planning.ts";
import { queueOwn } from "./store.ts";

const Digits = (bits: number, what: string) =>
  Type.String({ pattern: `^(0|[1-9][0-9]{0,${bits - 1}})$`, description: `${what} in digits` });
const Wei = Digits(78, "an amount of wei");
const Address = Type.String({ pattern: "^0[xX][0-9a-fA-F]{40}$", description: "an address: 0x and 40 hex digits" });
const Data = Type.String({
  maxLength: 2 * MAX_EVM_TRANSACTION_BYTES + 2,
  pattern: "^(0x)?([0-9a-fA-F]{2})*$",
  description: "an even number of hex digits, with or without 0x",
});
const call = { to: Address, value: Type.Optional(Wei), data: Type.Optional(Data) };
export const accountFields = {
  from: Address,
  nonce: Type.Optional(Digits(20, "a nonce")),
  gasLimit: Type.Optional(Digits(20, "an amount of gas")),
  maxFeePerGas: Type.Optional(Wei),
  maxPriorityFeePerGas: Type.Optional(Wei),
};
const common = {
  ...accountFields,
  caip2: OneOf(evmChains),
  sponsor: Type.Optional(Type.Boolean()),
  deadline: Type.Optional(Digits(20, "a time")),
  gasStationNonce: Type.Optional(Digits(39, "a nonce")),
};
const Intent = Strict({ ...common, calls: SomeOf(Strict(call), MAX_SENT_CALLS) });
const IntentV1 = Strict({ ...common, ...call });
type Intent = Static<typeof Intent>;

/** An allowance for each call in a batch besides its data, which also covers the batch's signature and header. */
const CALL_BYTES = 1024;

const Result = Type.Object({ sendTransactionStatusId: Type.String() });

export const ethSendTransaction = activity({
  path: "eth_send_transaction",
  summary:
    "Sign a transaction or a batch of calls and send it to its Ethereum chain. Fees and the nonce are filled in if they are not given. With `sponsor`, this service pays.",
  needs: ["evm", "assets", "gasStations"],
  version: 2,
  intent: Intent,
  result: Result,
  resultKey: "ethSendTransactionResultV2",
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ to, value, data, ...rest }: Static<typeof IntentV1>): Intent => ({
        ...rest,
        calls: [{ to, ...(value === undefined ? {} : { value }), ...(data === undefined ? {} : { data }) }],
      }),
      result: { schema: Result, from: (result: Static<typeof Result>) => result },
    },
  },
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check,
  plan: {
    schema: Plan,
    make: async ({ intent, read, organization, evm, assets, gasStations }) => {
      await findSigningKey(read, organization.id, intent.from);
      await evm.requireChain(intent.caip2);
      const station = gasStations.of(intent.caip2);
      const through = { evm, assets, read, organizationId: organization.id, station };
      const wanted = wantedOf(intent);
      return planInTurn(organization, () => {
        if (intent.sponsor === true) return planExecution(through, wanted, (call) => planSponsored(through, call));
        return intent.calls.length > 1 ? planBatch(through, wanted) : planCall(through, wanted);
      });
    },
  },
  async policyFacts({ plan, read, organization }) {
    return plannedFacts(read, organization.id, plan);
  },
  async run(context) {
    const { plan, tx, organization, activityId, id, now } = context;
    const sendTransactionStatusId = id("sendTransaction");
    const send = { id: sendTransactionStatusId, activityId, now };
    if (plan.execution) await sponsorSend(tx, { ...send, organization, plan, purpose: "eth_send_transaction" });
    else await queueOwn(tx, plan, { ...send, organizationId: organization.id });
    return { sendTransactionStatusId };
  },
});

const refuse = (member: string, reason: string): never =>
  fail("FIELD_INVALID", { field: `parameters.${member}`, reason });

function check(intent: Intent): void {
  const { calls, sponsor, deadline, gasStationNonce, nonce, maxFeePerGas, maxPriorityFeePerGas } = intent;
  if (sponsor === true) {
    for (const [member, value] of Object.entries({ nonce, maxFeePerGas, maxPriorityFeePerGas })) {
      if (value !== undefined) refuse(member, "is only for transactions that `from` pays for; leave it out");
    }
  } else {
    if (deadline !== undefined) refuse("deadline", "is only for sponsored transactions; leave it out");
    if (gasStationNonce !== undefined) refuse("gasStationNonce", "is only for sponsored transactions; leave it out");
  }
  if (sponsor === true && intent.gasLimit !== undefined && BigInt(intent.gasLimit) > MAX_SPONSORED_GAS) {
    refuse("gasLimit", `must be at most ${MAX_SPONSORED_GAS} if the service pays`);
  }
  requireBits(64, { deadline, gasStationNonce });
  requireBits(256, Object.fromEntries(calls.map(({ value }, index) => [`calls.${index}.value`, value])));
  const digits = calls.reduce((sum, { data = "" }) => sum + data.length, 0);
  const isBatch = sponsor === true || calls.length > 1;
  if (isBatch && digits / 2 + CALL_BYTES * calls.length > MAX_EVM_TRANSACTION_BYTES) {
    refuse("calls", `make a transaction of more than ${MAX_EVM_TRANSACTION_BYTES} bytes; send fewer at a time`);
  }
  checkQuantities(intent);
}

type Quantities = Pick<Intent, "nonce" | "gasLimit" | "maxFeePerGas" | "maxPriorityFeePerGas">;

export function checkQuantities({ nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas }: Quantities): void {
  if (nonce !== undefined && BigInt(nonce) > BigInt(MAX_NONCE)) refuse("nonce", `must be at most ${MAX_NONCE}`);
  requireBits(64, { gasLimit });
  requireBits(256, { maxFeePerGas, maxPriorityFeePerGas });
  if (maxFeePerGas !== undefined && BigInt(maxPriorityFeePerGas ?? 0) > BigInt(maxFeePerGas)) {
    refuse("maxPriorityFeePerGas", "must not be higher than `maxFeePerGas`");
  }
}

function requireBits(bits: number, quantities: Record<string, string | undefined>): void {
  for (const [member, quantity] of Object.entries(quantities)) {
    if (quantity !== undefined && BigInt.asUintN(bits, BigInt(quantity)) !== BigInt(quantity)) {
      refuse(member, `must fit into ${bits} bits`);
    }
  }
}

/** The calls that the request describes; members that the caller omits stay undefined. */
const wantedOf = (intent: Intent): WantedCalls => ({
  caip2: intent.caip2,
  account: intent.from.toLowerCase(),
  calls: plannedCalls(intent),
  gasLimit: intent.gasLimit,
  nonce: intent.nonce,
  fees: ownFees(intent),
  deadline: intent.deadline,
  stationNonce: intent.gasStationNonce,
});

const plannedCalls = ({ calls }: Intent): PlannedCall[] =>
  calls.map(({ to, value = "0", data = "" }) => ({
    to: to.toLowerCase(),
    value,
    data: `0x${data.replace(/^0x/, "").toLowerCase()}`,
  }));

export const ownFees = ({ maxFeePerGas, maxPriorityFeePerGas }: Quantities): Partial<Fees> => ({
  ...(maxFeePerGas === undefined ? {} : { maxFeePerGas: BigInt(maxFeePerGas) }),
  ...(maxPriorityFeePerGas === undefined ? {} : { maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) }),
});
