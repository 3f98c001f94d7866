import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { dateOf, type Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { useNewApiKey } from "../parts/api-key.ts";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { SaveCredentials } from "../parts/save-credentials.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Name, When, wordsOf } from "../parts/texts.tsx";
import { visibleText } from "../parts/visible-text.ts";
import { useSession } from "../session/context.tsx";
import { makePasskey, passkeyProblem } from "../session/passkey.ts";
import { rememberOrganization } from "../session/remembered.ts";

type UserRecord = Schemas["User"];

/** What a dialog is about. */
type Open =
  | { dialog: "api key" | "passkey" | "user" }
  | { dialog: "delete api key"; id: string; name: string }
  | { dialog: "delete passkey"; id: string; name: string };

export function User() {
  const { userId } = useParams({ from: "/users/$userId" });
  const [open, setOpen] = useState<Open>();
  const answer = useAnswer("get_user", { userId });
  const user = answer.data?.user;
  const close = () => setOpen(undefined);
  return (
    <Page
      title={user?.userName ?? "User"}
      actions={
        user && (
          <Button variant="default" onClick={() => setOpen({ dialog: "user" })}>
            Delete user
          </Button>
        )
      }
    >
      <Answered to={answer}>{({ user: shown }) => <Shown user={shown} open={setOpen} />}</Answered>
      {open?.dialog === "api key" && user && <NewKey user={user} onClose={close} />}
      {open?.dialog === "passkey" && user && <NewPasskey user={user} onClose={close} />}
      {open?.dialog === "user" && user && <DeleteUser user={user} onClose={close} />}
      {open?.dialog === "delete api key" && user && <DeleteKey user={user} {...open} onClose={close} />}
      {open?.dialog === "delete passkey" && user && <DeletePasskey user={user} {...open} onClose={close} />}
    </Page>
  );
}

function Shown({ user, open }: { user: UserRecord; open: (what: Open) => void }) {
  const session = useSession();
  const isMe = user.userId === session.userId;
  const problem = passkeyProblem();
  return (
    <Stack gap="lg">
      <Stack gap="xs">
        <Group gap={4}>
          Id <Copyable text={user.userId} label="user id" />
        </Group>
        <Text c="dimmed">
          {user.userEmail && (
            <>
              <Name>{user.userEmail}</Name>,{" "}
            </>
          )}
          {user.userEmail ? "added" : "Added"} <When at={user.createdAt} />
          {isMe && ". This is you"}.
        </Text>
      </Stack>
      <Credentials
        title="Passkeys"
        empty="There are no passkeys."
        add={
          isMe &&
          (problem === undefined ? (
            <Button size="xs" onClick={() => open({ dialog: "passkey" })}>
              Add a passkey
            </Button>
          ) : (
            <Text size="sm">{problem}</Text>
          ))
        }
      >
        {user.authenticators.map(({ authenticatorId: id, authenticatorName: name, createdAt, transports }) => (
          <Row
            key={id}
            name={name}
            detail={transports.map((transport) => wordsOf(transport, "AUTHENTICATOR_TRANSPORT_")).join(", ")}
            createdAt={createdAt}
            onDelete={() => open({ dialog: "delete passkey", id, name })}
          />
        ))}
      </Credentials>
      <Credentials
        title="API keys"
        empty="There are no API keys."
        add={
          <Button size="xs" onClick={() => open({ dialog: "api key" })}>
            Add an API key
          </Button>
        }
      >
        {user.apiKeys.map(({ apiKeyId: id, apiKeyName: name, createdAt, credential, expirationSeconds }) => (
          <Row
            key={id}
            name={name}
            detail={
              <>
                <Copyable text={credential.publicKey} label="public key" />
                {expirationSeconds !== undefined && (
                  <>
                    {" expires "}
                    <When at={new Date(dateOf(createdAt).getTime() + Number(expirationSeconds) * 1000).toISOString()} />
                  </>
                )}
              </>
            }
            createdAt={createdAt}
            onDelete={() => open({ dialog: "delete api key", id, name })}
          />
        ))}
      </Credentials>
    </Stack>
  );
}

interface CredentialsProps {
  title: string;
  empty: string;
  add: ReactNode;
  children: ReactNode[];
}

const Credentials = ({ title, empty, add, children }: CredentialsProps) => (
  <Section title={title} add={add}>
    {children.length === 0 ? (
      <Text c="dimmed">{empty}</Text>
    ) : (
      <ScrollTable caption={title} head={["Name", "Detail", "Added", ""]}>
        {children}
      </ScrollTable>
    )}
  </Section>
);

interface RowProps {
  name: string;
  detail: ReactNode;
  createdAt: Schemas["Timestamp"];
  onDelete: () => void;
}

const Row = ({ name, detail, createdAt, onDelete }: RowProps) => (
  <TableRow
    cells={[
      <Name key="name">{name}</Name>,
      detail,
      <When key="added" at={createdAt} />,
      <Button
        key="delete"
        size="compact-sm"
        variant="default"
        onClick={onDelete}
        aria-label={`Delete ${visibleText(name)}`}
      >
        Delete
      </Button>,
    ]}
  />
);

interface OfUser {
  user: UserRecord;
  onClose: () => void;
}

function NewKey({ user: { userId, userName }, onClose }: OfUser) {
  const [apiKeyName, setName] = useState("");
  const key = useNewApiKey();
  const create = useSubmit("create_api_keys");
  return (
    <FormDialog
      title="Add an API key"
      act="Add API key"
      mutation={create}
      isReady={apiKeyName.trim() !== "" && key !== undefined}
      parameters={() => ({
        userId,
        apiKeys: [{ apiKeyName, publicKey: key?.publicKey ?? "", curveType: "API_KEY_CURVE_P256" as const }],
      })}
      onClose={onClose}
      done={() => <Text role="status">The API key was added.</Text>}
      kept={() => key && <SaveCredentials apiKey={key} userId={userId} userName={userName} />}
    >
      <Text size="sm">The key pair is created in this browser; the server gets only its public key.</Text>
      <NameField value={apiKeyName} onChange={setName} />
    </FormDialog>
  );
}

/** The browser makes the passkey first; what it made is what the activity adds. */
function NewPasskey({ user: { userId, userName }, onClose }: OfUser) {
  const { organizationId } = useSession();
  const [label, setLabel] = useState("");
  const create = useSubmit("create_authenticators");
  const make = useMutation({
    mutationFn: async () => {
      const authenticator = await makePasskey({ name: userName, label });
      return create.mutateAsync({ userId, authenticators: [authenticator] });
    },
    onSuccess: () => rememberOrganization(organizationId),
  });
  return (
    <FormDialog
      title="Add a passkey"
      act="Create the passkey"
      mutation={make}
      isReady={label.trim() !== ""}
      parameters={() => undefined}
      onClose={onClose}
      done={() => <Text role="status">The passkey was added. You can sign in with it at this address.</Text>}
    >
      <Text size="sm">
        It is bound to the name of this page, <b>{location.hostname}</b>, and signs in nowhere else.
      </Text>
      <TextInput
        label="Name"
        description="To distinguish it from others, such as the name of this device."
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
        required
        autoComplete="off"
        data-autofocus
      />
    </FormDialog>
  );
}

function DeleteKey({ user: { userId }, id, name, onClose }: OfUser & { id: string; name: string }) {
  const remove = useSubmit("delete_api_keys");
  return (
    <DeleteDialog
      kind="API key"
      name={name}
      warning="Requests that it stamps are refused from then on."
      undo="It cannot be restored, but another key can be added."
      mutation={remove}
      parameters={{ userId, apiKeyIds: [id] }}
      onClose={onClose}
    />
  );
}

function DeletePasskey({ user: { userId }, id, name, onClose }: OfUser & { id: string; name: string }) {
  const remove = useSubmit("delete_authenticators");
  return (
    <DeleteDialog
      kind="passkey"
      name={name}
      warning="Requests that it stamps are refused from then on. It stays on the device, where its owner can delete it."
      undo="It cannot be restored, but another passkey can be added."
      mutation={remove}
      parameters={{ userId, authenticatorIds: [id] }}
      onClose={onClose}
    />
  );
}

function DeleteUser({ user: { userId, userName }, onClose }: OfUser) {
  const navigate = useNavigate();
  const remove = useSubmit("delete_users");
  return (
    <DeleteDialog
      kind="user"
      name={userName}
      warning="Their credentials are deleted too, and their votes on open activities no longer count."
      undo="This cannot be undone: a new user with the same name has another ID and other credentials."
      mutation={remove}
      parameters={{ userIds: [userId] }}
      onClose={onClose}
      onDone={() => navigate({ to: "/users" })}
    />
  );
}
