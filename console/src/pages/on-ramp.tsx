import { Checkbox, Select, Text, Textarea, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ParametersOf, ResultOf, Schemas, SubmittedActivity } from "../api/api.ts";
import { closedOnRampSecret } from "../api/bundles.ts";
import { useSubmitClosed } from "../api/closed.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { useRefusals } from "../api/refusals.ts";
import { Answered } from "../parts/answered.tsx";
import { Changeable } from "../parts/changeable.tsx";
import { DeleteDialog, FormDialog } from "../parts/dialogs.tsx";
import { SecretField } from "../parts/secret-field.tsx";
import { Copyable, When } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

type Credential = Schemas["FiatOnRampCredential"];
type Provider = Credential["onrampProvider"];

/** What a provider calls the keys that it gives out. */
interface Words {
  name: string;
  publishableApiKey: string;
  publishableHint: string;
  secretApiKey: string;
  secretHint: string;
  /** Whether it has a project and a private key beside those. */
  hasProject: boolean;
}

const PROVIDERS: Record<Provider, Words> = {
  FIAT_ON_RAMP_PROVIDER_COINBASE: {
    name: "Coinbase",
    publishableApiKey: "API key's ID",
    publishableHint: "A UUID, or organizations/…/apiKeys/….",
    secretApiKey: "Secret",
    secretHint: "Yours there. It is stored, but not used yet.",
    hasProject: true,
  },
  FIAT_ON_RAMP_PROVIDER_MOONPAY: {
    name: "MoonPay",
    publishableApiKey: "Publishable key",
    publishableHint: "It begins with pk_.",
    secretApiKey: "Secret key",
    secretHint: "It begins with sk_, and signs the URL that begins a purchase.",
    hasProject: false,
  },
};
const PROVIDER_OPTIONS = Object.entries(PROVIDERS).map(([value, { name }]) => ({ value, label: name }));

/** Where people buy crypto with the organization's account. */
export function OnRamp() {
  const answer = useAnswer("list_fiat_on_ramp_credentials", {});
  return (
    <Changeable<Credential>
      title="On-ramp"
      add="Add a provider"
      head={["Provider", "Key", "Kind", "Changed"]}
      empty="There are no providers. With an account at one, people can buy crypto with a card."
      keyOf={({ fiatOnrampCredentialId }) => fiatOnrampCredentialId}
      nameOf={({ publishableApiKey }) => publishableApiKey}
      cellsOf={({ onrampProvider, publishableApiKey, sandboxMode, updatedAt }) => [
        PROVIDERS[onrampProvider].name,
        <Copyable key="key" text={publishableApiKey} label="publishable key" />,
        sandboxMode ? "sandbox" : "real money",
        <When key="changed" at={updatedAt} />,
      ]}
      dialogOf={(open, close) => {
        if (open.dialog === "add") return <AddProvider onClose={close} />;
        const Dialog = open.dialog === "change" ? ChangeProvider : DeleteProvider;
        return <Dialog credential={open.item} onClose={close} />;
      }}
    >
      {(tableOf) => <Answered to={answer}>{({ fiatOnRampCredentials }) => tableOf(fiatOnRampCredentials)}</Answered>}
    </Changeable>
  );
}

/** All that is replaced of a credential. */
type Keys = Omit<ParametersOf<"create_fiat_on_ramp_credential">, "sandboxMode">;

function AddProvider({ onClose }: { onClose: () => void }) {
  const { api } = useSession();
  const [sandboxMode, setSandbox] = useState(false);
  return (
    <ProviderDialog
      title="Add an on-ramp provider"
      act="Add provider"
      submit={(keys) => api.submit("create_fiat_on_ramp_credential", { ...keys, sandboxMode })}
      onClose={onClose}
    >
      <Checkbox
        label="For the provider's sandbox, without real payments"
        description="This cannot be changed later."
        checked={sandboxMode}
        onChange={(event) => setSandbox(event.currentTarget.checked)}
      />
    </ProviderDialog>
  );
}

function ChangeProvider({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { api } = useSession();
  const { fiatOnrampCredentialId } = credential;
  return (
    <ProviderDialog
      title="Change the on-ramp provider"
      act="Change provider"
      before={credential}
      submit={(keys) => api.submit("update_fiat_on_ramp_credential", { fiatOnrampCredentialId, ...keys })}
      onClose={onClose}
    />
  );
}

interface ProviderDialogProps {
  title: string;
  act: string;
  before?: Pick<Credential, "onrampProvider" | "projectId" | "publishableApiKey">;
  submit: (keys: Keys) => Promise<SubmittedActivity<ResultOf<"create_fiat_on_ramp_credential">>>;
  onClose: () => void;
  children?: ReactNode;
}

function ProviderDialog({ title, act, before, submit, onClose, children }: ProviderDialogProps) {
  const [onrampProvider, setProvider] = useState(before?.onrampProvider ?? "FIAT_ON_RAMP_PROVIDER_MOONPAY");
  const [projectId, setProjectId] = useState(before?.projectId ?? "");
  const [publishableApiKey, setPublishable] = useState(before?.publishableApiKey ?? "");
  const [secretApiKey, setSecret] = useState("");
  const [privateApiKey, setPrivate] = useState("");
  const words = PROVIDERS[onrampProvider];
  const secrets = [secretApiKey, ...(words.hasProject ? [privateApiKey] : [])].map((secret) => secret.trim());
  const publics = [publishableApiKey, ...(words.hasProject ? [projectId] : [])].map((text) => text.trim());
  const store = useSubmitClosed({
    secrets,
    close: () => Promise.all(secrets.map(closedOnRampSecret)),
    submit: ([encryptedSecretApiKey = "", encryptedPrivateApiKey = ""]) =>
      submit({
        onrampProvider,
        publishableApiKey: publishableApiKey.trim(),
        encryptedSecretApiKey,
        ...(words.hasProject ? { projectId: projectId.trim(), encryptedPrivateApiKey } : {}),
      }),
    onSubmitted: () => {
      setSecret("");
      setPrivate("");
    },
  });
  const refusalOf = useRefusals(store, {
    projectId,
    publishableApiKey,
    encryptedSecretApiKey: secretApiKey,
    encryptedPrivateApiKey: privateApiKey,
  });
  return (
    <FormDialog
      title={title}
      act={act}
      mutation={store}
      isReady={[...publics, ...secrets].every((text) => text !== "")}
      parameters={() => undefined}
      onClose={onClose}
    >
      <Text size="sm">
        The secret keys are encrypted for the signer in this browser, and cleared once they are stored. They are never
        shown again.
      </Text>
      <Select
        label="Provider"
        data={PROVIDER_OPTIONS}
        value={onrampProvider}
        onChange={(value) => setProvider(value as Provider)}
        allowDeselect={false}
      />
      {words.hasProject && (
        <TextInput
          label="Project's ID"
          value={projectId}
          onChange={(event) => setProjectId(event.currentTarget.value)}
          error={refusalOf("projectId")}
          required
          autoComplete="off"
          spellCheck={false}
        />
      )}
      <TextInput
        label={words.publishableApiKey}
        description={words.publishableHint}
        value={publishableApiKey}
        onChange={(event) => setPublishable(event.currentTarget.value)}
        error={refusalOf("publishableApiKey")}
        required
        autoComplete="off"
        spellCheck={false}
      />
      <SecretField
        label={words.secretApiKey}
        description={words.secretHint}
        value={secretApiKey}
        onChange={setSecret}
        error={refusalOf("encryptedSecretApiKey")}
      />
      {words.hasProject && (
        <Textarea
          label="Private key"
          description="The API key's private key: the PEM of a P-256 key, or the base64 of an Ed25519 key, as Coinbase issued it."
          value={privateApiKey}
          onChange={(event) => setPrivate(event.currentTarget.value)}
          error={refusalOf("encryptedPrivateApiKey")}
          required
          minRows={3}
          maxRows={8}
          autosize
          autoComplete="off"
          spellCheck={false}
        />
      )}
      {children}
    </FormDialog>
  );
}

function DeleteProvider({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { fiatOnrampCredentialId, publishableApiKey } = credential;
  const remove = useSubmit("delete_fiat_on_ramp_credential");
  return (
    <DeleteDialog
      kind="on-ramp provider"
      name={publishableApiKey}
      warning="No new purchases can begin with these keys; those that were begun continue at the provider."
      undo="They can be added again, under another ID."
      mutation={remove}
      parameters={{ fiatOnrampCredentialId }}
      onClose={onClose}
    />
  );
}
