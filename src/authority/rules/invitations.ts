import { fail } from "../../kernel/errors.ts";
import { MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import { refuseExcess } from "../quotas.ts";
import { ALL, type OpenInvitation } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { isOver } from "./credentials.ts";
import { requireTags } from "./tags.ts";
import { addUsers, type NewUser, requireUsers } from "./users.ts";

/**
 * Adds invitations in the given order. An email address, in any letter case, has at most one open invitation; expired ones are revoked.
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
  for (const { id, expiresAt } of draft.part("openInvitations", ALL)) {
    if (isOver(expiresAt, now)) draft.apply({ do: "revokeInvitation", id, now });
  }
  refuseInvited(draft, invitations);
  for (const invitation of invitations) draft.apply({ do: "addInvitation", invitation, now });
}

function refuseInvited(view: AuthorityView, invitations: readonly OpenInvitation[]): void {
  const open = view.part("openInvitations", ALL);
  refuseExcess(open.length + invitations.length, {
    kind: "open invitations",
    limit: MAX_OPEN_INVITATIONS,
    remedy: "delete some, or wait until they are accepted",
  });
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

/** What proves the right to accept an invitation. */
export interface InvitationProof {
  id: string;
  /** Hex of the SHA-256 of the token. */
  tokenHash: string;
}

/**
 * The open invitation that the proof matches. All problems have the same error, so that nobody learns which invitations exist.
 *
 * @throws KeysteadError INVITATION_INVALID
 */
export function requireInvitation<Open extends Pick<OpenInvitation, "id" | "tokenHash" | "expiresAt">>(
  open: readonly Open[],
  { id, tokenHash }: InvitationProof,
  now: number,
): Open {
  const found = open.find((invitation) => invitation.id === id && invitation.tokenHash === tokenHash);
  if (!found || found.expiresAt === null || isOver(found.expiresAt, now)) fail("INVITATION_INVALID", {});
  return found;
}

/**
 * Adds the user whom an invitation is for, with the invitation's email address, its tags that still exist, and its name unless another is
 * given.
 *
 * @throws KeysteadError INVITATION_INVALID, and as `addUser`
 */
export function acceptInvitation(
  draft: Draft,
  proof: InvitationProof,
  user: Pick<NewUser, "id" | "apiKeys" | "authenticators"> & { name?: string | undefined },
  now: number,
): void {
  const invitation = requireInvitation(draft.part("openInvitations", ALL), proof, now);
  const { id, receiverName, receiverEmail: email, receiverTagIds } = invitation;
  const tags = draft.parts("tag", receiverTagIds);
  const tagIds = receiverTagIds.filter((_, index) => tags[index] !== undefined);
  const added = { ...user, name: user.name ?? receiverName, email, tagIds, oauthProviders: [] };
  addUsers(draft, [added], now, () => "parameters");
  draft.apply({ do: "acceptInvitation", id, now });
}
