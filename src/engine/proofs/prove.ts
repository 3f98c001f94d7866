import { createHash } from "node:crypto";
import { fail } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { MAX_PROVEN_ADDRESSES, MAX_PROVEN_BODY_BYTES, MAX_PROVEN_STATEMENT_BYTES } from "../../kernel/limits.ts";
import type { Signer } from "../../signer/client.ts";
import type { AddressReference, PolicyOutcome, SignedPayload } from "../../signer/protocol.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";
import { approvingStamps, type Execution } from "../activities/stamps.ts";
import { findRootQuorum } from "../authority/root-quorum.ts";
import { policiesForProof } from "../decisions/policies.ts";
import { loadUsers } from "../identity/users.ts";
import { keyOwnerOf } from "../keys/key-owner.ts";
import type { NewAppProof } from "./app-proofs.ts";
import { bootProofIdOf } from "./boot-proofs.ts";

/**
 * App proofs of activities. They state that an activity was allowed, on which facts, and by whom. The statement is signed before the
 * transaction that carries the activity out and made again inside it; the proof is stored only if both are equal.
 */

type ProofStore = { database: Database; signer: Pick<Signer, "ask"> };

/** Proofs, with the statement that they prove. */
export interface PreparedProofs {
  statement: string;
  proofs: NewAppProof[];
}

/** @throws KeysteadError if the stamped body is too large for a proof */
export function refuseLargeBody(message: string): void {
  if (Buffer.byteLength(message) <= MAX_PROVEN_BODY_BYTES) return;
  refuse(`allows requests of at most ${MAX_PROVEN_BODY_BYTES} bytes, because proofs contain them`);
}

/** Lets the signer sign the current statement on an execution, and the addresses that it creates. Stores only the signer's boot proof. */
export async function proveExecution(
  store: ProofStore,
  execution: Execution,
  addresses: readonly AddressReference[],
): Promise<PreparedProofs> {
  const { organization, now } = execution.facts;
  if (addresses.length > MAX_PROVEN_ADDRESSES) {
    refuse(`proves at most ${MAX_PROVEN_ADDRESSES} addresses at once, but there are ${addresses.length}`);
  }
  const policyOutcome = await outcomeOf(store.database.read, execution);
  const statement = JSON.stringify(policyOutcome);
  if (Buffer.byteLength(statement) > MAX_PROVEN_STATEMENT_BYTES) {
    refuse(`is not possible: the approvals together are larger than ${MAX_PROVEN_STATEMENT_BYTES} bytes`);
  }
  const ofOutcome = await store.signer.ask({ verb: "provePolicyOutcome", timestampMs: String(now), policyOutcome });
  const proofs = await withBoot(store, ofOutcome.ephemeralPublicKey, [ofOutcome.proof], now);
  if (addresses.length === 0) return { statement, proofs };
  const ofAddresses = await store.signer.ask({
    verb: "proveAddresses",
    ...keyOwnerOf(organization),
    addresses: [...addresses],
  });
  proofs.push(...(await withBoot(store, ofAddresses.ephemeralPublicKey, ofAddresses.proofs, now)));
  return { statement, proofs };
}

/** Whether the statement of the proofs is still true, checked in the transaction that stores them. */
export const stillHolds = async (read: Reader, { statement }: PreparedProofs, execution: Execution): Promise<boolean> =>
  JSON.stringify(await outcomeOf(read, execution)) === statement;

function refuse(reason: string): never {
  fail("FIELD_INVALID", { field: "generateAppProofs", reason });
}

async function withBoot(
  store: ProofStore,
  ephemeralPublicKey: string,
  proofs: readonly SignedPayload[],
  now: number,
): Promise<NewAppProof[]> {
  const bootProofId = await bootProofIdOf(store, ephemeralPublicKey, now);
  if (bootProofId === undefined)
    fail("SIGNER_UNAVAILABLE", { reason: "it was restarted while it made the proofs for this request" });
  return proofs.map((proof) => ({ ...proof, bootProofId }));
}

async function outcomeOf(read: Reader, execution: Execution): Promise<PolicyOutcome> {
  const { organization } = execution.facts;
  const { id: organizationId, parentId } = organization;
  return {
    organizationId,
    outcome: "OUTCOME_ALLOW",
    decisionContextDigest: digestOf(decisionContextOf(execution)),
    organizationDataDigest: digestOf(await organizationDataOf(read, organizationId)),
    parentOrganizationDataDigest: parentId === null ? "" : digestOf(await organizationDataOf(read, parentId)),
    userRequestApprovals: (await approvingStamps(read, execution)).map(({ scheme, publicKey, message, signature }) => ({
      scheme,
      publicKey,
      message,
      signature,
    })),
  };
}

/** The SHA-256 of the canonical JSON, in hex. docs/guide/proofs.md describes its content. */
const digestOf = (value: unknown): string => createHash("sha256").update(canonicalJson(value)).digest("hex");

function decisionContextOf({ record, facts, evaluations }: Execution): unknown {
  const { subject, submitter, approvals, now } = facts;
  return {
    organizationId: record.organizationId,
    type: record.type,
    fingerprint: record.fingerprint,
    governedBy: subject.governedBy,
    ...(subject.governedBy === "policies" ? { resource: subject.resource, action: subject.action } : {}),
    submitterId: submitter.userId,
    approvals: approvals.map(({ actor, credentials }) => ({
      userId: actor.userId,
      publicKeys: credentials.map(({ publicKey }) => publicKey).sort(),
    })),
    policyEvaluations: evaluations,
    timestampMs: String(now),
  };
}

/** The data on which decisions in an organization depend, with the names of the API. */
async function organizationDataOf(read: Reader, organizationId: string): Promise<unknown> {
  return {
    organizationId,
    rootQuorum: await findRootQuorum(read, organizationId),
    policies: await policiesForProof(read, organizationId),
    users: await loadUsers(read, organizationId),
  };
}
