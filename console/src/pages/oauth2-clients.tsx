import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { ParametersOf, ResultOf, Schemas, SubmittedActivity } from "../api/api.ts";
import { closedClientSecret } from "../api/bundles.ts";
import { useSubmitClosed } from "../api/closed.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { useRefusals } from "../api/refusals.ts";
import { Answered } from "../parts/answered.tsx";
import { Changeable } from "../parts/changeable.tsx";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { SecretField } from "../parts/secret-field.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

type Credential = Schemas["Oauth2Credential"];
type Provider = Credential["provider"];

const PROVIDERS: Record<Provider, string> = {
  OAUTH2_PROVIDER_X: "X",
  OAUTH2_PROVIDER_DISCORD: "Discord",
};
const PROVIDER_OPTIONS = Object.entries(PROVIDERS).map(([value, label]) => ({ value, label }));

/** What the organization is known as where people sign in by OAuth 2.0. */
export function Oauth2Clients() {
  const answer = useAnswer("list_oauth2_credentials", {});
  return (
    <Changeable<Credential>
      title="OAuth 2.0 clients"
      add="Add a client"
      head={["Provider", "Client", "Id", "Changed"]}
      empty="There are none. X and Discord need one; their secrets are decrypted only in the signer."
      keyOf={({ oauth2CredentialId }) => oauth2CredentialId}
      nameOf={({ clientId }) => clientId}
      cellsOf={({ oauth2CredentialId, provider, clientId, updatedAt }) => [
        PROVIDERS[provider],
        <Name key="client">{clientId}</Name>,
        <Copyable key="id" text={oauth2CredentialId} label="credential id" />,
        <When key="changed" at={updatedAt} />,
      ]}
      dialogOf={(open, close) => {
        if (open.dialog === "add") return <AddClient onClose={close} />;
        const Dialog = open.dialog === "change" ? ChangeClient : DeleteClient;
        return <Dialog credential={open.item} onClose={close} />;
      }}
    >
      {(tableOf) => <Answered to={answer}>{({ oauth2Credentials }) => tableOf(oauth2Credentials)}</Answered>}
    </Changeable>
  );
}

function AddClient({ onClose }: { onClose: () => void }) {
  const { api } = useSession();
  return (
    <ClientDialog
      title="Add an OAuth 2.0 client"
      act="Add client"
      submit={(client) => api.submit("create_oauth2_credential", client)}
      onClose={onClose}
    />
  );
}

function ChangeClient({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { api } = useSession();
  const { oauth2CredentialId } = credential;
  return (
    <ClientDialog
      title="Change the OAuth 2.0 client"
      act="Change client"
      before={credential}
      submit={(client) => api.submit("update_oauth2_credential", { oauth2CredentialId, ...client })}
      onClose={onClose}
    />
  );
}

type Client = ParametersOf<"create_oauth2_credential">;

interface ClientDialogProps {
  title: string;
  act: string;
  before?: Pick<Client, "provider" | "clientId">;
  submit: (client: Client) => Promise<SubmittedActivity<ResultOf<"create_oauth2_credential">>>;
  onClose: () => void;
}

function ClientDialog({ title, act, before, submit, onClose }: ClientDialogProps) {
  const [provider, setProvider] = useState<Provider>(before?.provider ?? "OAUTH2_PROVIDER_X");
  const [clientId, setClientId] = useState(before?.clientId ?? "");
  const [secret, setSecret] = useState("");
  const store = useSubmitClosed({
    secrets: [secret.trim()],
    close: () => closedClientSecret(secret.trim()),
    submit: (encryptedClientSecret) => submit({ provider, clientId: clientId.trim(), encryptedClientSecret }),
    onSubmitted: () => setSecret(""),
  });
  const refusalOf = useRefusals(store, { clientId, encryptedClientSecret: secret });
  return (
    <FormDialog
      title={title}
      act={act}
      mutation={store}
      isReady={clientId.trim() !== "" && secret.trim() !== ""}
      parameters={() => undefined}
      onClose={onClose}
    >
      <Select
        label="Provider"
        data={PROVIDER_OPTIONS}
        value={provider}
        onChange={(value) => setProvider(value as Provider)}
        allowDeselect={false}
      />
      <TextInput
        label="Client ID"
        description="The provider's ID for your app."
        value={clientId}
        onChange={(event) => setClientId(event.currentTarget.value)}
        error={refusalOf("clientId")}
        required
        autoComplete="off"
        spellCheck={false}
      />
      <SecretField
        label="Client secret"
        description="It is encrypted for the signer in this browser, and cleared once it is stored. It is never shown again."
        value={secret}
        onChange={setSecret}
        error={refusalOf("encryptedClientSecret")}
      />
    </FormDialog>
  );
}

function DeleteClient({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { oauth2CredentialId, provider, clientId } = credential;
  const remove = useSubmit("delete_oauth2_credential");
  return (
    <DeleteDialog
      kind="OAuth 2.0 client"
      name={clientId}
      warning={`Nobody can sign in with ${PROVIDERS[provider]} through it any more; tokens that were issued remain valid until they expire.`}
      undo="It can be added again with its secret, under another ID."
      mutation={remove}
      parameters={{ oauth2CredentialId }}
      onClose={onClose}
    />
  );
}
