import { hashAuthorization } from "../../../chains/evm/authorization.ts";
import { executionDigest, sponsorData } from "../../../chains/evm/gas-station.ts";
import { parseSignedTransaction, transactionHash } from "../../../chains/evm/signed-transaction.ts";
import {
  type EvmTransaction,
  hashToSign,
  serializeSigned,
  serializeUnsigned,
} from "../../../chains/evm/transaction.ts";
import { signerForActivity } from "../../../engine/activities/occasion.ts";
import { type ActivityRecord, findActivity } from "../../../engine/activities/rows.ts";
import { findOrganization } from "../../../engine/identity/organizations.ts";
import type { Organization } from "../../../engine/operations.ts";
import type { AskedSigner } from "../../../engine/services.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { fail } from "../../../kernel/errors.ts";
import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader } from "../../../storage/engine.ts";
import { askSigner } from "../../signing/model.ts";
import { findSigningKey } from "../../signing/store.ts";
import { signAsSponsor, sponsoredSend } from "../../sponsoring/store.ts";
import type { SentTransaction, SignedAs } from "../store.ts";
import { batchOf } from "./batches.ts";
import { EXECUTION_LIFETIME_S, type Inner } from "./execution.ts";
import { type Fees, type Plan, transactionOf } from "./transaction.ts";

/** A transaction's activity, and the plan that its decision approved. */
export interface Decided {
  activity: ActivityRecord;
  plan: Plan;
  /** The purpose of a sponsored transaction. */
  purpose?: string;
}

export async function decidedOn(read: Reader, send: SentTransaction): Promise<Decided> {
  const { organizationId, activityId, isSponsored } = send;
  const activity = await findActivity(read, organizationId, activityId);
  if (activity && isSponsored) return { activity, ...(await sponsoredSend(read, send)) };
  if (activity?.plan === undefined) return fail("ACTIVITY_WITHOUT_BODY", { activityId });
  const planned = activity.plan as Plan | { transactions: Plan[] };
  if (!("transactions" in planned)) return { activity, plan: planned };
  const plan = planned.transactions[(send.progress as { part?: number }).part ?? 0];
  return plan ? { activity, plan } : fail("ACTIVITY_WITHOUT_BODY", { activityId });
}

/** The organization whose activity sends the transaction. */
export async function organizationOf(
  read: Reader,
  { organizationId }: Pick<SentTransaction, "organizationId">,
): Promise<Organization> {
  const organization = await findOrganization(read, organizationId);
  return organization ?? fail("RESOURCE_NOT_FOUND", { kind: "organization", id: organizationId, organizationId });
}

type Signing = { read: Reader; signer: AskedSigner<"sign" | "signSponsorTransaction">; clock: Clock };

/**
 * Signs an approved plan with a nonce and fees. The signer receives the plan's activity and checks the key against its request body, as it
 * does when a request signs immediately.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND if the key has been deleted since; SIGNER_UNAVAILABLE and similar errors
 */
export async function signDecided(
  signing: Signing,
  decided: Decided,
  given: Fees & { nonce: number; inner: Inner },
): Promise<SignedAs> {
  return signWhole(signing, decided, await withInner(signing, decided, given));
}

/**
 * Signs a transaction again with other fees. What its account signed inside it, including the deadline, stays the same, so the payer needs no
 * new signature of the account.
 *
 * @throws KeysteadError as `signDecided`
 */
export function signAgain(
  signing: Signing,
  decided: Decided,
  { signedTransaction }: SignedAs,
  fees: Fees,
): Promise<SignedAs> {
  const { transaction } = parseSignedTransaction(signedTransaction, "signedTransaction");
  return signWhole(signing, decided, { ...transaction, ...fees } as EvmTransaction);
}

async function signWhole(signing: Signing, decided: Decided, transaction: EvmTransaction): Promise<SignedAs> {
  const { r, s, v } =
    decided.purpose === undefined
      ? await signAsAccount(signing, decided, decided.plan.from, hashToSign(transaction))
      : await signFromSponsor(signing, decided, transaction);
  const signature = { r, s, yParity: v === "01" ? 1 : 0 } as const;
  return {
    signedTransaction: serializeSigned(transaction, signature),
    transactionHash: transactionHash({ transaction, signature }),
  };
}

/** The transaction, with the account's signatures inside it. */
async function withInner(
  signing: Signing,
  decided: Decided,
  given: Fees & { nonce: number; inner: Inner },
): Promise<EvmTransaction> {
  const transaction = transactionOf(decided.plan, given);
  const { authorizationNonce, stationNonce } = given.inner;
  const { from, to, execution, authorize = to } = decided.plan;
  const account = execution?.account ?? from;
  const whole = { ...transaction };
  if (execution && stationNonce !== undefined) {
    const deadline = execution.deadline ?? BigInt(Math.floor(signing.clock() / 1000)) + EXECUTION_LIFETIME_S;
    const calls = batchOf(execution.calls);
    const signed = { payer: from, nonce: BigInt(stationNonce), deadline: BigInt(deadline), calls };
    const digest = executionDigest(transaction.chainId, account, signed);
    const { r, s, v } = await signAsAccount(signing, decided, account, digest);
    whole.data = sponsorData(account, signed, `0x${r}${s}${v === "01" ? "1c" : "1b"}`);
  }
  if (authorizationNonce === undefined) return whole;
  const authorization = { chainId: transaction.chainId, address: authorize, nonce: BigInt(authorizationNonce) };
  const { r, s, v } = await signAsAccount(signing, decided, account, hashAuthorization(authorization));
  const signed = { ...authorization, yParity: v === "01" ? 1n : 0n, r: BigInt(`0x${r}`), s: BigInt(`0x${s}`) };
  return { ...whole, type: "TYPE_4", authorizationList: [signed] };
}

async function signAsAccount(
  { read, signer: ofAll }: Signing,
  { activity }: Decided,
  account: string,
  digest: Uint8Array,
) {
  const signer = await signerForActivity(read, ofAll, activity);
  const organization = await organizationOf(read, activity);
  const key = await findSigningKey(read, organization.id, account);
  const payloads = [digest];
  const [{ r = "", s = "", v = "" } = {}] = await askSigner({ organization, signer }, key, { hash: "none", payloads });
  return { r, s, v };
}

async function signFromSponsor(
  { read, signer: ofAll }: Signing,
  { activity, plan, purpose = "" }: Decided,
  transaction: EvmTransaction,
) {
  const { organizationId } = activity;
  const { caip2, from: payer } = plan;
  // Asked as the installation, so that the organization's own queue at the signer does not delay others who wait for the same account.
  const signer = await signerForActivity(read, ofAll, activity, INSTALLATION);
  return signAsSponsor({ read, signer }, { organizationId, caip2, payer, purpose }, serializeUnsigned(transaction));
}
