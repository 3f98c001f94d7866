import { timestampOf } from "../../engine/fields.ts";
import { refuseExcess } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { requireTags, userTags } from "../tags/store.ts";
import { requireUsers } from "../users/store.ts";
import type { Invitation, InvitationParams } from "./model.ts";

/**
 * Adds invitations in the order given. An e-mail address, in any letter case, has at most one open invitation.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, RESOURCE_EXISTS or QUOTA_EXCEEDED
 */
export async function addInvitations(
  tx: Transactor,
  organizationId: string,
  invitations: readonly InvitationParams[],
  now: number,
): Promise<string[]> {
  const tagIds = new Set(invitations.flatMap(({ receiverUserTags }) => receiverUserTags));
  const senderIds = new Set(invitations.map(({ senderUserId }) => senderUserId));
  await requireUsers(tx, organizationId, [...senderIds]);
  await requireTags({ tx, organizationId, kind: userTags }, [...tagIds]);
  await refuseInvited(tx, organizationId, invitations);
  const rows = invitations.map((invitation) => ({
    id: newId(),
    organization_id: organizationId,
    status: "CREATED" as const,
    receiver_name: invitation.receiverUserName,
    receiver_email: invitation.receiverUserEmail,
    receiver_tag_ids: JSON.stringify([...new Set(invitation.receiverUserTags)]),
    access_type: invitation.accessType,
    sender_user_id: invitation.senderUserId,
    created_at: now,
    updated_at: now,
  }));
  await tx.insertInto("invitations").values(rows).execute();
  return rows.map(({ id }) => id);
}

/** At most so many are open that looking at each is cheap; both engines then compare letters alike. */
async function refuseInvited(
  tx: Transactor,
  organizationId: string,
  invitations: readonly InvitationParams[],
): Promise<void> {
  const open = await tx
    .selectFrom("invitations")
    .select("receiver_email")
    .where("organization_id", "=", organizationId)
    .where("status", "=", "CREATED")
    .execute();
  refuseExcess(open.length + invitations.length, { kind: "open invitations", limit: MAX_OPEN_INVITATIONS });
  const invited = new Set(open.map(({ receiver_email }) => receiver_email.toLowerCase()));
  for (const [index, { receiverUserEmail }] of invitations.entries()) {
    const email = receiverUserEmail.toLowerCase();
    if (invited.has(email)) {
      const field = `parameters.invitations.${index}.receiverUserEmail`;
      fail("RESOURCE_EXISTS", { kind: "invitation", field, reason: "has an open invitation; delete that one first" });
    }
    invited.add(email);
  }
}

/** @throws KeysteadError RESOURCE_NOT_FOUND unless it is open */
export async function revokeInvitation(tx: Transactor, organizationId: string, id: string, now: number): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable("invitations")
    .set({ status: "REVOKED", updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .where("status", "=", "CREATED")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) fail("RESOURCE_NOT_FOUND", { kind: "open invitation", id, organizationId });
}

/** The open ones; those accepted and revoked since are not shown any more. */
export async function findInvitations(read: Reader, organizationId: string): Promise<Invitation[]> {
  const rows = await read
    .selectFrom("invitations")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("status", "=", "CREATED")
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    invitationId: row.id,
    receiverUserName: row.receiver_name,
    receiverUserEmail: row.receiver_email,
    receiverUserTags: JSON.parse(row.receiver_tag_ids) as string[],
    accessType: row.access_type as Invitation["accessType"],
    senderUserId: row.sender_user_id,
    createdAt: timestampOf(row.created_at),
  }));
}
