import {
  ACCOUNT_COST,
  ADDRESS_PROOF_COST,
  frostCost,
  NEW_KEY_COST,
  rehearsalCost,
  SPARK_SENDER_COST,
  signatureCost,
  sparkLeafCost,
  statementCost,
} from "../cost.ts";

import type { AccountReference, Ping, RequestFrame, Responses, SignerRequest } from "../protocol.ts";
import { useOf } from "./occasion.ts";
import { claimTransfer, prepareTransfer } from "./spark.ts";
import { type AnsweredRequest, answer, recordUse, sparkWalletOf } from "./verbs.ts";

/**
 * A long request is split into slices of short requests of the same kind, so that the signer can work on others in between. Each slice
 * opens the secrets that it needs and wipes them at its end, so none stays open while others are served.
 */

/** The work on a request, which pauses after every slice. */
export type Work = Generator<void, unknown, void>;

type Sliced =
  | "sign"
  | "signStatements"
  | "generateKeys"
  | "createWallet"
  | "deriveAccounts"
  | "importWallet"
  | "proveAddresses"
  | "rehearse"
  | "signSparkFrost"
  | "prepareSparkTransfer"
  | "claimSparkTransfer";
type Request<Verb extends SignerRequest["verb"]> = Extract<SignerRequest, { verb: Verb }>;
type WorkOn<Verb extends SignerRequest["verb"]> = Generator<void, Responses[Verb], void>;

type FrostShares = Exclude<Responses["signSparkFrost"], { problem: string }>;

/** The maximum cost of a slice: a few milliseconds. */
const SLICE_COST = 32;
const ACCOUNTS_IN_A_SLICE = SLICE_COST / ACCOUNT_COST;

type Asked = Omit<Exclude<RequestFrame, Ping>, "id">;

/**
 * Answers a request if its occasion allows it, and logs the use.
 *
 * @throws what `useOf` and `answer` throw
 */
export function* work({ request, occasion, traceId }: Asked): Work {
  const use = useOf(request, occasion);
  const answered = yield* inSlices(request);
  if (use) recordUse(isTraceId(traceId) ? { ...use, traceId } : use);
  return answered;
}

/** Only valid trace ids are logged, so that nobody can write arbitrary text into the log. */
const isTraceId = (traceId: string | undefined): traceId is string => /^[0-9a-f]{32}$/.test(traceId ?? "");

/** @throws what `answer` throws */
export function* inSlices(request: SignerRequest): Work {
  const sliced = slicers[request.verb as Sliced] as ((request: SignerRequest) => Work) | undefined;
  return sliced ? yield* sliced(request) : answer(request as AnsweredRequest);
}

const slicers: { [Verb in Sliced]: (request: Request<Verb>) => WorkOn<Verb> } = {
  *sign(request) {
    const { key, scheme, payloads } = request;
    const slices = slicesOf(payloads, (payload) => signatureCost(key, scheme, payload));
    const answers = yield* each(slices, (payloads) => answer({ ...request, payloads }));
    return { signatures: answers.flatMap(({ signatures }) => signatures) };
  },

  *signStatements(request) {
    const { key, statements } = request;
    const slices = slicesOf(statements, (statement) => statementCost(key, statement));
    const answers = yield* each(slices, (statements) => answer({ ...request, statements }));
    return { signatures: answers.flatMap(({ signatures }) => signatures) };
  },

  *generateKeys(request) {
    const slices = slicesOf(request.keys, () => NEW_KEY_COST);
    const answers = yield* each(slices, (keys) => answer({ ...request, keys }));
    return { keys: answers.flatMap(({ keys }) => keys) };
  },

  *createWallet(request) {
    const [first, more] = firstSlice(request.accounts);
    const wallet = answer({ ...request, accounts: first });
    return yield* withMoreAccounts(request, wallet, more);
  },

  *deriveAccounts(request) {
    const slices = slicesOf(request.accounts, () => ACCOUNT_COST);
    const answers = yield* each(slices, (accounts) => answer({ ...request, accounts }));
    return { publicKeys: answers.flatMap(({ publicKeys }) => publicKeys) };
  },

  *importWallet(request) {
    const [first, more] = firstSlice(request.accounts);
    const wallet = answer({ ...request, accounts: first });
    return "problem" in wallet ? wallet : yield* withMoreAccounts(request, wallet, more);
  },

  *signSparkFrost(request) {
    const made: FrostShares["signatures"] = [];
    for (const signatures of slicesOf(request.signatures, frostCost)) {
      const shares = answer({ ...request, signatures });
      if ("problem" in shares) return { ...shares, at: made.length + shares.at };
      made.push(...shares.signatures);
      yield;
    }
    return { signatures: made };
  },

  *prepareSparkTransfer(request) {
    const { transfer } = request;
    const slices = slicesOf(transfer.leaves, () => sparkLeafCost(transfer));
    return yield* prepareTransfer(sparkWalletOf(request), request, slices);
  },

  *claimSparkTransfer(request) {
    const { claim } = request;
    const slices = slicesOf(claim.leaves, () => SPARK_SENDER_COST + sparkLeafCost(claim));
    return yield* claimTransfer(sparkWalletOf(request), request, slices);
  },

  *proveAddresses(request) {
    const slices = slicesOf(request.addresses, () => ADDRESS_PROOF_COST);
    const answers = yield* each(slices, (addresses) => answer({ ...request, addresses }));
    return { ...(answers[0] as Responses["proveAddresses"]), proofs: answers.flatMap(({ proofs }) => proofs) };
  },

  *rehearse(request) {
    const slices = slicesOf(request.items, rehearsalCost);
    const answers = yield* each(slices, (items) => answer({ ...request, items }));
    return { items: answers.flatMap(({ items }) => items) };
  },
};

/** Derives the remaining accounts of a wallet that was created with the first ones. */
function* withMoreAccounts<Wallet extends { sealedWallet: string; publicKeys: string[] }>(
  { organizationId, organizationKey, walletId }: Request<"createWallet" | "importWallet">,
  wallet: Wallet,
  accounts: AccountReference[],
): Generator<void, Wallet, void> {
  if (accounts.length === 0) return wallet;
  yield;
  const { sealedWallet } = wallet;
  const owner = { organizationId, organizationKey };
  const { publicKeys } = yield* slicers.deriveAccounts({
    verb: "deriveAccounts",
    ...owner,
    walletId,
    sealedWallet,
    accounts,
  });
  return { ...wallet, publicKeys: [...wallet.publicKeys, ...publicKeys] };
}

const firstSlice = (accounts: AccountReference[]): [AccountReference[], AccountReference[]] => [
  accounts.slice(0, ACCOUNTS_IN_A_SLICE),
  accounts.slice(ACCOUNTS_IN_A_SLICE),
];

function* each<Slice, Answer>(
  slices: readonly Slice[],
  answerTo: (slice: Slice) => Answer,
): Generator<void, Answer[], void> {
  const answers: Answer[] = [];
  for (const slice of slices) {
    if (answers.length > 0) yield;
    answers.push(answerTo(slice));
  }
  return answers;
}

/**
 * Splits items into slices, in order. A slice has items up to the maximum cost, or a single item that costs more. An empty list has one
 * empty slice.
 */
function slicesOf<Item>(items: readonly Item[], costOfItem: (item: Item) => number): Item[][] {
  const slices: Item[][] = [[]];
  let cost = 0;
  for (const item of items) {
    cost += costOfItem(item);
    const slice = slices.at(-1) as Item[];
    if (cost <= SLICE_COST || slice.length === 0) {
      slice.push(item);
    } else {
      slices.push([item]);
      cost = costOfItem(item);
    }
  }
  return slices;
}
