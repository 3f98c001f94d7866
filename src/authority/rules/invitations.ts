import { fail } from "../../kernel/errors.ts";
import { MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import { ALL, type OpenInvitation } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { requireTags } from "./tags.ts";
import { requireUsers } from "./users.ts";

/**
 * Adds invitations in the order given. An e-mail address, in any letter case, has at most one open invitation.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, RESOURCE_EXISTS or QUOTA_EXCEEDED
 */
export function addInvitations(draft: Draft, invitations: readonly OpenInvitation[], now: number): void {
  requireUsers(
    draft,
    invitations.map(({ senderUserId }) => senderUserId),
  );
  requireTags(
    draft,
    "TAG_TYPE_USER",
    invitations.flatMap(({ receiverTagIds }) => receiverTagIds),
  );
  refuseInvited(draft, invitations);
  for (const invitation of invitations) draft.apply({ do: "addInvitation", invitation, now });
}

function refuseInvited(view: AuthorityView, invitations: readonly OpenInvitation[]): void {
  const open = view.part("openInvitations", ALL);
  if (open.length + invitations.length > MAX_OPEN_INVITATIONS) {
    fail("QUOTA_EXCEEDED", { kind: "open invitations", limit: MAX_OPEN_INVITATIONS });
  }
  const invited = new Set(open.map(({ receiverEmail }) => receiverEmail.toLowerCase()));
  for (const [index, { receiverEmail }] of invitations.entries()) {
    const email = receiverEmail.toLowerCase();
    if (invited.has(email)) {
      const field = `parameters.invitations.${index}.receiverUserEmail`;
      fail("RESOURCE_EXISTS", { kind: "invitation", field, reason: "has an open invitation; delete that one first" });
    }
    invited.add(email);
  }
}

/** @throws KeysteadError RESOURCE_NOT_FOUND unless it is open */
export function revokeInvitation(draft: Draft, id: string, now: number): void {
  const { organizationId } = draft;
  const isOpen = draft.part("openInvitations", ALL).some((open) => open.id === id);
  if (!isOpen) fail("RESOURCE_NOT_FOUND", { kind: "open invitation", id, organizationId });
  draft.apply({ do: "revokeInvitation", id, now });
}
