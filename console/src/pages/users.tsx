import { Button, Checkbox, Text, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { useState } from "react";
import { dateOf, type Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { useNewApiKey } from "../parts/api-key.ts";
import { DataTable } from "../parts/data-table.tsx";
import { FormDialog } from "../parts/dialogs.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { SaveCredentials } from "../parts/save-credentials.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";

type User = Schemas["User"];
const column = createColumnHelper<User>();

const columns = [
  column.accessor("userName", {
    header: "Name",
    cell: ({ row: { original } }) => (
      <Link to="/users/$userId" params={{ userId: original.userId }}>
        <Name>{original.userName}</Name>
      </Link>
    ),
  }),
  column.accessor(({ userEmail = "" }) => userEmail, {
    id: "email",
    header: "E-mail",
    cell: ({ getValue }) => <Name>{getValue()}</Name>,
  }),
  column.accessor(({ apiKeys }) => apiKeys.length, { id: "apiKeys", header: "API keys", enableGlobalFilter: false }),
  column.accessor(({ authenticators }) => authenticators.length, {
    id: "passkeys",
    header: "Passkeys",
    enableGlobalFilter: false,
  }),
  column.accessor("userId", {
    header: "Id",
    enableSorting: false,
    cell: ({ getValue }) => <Copyable text={getValue()} label="user id" />,
  }),
  column.accessor(({ createdAt }) => dateOf(createdAt).getTime(), {
    id: "created",
    header: "Created",
    enableGlobalFilter: false,
    cell: ({ row: { original } }) => <When at={original.createdAt} />,
  }),
];

export function Users() {
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer("list_users", {});
  return (
    <Page title="Users" actions={<Button onClick={() => setOpen(true)}>New user</Button>}>
      <Answered to={answer}>
        {({ users }) => <DataTable caption="Users" rows={users} columns={columns} empty="There are no users." />}
      </Answered>
      {isOpen && <NewUser onClose={() => setOpen(false)} />}
    </Page>
  );
}

/** The key pair is made here: its private half never leaves this browser but into the file that is offered. */
function NewUser({ onClose }: { onClose: () => void }) {
  const [userName, setName] = useState("");
  const [userEmail, setEmail] = useState("");
  const [hasKey, setHasKey] = useState(true);
  const made = useNewApiKey();
  const create = useSubmit("create_users");
  const parameters = () => ({
    users: [
      {
        userName,
        ...(userEmail === "" ? {} : { userEmail }),
        apiKeys:
          hasKey && made
            ? [{ apiKeyName: `${userName}'s key`, publicKey: made.publicKey, curveType: "API_KEY_CURVE_P256" as const }]
            : [],
        authenticators: [],
        oauthProviders: [],
        userTags: [],
      },
    ],
  });
  return (
    <FormDialog
      title="New user"
      act="Create user"
      mutation={create}
      isReady={userName.trim() !== "" && made !== undefined}
      parameters={parameters}
      onClose={onClose}
      done={() => (
        <Text role="status">
          <Name>{userName}</Name> is a user now. Without a policy that allows it, they can read, and change nothing but
          their own credentials.
        </Text>
      )}
      kept={(result) =>
        hasKey && made && <SaveCredentials apiKey={made} userId={result?.userIds[0]} userName={userName} />
      }
    >
      <NameField value={userName} onChange={setName} />
      <TextInput
        label="E-mail"
        type="email"
        value={userEmail}
        onChange={(event) => setEmail(event.currentTarget.value)}
        autoComplete="off"
      />
      <Checkbox
        label="Create an API key for them here"
        description="The server gets only the public key."
        checked={hasKey}
        onChange={(event) => setHasKey(event.currentTarget.checked)}
      />
    </FormDialog>
  );
}
