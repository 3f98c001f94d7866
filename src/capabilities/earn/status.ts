import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Reader } from "../../storage/engine.ts";
import { sponsoredOutcome } from "../sponsoring/store.ts";
import { type EarnRequest, type RequestKind, requireRequest } from "./store.ts";

/** A request's status for polls, with the transaction hash once its last transaction is signed. */
export async function shownStatus(
  read: Reader,
  organization: Organization,
  id: string,
  kind: RequestKind,
): Promise<{ status: EarnRequest["status"]; hash?: string; error?: string }> {
  // Sub-organizations use their parent's wrappers.
  const organizationId = kind === "DEPLOY" ? rootIdOf(organization) : organization.id;
  const { status, transactionHash, error } = await requireRequest(read, organizationId, id, kind);
  const hash = status === "PENDING" ? await hashOnItsWay(read, organizationId, id) : transactionHash;
  return { status, ...(hash ? { hash } : {}), ...(error === undefined ? {} : { error }) };
}

async function hashOnItsWay(read: Reader, organizationId: string, id: string): Promise<string | undefined> {
  const outcome = await sponsoredOutcome(read, organizationId, id);
  return "hash" in outcome ? outcome.hash : undefined;
}
