import type { ConsensusFacts, CredentialFacts, UserFacts } from "./facts.ts";

/** An approval that counts. */
export interface Approval {
  user: UserFacts;
  /** The credential that stamped it; absent for a hypothetical approval. */
  credential?: CredentialFacts | undefined;
}

/** A user of the organization who might approve, with their available credentials. */
export interface Voter extends UserFacts {
  credentials: readonly CredentialFacts[];
}

/** The facts of a consensus: each approver and each credential once, in the order of the approvals. */
export function consensusFacts(approvals: readonly Approval[]): ConsensusFacts {
  const approvers = new Map<string, UserFacts>();
  const credentials = new Map<string, CredentialFacts>();
  for (const { user, credential } of approvals) {
    if (!approvers.has(user.id)) approvers.set(user.id, user);
    if (credential !== undefined) credentials.set(credential.id, credential);
  }
  return { approvers: [...approvers.values()], credentials: [...credentials.values()] };
}
