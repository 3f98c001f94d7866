import { timestampOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Invitation } from "./model.ts";

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
