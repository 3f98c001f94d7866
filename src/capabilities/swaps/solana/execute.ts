import { base58 } from "@scure/base";
import { type Static, Type } from "typebox";
import { asSponsored, costOfSponsored } from "../../../chains/solana/sponsored.ts";
import {
  insertSignature,
  messageOf,
  NO_BLOCKHASH,
  parseTransaction,
  type SolanaTransaction,
  transactionOfMessage,
  withBlockhash,
} from "../../../chains/solana/transaction.ts";
import type { QuoteTerms } from "../../../crypto/swap-quotes.ts";
import type { PrepareContext } from "../../../engine/declare.ts";
import { fail, KeysteadError } from "../../../kernel/errors.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import type { Transactor } from "../../../storage/engine.ts";
import { TxError } from "../../sending/model.ts";
import {
  additionsOf,
  chooseBlockhash,
  planAdditions,
  planInTurn,
  queueSigned,
  requireSameRent,
  type SolanaSend,
  SponsoredPart,
  solanaAddressOf,
  storeUnsent,
  wantedBlockhash,
} from "../../sending/store.ts";
import { askSigner } from "../../signing/model.ts";
import { findSigningKey, requireSameKey, type SigningKey } from "../../signing/store.ts";
import { reserveCost, type SolanaSponsor, signAsSponsor } from "../../sponsoring/store.ts";
import { swapCluster } from "../services.ts";
import { type Refuse, requireForm } from "./message.ts";
import { faultOnSolana } from "./trial.ts";

/**
 * A swap on Solana from its quote to its signature. The quote's message gets a blockhash and, if the service pays, the sponsor as the fee payer
 * and its additions. It is then simulated and signed, and does not change any more.
 */

export const SolanaPart = Type.Object({
  /** In base58. */
  recentBlockhash: Type.String(),
  /** Why it is not signed. */
  fault: Type.Optional(TxError),
  /** Present if the service pays. */
  sponsored: Type.Optional(SponsoredPart),
});
type SolanaPart = Static<typeof SolanaPart>;

/** The purpose that is recorded for each use of the sponsor's key. */
const PURPOSE = "execute_swap";
const FIELD = "message";

/** The message in the terms of a quote on Solana. */
const messageIn = ({ message }: QuoteTerms): Buffer => {
  if (message === undefined) throw new Error("a quote on Solana has no message");
  return Buffer.from(message, "hex");
};

/** The final transaction of a quote, with empty signatures. */
export function swapTransaction(terms: QuoteTerms, { recentBlockhash, sponsored }: SolanaPart): SolanaTransaction {
  const quoted = transactionOfMessage(messageIn(terms), FIELD);
  return sponsored
    ? asSponsored(quoted, sponsored.payer, recentBlockhash, additionsOf(sponsored))
    : withBlockhash(quoted, base58.decode(recentBlockhash));
}

export interface WantedSwap {
  terms: QuoteTerms;
  /** Mints; null for SOL. */
  tokens: { input: string | null; output: string | null };
  /** The programs that the operator names. */
  programs: readonly string[];
  /** The blockhash in the request. */
  named: string | undefined;
  /** Undefined if the wallet pays. */
  sponsor: SolanaSponsor | undefined;
}

/** @throws KeysteadError FIELD_INVALID, SEND_REPEATED, CHAIN_UNAVAILABLE, and whatever `refuse` throws */
export async function planOnSolana(
  nodes: SolanaNodes,
  { terms, tokens, programs, named, sponsor }: WantedSwap,
  refuse: Refuse,
): Promise<SolanaPart> {
  const chain = swapCluster;
  const quoted = requireForm(messageIn(terms), terms.signWith, programs, refuse);
  const sponsored = sponsor && (await planSponsoring(nodes, quoted, sponsor, refuse));
  const transaction = swapTransaction(terms, { recentBlockhash: NO_BLOCKHASH, ...(sponsored ? { sponsored } : {}) });
  const swap = {
    chain,
    wallet: terms.signWith,
    input: { token: tokens.input, amount: BigInt(terms.inputAmount) },
    output: { token: tokens.output, least: BigInt(terms.minOutputAmount) },
    programs,
  };
  const wanted = wantedBlockhash({ recentBlockhash: NO_BLOCKHASH }, named);
  const fault = await faultOnSolana(nodes, swap, transaction);
  const recentBlockhash = wanted ?? (await chooseBlockhash(nodes, chain, messageOf(transaction)));
  return { recentBlockhash, ...(fault ? { fault } : {}), ...(sponsored ? { sponsored } : {}) };
}

/** If the service cannot pay for an offer, the error blames the offer and not the request. The wallet may still pay for it itself. */
async function planSponsoring(
  solana: SolanaNodes,
  quoted: SolanaTransaction,
  { paysRent, ...sponsor }: SolanaSponsor,
  refuse: Refuse,
): Promise<SponsoredPart> {
  try {
    const additions = await planAdditions({ solana, caip2: swapCluster, payer: sponsor.payer, paysRent }, quoted);
    return { ...sponsor, ...additions };
  } catch (error) {
    if (!(error instanceof KeysteadError) || error.code !== "TRANSACTION_INVALID") throw error;
    return refuse(`this service does not pay for it: ${error.message}`);
  }
}

type Signing = PrepareContext<unknown, "sign" | "signSponsorTransaction", unknown, "solana">;

/** The signed wire transaction, and the key that signed it. */
export interface SignedSwap {
  key: SigningKey;
  signed: Buffer;
}

/** @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND; TRANSACTION_INVALID if the rent differs from the plan; CHAIN_UNAVAILABLE */
export async function signOnSolana(context: Signing, terms: QuoteTerms, part: SolanaPart): Promise<SignedSwap> {
  const { read, organization } = context;
  const key = await findSigningKey(read, organization.id, terms.signWith);
  // The decision was for this key; another key that has the name now must not sign.
  if (key.curve !== "CURVE_ED25519" || solanaAddressOf(key) !== terms.signWith) fail("SIGNING_RESOURCE_NOT_FOUND", {});
  const transaction = await preparedBySponsor(context, terms, part);
  const [signature] = await askSigner(context, key, { hash: "none", payloads: [messageOf(transaction)] });
  const { r = "", s = "" } = signature ?? {};
  return { key, signed: insertSignature(transaction, terms.signWith, Buffer.from(r + s, "hex")) };
}

/** The swap's transaction; if the sponsor pays, its grants are checked again and it has the sponsor's signature. */
async function preparedBySponsor(
  { read, signer, organization, solana }: Signing,
  terms: QuoteTerms,
  part: SolanaPart,
): Promise<SolanaTransaction> {
  const transaction = swapTransaction(terms, part);
  const { sponsored } = part;
  if (!sponsored) return transaction;
  const caip2 = swapCluster;
  if (sponsored.grants.length > 0) {
    const quoted = transactionOfMessage(messageIn(terms), FIELD);
    await planInTurn(organization, () => requireSameRent({ solana, caip2 }, quoted, sponsored));
  }
  const { payer } = sponsored;
  const asked = { organizationId: organization.id, caip2, payer, purpose: PURPOSE };
  const { r, s } = await signAsSponsor({ read, signer }, asked, messageOf(transaction));
  return parseTransaction(insertSignature(transaction, payer, Buffer.from(r + s, "hex")), FIELD);
}

/**
 * Queues a swap's transaction, or stores its fault. If the service pays for it, the greatest possible cost is counted.
 *
 * @throws KeysteadError SEND_REPEATED, QUOTA_EXCEEDED, SPONSORING_DISABLED, GAS_PRICE_UNKNOWN, GAS_LIMIT_EXCEEDED
 */
export async function sendOnSolana(
  tx: Transactor,
  send: Omit<SolanaSend, "caip2" | "isSponsored">,
  { signWith }: QuoteTerms,
  { fault, sponsored }: SolanaPart,
  prepared: SignedSwap | undefined,
): Promise<void> {
  const { organization, now } = send;
  const caip2 = swapCluster;
  const queued = { ...send, caip2, isSponsored: sponsored !== undefined };
  if (fault) return storeUnsent(tx, queued, fault);
  if (!prepared) throw new Error("a swap on Solana is not signed");
  await requireSameKey(tx, organization.id, signWith, prepared.key);
  await queueSigned(tx, queued, prepared.signed);
  if (!sponsored) return;
  const { fee, grants } = costOfSponsored(parseTransaction(prepared.signed, FIELD));
  const price = sponsored.nativePrice;
  await reserveCost(tx, { organization, sendId: send.id, caip2, greatestCost: fee + grants, price, now });
}
