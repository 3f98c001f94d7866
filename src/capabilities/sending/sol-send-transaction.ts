import { type Static, Type } from "typebox";
import {
  canonicalSolanaChain,
  type SolanaChain,
  solanaChainSpellings,
  solanaChains,
} from "../../chains/solana/networks.ts";
import { asSponsored, costOfSponsored } from "../../chains/solana/sponsored.ts";
import {
  hexOfEither,
  insertSignature,
  messageOf,
  NO_BLOCKHASH,
  parseTransaction,
  type SolanaTransaction,
  wireOf,
} from "../../chains/solana/transaction.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { OneOf, SomeOf, Strict } from "../../engine/fields.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_BLOCKHASH_LOOKS, MAX_SOLANA_SIGNERS, MAX_SOLANA_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import type { SolanaNodes } from "../../nodes/pool.ts";
import { MissingFactError } from "../../policy/errors.ts";
import { askSigner, SignWith, solanaTransactionFacts } from "../signing/model.ts";
import { requireSameKey, type SigningKey, signingKeysFacts } from "../signing/store.ts";
import { reserveCost, signAsSponsor, solanaSponsor } from "../sponsoring/store.ts";
import { isOwnSend, noteOwner } from "./own-transactions.ts";
import { planInTurn } from "./planning.ts";
import { chooseBlockhash, refuseRepeated, requireOwnBlockhash } from "./solana/blockhash.ts";
import { enqueueFollowing } from "./solana/queue.ts";
import { additionsOf, planAdditions, requireAllSigners, requireSameRent, SponsoredPart } from "./solana/sponsored.ts";
import {
  findSigners,
  parseUnsigned,
  requireOtherSignatures,
  signatureOf,
  solanaAddressOf,
  TRANSACTION_FIELD,
  wantedBlockhash,
  withWantedBlockhash,
} from "./solana/unsponsored.ts";
import { addSend } from "./store.ts";

/** In hex. The bound is larger than a packet, so that the error for a transaction that is too large can state its size. */
const UnsignedTransaction = Type.String({ minLength: 2, maxLength: 8 * MAX_SOLANA_TRANSACTION_BYTES });
const common = {
  unsignedTransaction: UnsignedTransaction,
  sponsor: Type.Optional(Type.Boolean()),
  caip2: OneOf(solanaChainSpellings),
  recentBlockhash: Type.Optional(Type.String({ maxLength: 64 })),
};
const Intent = Strict({ ...common, signWiths: SomeOf(SignWith, MAX_SOLANA_SIGNERS) });
const IntentV1 = Strict({ ...common, signWith: SignWith });
type Intent = Static<typeof Intent>;

const Result = Type.Object({ sendTransactionStatusId: Type.String() });

/** Values that are not in the request, or that requests may spell in several ways. */
const Plan = Type.Object({
  caip2: OneOf(solanaChains),
  /** The message's blockhash in base58. Absent if the service pays and the request names none; it is then fetched before signing. */
  recentBlockhash: Type.Optional(Type.String()),
  /** The addresses of the keys in `signWiths`, in the same order. */
  signers: Type.Array(Type.String()),
  /** Present if the service pays. */
  sponsored: Type.Optional(SponsoredPart),
});
type Plan = Static<typeof Plan>;

/** The purpose that is recorded for each use of the sponsor's key. */
const PURPOSE = "sol_send_transaction";
type Asked = "sign" | "signSponsorTransaction";

export const solSendTransaction = activity({
  path: "sol_send_transaction",
  summary:
    "Sign a Solana transaction and send it. The transaction is parsed, and policies see its content. With `sponsor`, this service pays.",
  needs: ["solana", "assets", "rentPaid"],
  asks: ["sign", "signSponsorTransaction"],
  version: 2,
  intent: Intent,
  result: Result,
  resultKey: "solSendTransactionResultV2",
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ signWith, unsignedTransaction, ...rest }: Static<typeof IntentV1>): Intent => ({
        ...rest,
        signWiths: [signWith],
        unsignedTransaction: hexOfEither(unsignedTransaction, TRANSACTION_FIELD),
      }),
      result: { schema: Result, from: (result: Static<typeof Result>) => result },
    },
  },
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  check({ unsignedTransaction, recentBlockhash }) {
    wantedBlockhash(parseUnsigned(unsignedTransaction), recentBlockhash);
  },
  plan: {
    schema: Plan,
    async make(context): Promise<Plan> {
      const { intent, read, organization, solana } = context;
      const { unsignedTransaction, signWiths } = intent;
      const caip2 = canonicalSolanaChain(intent.caip2);
      const given = parseUnsigned(unsignedTransaction);
      const signers = (await findSigners(read, organization.id, given, signWiths)).map(solanaAddressOf);
      await solana.requireChain(caip2);
      if (intent.sponsor !== true) return planOfOwn(solana, intent, { caip2, given, signers });
      const { paysRent, ...sponsor } = await solanaSponsor(context, caip2);
      requireAllSigners(given, sponsor.payer, signers);
      const sponsoring = { solana, caip2, payer: sponsor.payer, paysRent };
      const additions = await planInTurn(organization, () => planAdditions(sponsoring, given));
      const recentBlockhash = namedBlockhash(intent);
      return {
        caip2,
        ...(recentBlockhash === undefined ? {} : { recentBlockhash }),
        signers,
        sponsored: { ...sponsor, ...additions },
      };
    },
  },
  async policyFacts({ intent, plan, read, organization }) {
    const { id } = organization;
    const keyFacts = await signingKeysFacts(read, id, intent.signWiths);
    const facts = await solanaTransactionFacts(read, id, transactionOf(intent, plan));
    return Object.assign(keyFacts, plan.recentBlockhash === undefined ? withoutBlockhash(facts) : facts);
  },
  prepare,
  async run({ intent, plan, tx, organization, activityId, id, now, prepared: { keys, signed } }) {
    for (const [index, key] of keys.entries()) {
      await requireSameKey(tx, organization.id, intent.signWiths[index] as string, key);
    }
    const { caip2, sponsored } = plan;
    const sendTransactionStatusId = id("sendTransaction");
    const transactionHash = signatureOf(signed);
    const isSponsored = sponsored !== undefined;
    const own = { organizationId: organization.id, caip2, transactionHash };
    const isFirst = await noteOwner(tx, { ...own, activityId, isSponsored });
    // A retry signs a sponsored transaction again with another blockhash. The blockhash of other transactions is fixed in the plan.
    if (!isFirst && namedBlockhash(intent) === undefined) refuseRepeated(caip2, { isTransient: isSponsored });
    await addSend(tx, {
      ...own,
      id: sendTransactionStatusId,
      activityId,
      isSponsored,
      signedTransaction: signed,
      now,
    });
    if (sponsored) {
      const { fee, grants } = costOfSponsored(parseTransaction(signed, TRANSACTION_FIELD));
      const sendId = sendTransactionStatusId;
      const price = sponsored.nativePrice;
      await reserveCost(tx, { organization, sendId, caip2, greatestCost: fee + grants, price, now });
    }
    await enqueueFollowing(tx, { organizationId: organization.id, caip2 }, now);
    return { sendTransactionStatusId };
  },
});

/** The plan of a transaction that its first signer pays for. */
async function planOfOwn(
  solana: SolanaNodes,
  intent: Intent,
  { caip2, given, signers }: { caip2: SolanaChain; given: SolanaTransaction; signers: string[] },
): Promise<Plan> {
  const recentBlockhash = namedBlockhash(intent) ?? (await chooseBlockhash(solana, caip2, messageOf(given)));
  const plan = { caip2, recentBlockhash, signers };
  await requireOtherSignatures(transactionOf(intent, plan), signers);
  return plan;
}

/** The blockhash in the request or, unless the service pays, in its transaction; undefined if this service is to choose one. */
const namedBlockhash = ({ unsignedTransaction, recentBlockhash, sponsor }: Intent): string | undefined =>
  recentBlockhash || sponsor !== true
    ? wantedBlockhash(parseUnsigned(unsignedTransaction), recentBlockhash)
    : undefined;

/** The transaction as it is signed. */
function transactionOf(
  { unsignedTransaction }: Intent,
  { recentBlockhash, sponsored }: Plan,
  blockhash = recentBlockhash ?? NO_BLOCKHASH,
): SolanaTransaction {
  const given = parseUnsigned(unsignedTransaction);
  if (!sponsored) return withWantedBlockhash(given, blockhash);
  return asSponsored(given, sponsored.payer, blockhash, additionsOf(sponsored));
}

function withoutBlockhash({ solana }: PolicyFacts): PolicyFacts {
  const get = () => {
    throw new MissingFactError(
      "the transaction gets its blockhash only when it is signed; set one to let policies see it",
    );
  };
  const tx = Object.defineProperties({}, Object.getOwnPropertyDescriptors(solana?.tx ?? {}));
  return { solana: { tx: Object.defineProperty(tx, "recent_blockhash", { get, enumerable: true }) } } as PolicyFacts;
}

async function prepare(context: PrepareContext<Intent, Asked, Plan, "solana">) {
  const { intent, plan, read, organization, solana } = context;
  const { unsignedTransaction, signWiths } = intent;
  const { caip2, sponsored } = plan;
  const given = parseUnsigned(unsignedTransaction);
  const keys = await findSigners(read, organization.id, given, signWiths);
  // The decision was for these keys; another key that has one of the names now must not sign.
  if (keys.some((key, index) => solanaAddressOf(key) !== plan.signers[index])) fail("SIGNING_RESOURCE_NOT_FOUND", {});
  let signed = transactionOf(intent, plan);
  if (sponsored) {
    if (sponsored.grants.length > 0) {
      await planInTurn(organization, () => requireSameRent({ solana, caip2 }, given, sponsored));
    }
    signed = await signedBySponsor(context, sponsored);
  }
  for (const key of keys) signed = parseUnsigned(toHex(await insertOwnSignature(context, signed, key)));
  return { keys, signed: wireOf(signed) };
}

/** Has the sponsor sign with the named blockhash, or with one for which no activity of the organization has sent the same transaction. */
async function signedBySponsor(
  context: PrepareContext<Intent, Asked, Plan, "solana">,
  sponsored: SponsoredPart,
): Promise<SolanaTransaction> {
  const { intent, plan, read, organization, solana } = context;
  const { caip2 } = plan;
  const signedWith = (blockhash: string) =>
    insertSponsorSignature(context, transactionOf(intent, plan, blockhash), sponsored);
  const { recentBlockhash } = plan;
  if (recentBlockhash !== undefined) {
    await planInTurn(organization, () => requireOwnBlockhash(solana, caip2, recentBlockhash));
    return signedWith(recentBlockhash);
  }
  const message = messageOf(transactionOf(intent, plan));
  for (let tries = 0; tries < MAX_BLOCKHASH_LOOKS; tries++) {
    const signed = await signedWith(await chooseBlockhash(solana, caip2, message));
    const transactionHash = signatureOf(wireOf(signed));
    if (!(await isOwnSend(read, { organizationId: organization.id, caip2, transactionHash }))) return signed;
  }
  return refuseRepeated(caip2, { isTransient: true });
}

async function insertSponsorSignature(
  { read, signer, organization, plan: { caip2 } }: PrepareContext<Intent, Asked, Plan, "solana">,
  transaction: SolanaTransaction,
  { payer }: SponsoredPart,
): Promise<SolanaTransaction> {
  const asked = { organizationId: organization.id, caip2, payer, purpose: PURPOSE };
  const { r, s } = await signAsSponsor({ read, signer }, asked, messageOf(transaction));
  return parseUnsigned(toHex(insertSignature(transaction, payer, Buffer.from(r + s, "hex"))));
}

async function insertOwnSignature(
  context: PrepareContext<Intent, Asked, Plan, "solana">,
  transaction: SolanaTransaction,
  key: SigningKey,
): Promise<Buffer> {
  const [signature] = await askSigner(context, key, { hash: "none", payloads: [messageOf(transaction)] });
  const { r = "", s = "" } = signature ?? {};
  return insertSignature(transaction, solanaAddressOf(key), Buffer.from(r + s, "hex"));
}
