import { type InvitationProof, requireInvitation } from "../../authority/rules/invitations.ts";
import { timestampOf } from "../../engine/fields.ts";
import { newestFirst, type Page } from "../../engine/paging.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Invitation } from "./model.ts";

/** A page of all invitations, including accepted and revoked ones, newest first. */
export async function findInvitations(read: Reader, organizationId: string, page: Page): Promise<Invitation[]> {
  const rows = await read
    .selectFrom("invitations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(page.before !== undefined, (some) => some.where("id", "<", page.before as string))
    .$if(page.after !== undefined, (some) => some.where("id", ">", page.after as string))
    .orderBy("id", page.after === undefined ? "desc" : "asc")
    .limit(page.limit)
    .execute();
  return newestFirst(rows, page).map((row) => ({
    invitationId: row.id,
    receiverUserName: row.receiver_name,
    receiverUserEmail: row.receiver_email,
    receiverUserTags: JSON.parse(row.receiver_tag_ids) as string[],
    accessType: row.access_type as Invitation["accessType"],
    senderUserId: row.sender_user_id,
    status: `INVITATION_STATUS_${row.status}`,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    ...(row.expires_at === null ? {} : { expiresAt: timestampOf(row.expires_at) }),
  }));
}

/**
 * The invitation that a token is for.
 *
 * @throws KeysteadError INVITATION_INVALID
 */
export async function requireOpenInvitation(
  read: Reader,
  organizationId: string,
  proof: InvitationProof,
  now: number,
): Promise<{ receiverName: string }> {
  const rows = await read
    .selectFrom("invitations")
    .select(["id", "receiver_name as receiverName", "token_hash as tokenHash", "expires_at as expiresAt"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", proof.id)
    .where("status", "=", "CREATED")
    .execute();
  return requireInvitation(rows, proof, now);
}
