import { Button, Text, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import type { Schemas } from "../api/api.ts";
import { useSubmit } from "../api/hooks.ts";
import { usePages } from "../api/pages.ts";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { NameField } from "../parts/name-field.tsx";
import { type CellsOf, PagedTable } from "../parts/paged-table.tsx";
import { Section } from "../parts/section.tsx";
import { Mark, Name, When, wordsOf } from "../parts/texts.tsx";
import { visibleText } from "../parts/visible-text.ts";
import { useSession } from "../session/context.tsx";

type Invitation = Schemas["Invitation"];

const COLORS: Record<Invitation["status"], string> = {
  INVITATION_STATUS_CREATED: "yellow",
  INVITATION_STATUS_ACCEPTED: "teal",
  INVITATION_STATUS_REVOKED: "gray",
};

const cellsWith =
  (revoke: (invitation: Invitation) => void): CellsOf<Invitation> =>
  (invitation) => [
    <Name key="name">{invitation.receiverUserName}</Name>,
    <Name key="email">{invitation.receiverUserEmail}</Name>,
    <Mark key="status" color={COLORS[invitation.status]}>
      {wordsOf(invitation.status, "INVITATION_STATUS_").toLowerCase()}
    </Mark>,
    <When key="sent" at={invitation.createdAt} />,
    invitation.status === "INVITATION_STATUS_CREATED" && (
      <Button
        key="revoke"
        size="compact-sm"
        variant="default"
        aria-label={`Revoke the invitation of ${visibleText(invitation.receiverUserName)}`}
        onClick={() => revoke(invitation)}
      >
        Revoke
      </Button>
    ),
  ];

/** Whom the organization has invited by e-mail, page by page. */
export function Invitations() {
  const [open, setOpen] = useState<"new" | Invitation>();
  const list = usePages(
    ["invitations"],
    async (api, paginationOptions) => (await api.query("list_invitations", { paginationOptions })).invitations,
    ({ invitationId }) => invitationId,
  );
  const close = () => setOpen(undefined);
  const cellsOf = useMemo(() => cellsWith(setOpen), []);
  return (
    <Section
      title="Invitations"
      add={
        <Button size="xs" onClick={() => setOpen("new")}>
          Invite somebody
        </Button>
      }
    >
      <PagedTable
        list={list}
        caption="Invitations"
        head={["Name", "E-mail", "Status", "Sent", ""]}
        itemsOf={(invitations) => invitations}
        keyOf={({ invitationId }) => invitationId}
        cellsOf={cellsOf}
        empty="Nobody has been invited yet."
        more="Show older invitations"
      />
      {open === "new" && <Invite onClose={close} />}
      {open !== undefined && open !== "new" && <Revoke invitation={open} onClose={close} />}
    </Section>
  );
}

function Invite({ onClose }: { onClose: () => void }) {
  const { userId } = useSession();
  const [receiverUserName, setName] = useState("");
  const [receiverUserEmail, setEmail] = useState("");
  const create = useSubmit("create_invitations");
  return (
    <FormDialog
      title="Invite somebody"
      act="Send the invitation"
      mutation={create}
      isReady={receiverUserName.trim() !== "" && receiverUserEmail.includes("@")}
      parameters={() => ({
        invitations: [
          {
            receiverUserName,
            receiverUserEmail,
            receiverUserTags: [],
            accessType: "ACCESS_TYPE_ALL" as const,
            senderUserId: userId,
          },
        ],
      })}
      onClose={onClose}
    >
      <Text size="sm">They get a link by email, and become users once they accept it.</Text>
      <NameField value={receiverUserName} onChange={setName} />
      <TextInput
        label="E-mail"
        type="email"
        value={receiverUserEmail}
        onChange={(event) => setEmail(event.currentTarget.value)}
        required
        autoComplete="off"
      />
    </FormDialog>
  );
}

function Revoke({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const remove = useSubmit("delete_invitation");
  return (
    <DeleteDialog
      kind="invitation"
      name={invitation.receiverUserName}
      warning="Its link no longer works."
      undo="They can be invited again, with another link."
      mutation={remove}
      parameters={{ invitationId: invitation.invitationId }}
      onClose={onClose}
    />
  );
}
