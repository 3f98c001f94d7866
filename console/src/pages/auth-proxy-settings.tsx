import {
  Button,
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import type { ParametersOf, Schemas } from "../api/api.ts";
import { valueAt } from "../api/api-error.ts";
import { useNames, useSubmit } from "../api/hooks.ts";
import { isNotFound } from "../api/problem.ts";
import { useRefusals } from "../api/refusals.ts";
import { Answered } from "../parts/answered.tsx";
import { ConfirmDialog, FormDialog, NotYet } from "../parts/dialogs.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Section } from "../parts/section.tsx";
import { Copyable, Mark } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";

type Config = Schemas["AuthProxyConfig"];
type Settings = ParametersOf<"update_auth_proxy_config">;
type Method = NonNullable<Settings["allowedAuthMethods"]>[number];
type Social = NonNullable<NonNullable<Settings["walletKitSettings"]>["enabledSocialProviders"]>[number];

const SOCIAL: Record<Social, string> = {
  google: "Google",
  apple: "Apple",
  facebook: "Facebook",
  x: "X",
  discord: "Discord",
};
const METHODS: Record<Method, string> = {
  email: "Code by email",
  sms: "Code by text message",
  passkey: "Passkey",
  wallet: "Wallet",
  ...SOCIAL,
  oidc: "Any other issuer (OIDC)",
};

const optionsOf = (labels: Record<string, string>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

/** One setting: where it stands among them, and how it is asked for. */
interface Setting {
  /** Members with dots between, as errors name them. */
  path: string;
  label: string;
  description?: string;
  kind:
    | { as: "text"; placeholder?: string; isLong?: boolean }
    /** One in each line. */
    | { as: "lines"; unlessSet: string }
    | { as: "number"; unlessSet: number }
    | { as: "choice"; options: { value: string; label: string }[]; unlessSet: string[] }
    | { as: "yes"; unlessSet: boolean };
}

/** What is typed or chosen for a setting. */
type Typed = string | string[] | boolean;
type Draft = Record<string, Typed>;

const groups: { title: string; settings: Setting[] }[] = [
  {
    title: "Who may use it",
    settings: [
      {
        path: "allowedOrigins",
        label: "Origins",
        description:
          "Pages that may call it, one per line, such as https://app.example.com. Use * for any page. If this is empty, none may.",
        kind: { as: "lines", unlessSet: "*" },
      },
      {
        path: "allowedAuthMethods",
        label: "Ways to sign in",
        kind: { as: "choice", options: optionsOf(METHODS), unlessSet: Object.keys(METHODS) },
      },
      {
        path: "captchaEnabled",
        label: "Codes and sign-ups require a captcha",
        kind: { as: "yes", unlessSet: false },
      },
      {
        path: "verificationTokenRequiredForGetAccountPii",
        label: "The account of an email address or phone number is shown only to people who prove that it is theirs",
        kind: { as: "yes", unlessSet: false },
      },
    ],
  },
  {
    title: "Codes and sessions",
    settings: [
      {
        path: "otpLength",
        label: "Length of a code",
        description: "6 to 9.",
        kind: { as: "number", unlessSet: 6 },
      },
      {
        path: "otpAlphanumeric",
        label: "Codes contain letters as well as digits",
        kind: { as: "yes", unlessSet: true },
      },
      {
        path: "otpExpirationSeconds",
        label: "A code is valid for (seconds)",
        description: "At most 600.",
        kind: { as: "number", unlessSet: 300 },
      },
      {
        path: "verificationTokenExpirationSeconds",
        label: "A verification token is valid for (seconds)",
        description: "At most 86400.",
        kind: { as: "number", unlessSet: 3600 },
      },
      {
        path: "sessionExpirationSeconds",
        label: "A session lasts (seconds)",
        description: "At most 2592000, which is 30 days.",
        kind: { as: "number", unlessSet: 900 },
      },
    ],
  },
  {
    title: "Mail and text messages",
    settings: [
      {
        path: "sendFromEmailAddress",
        label: "Sender's address",
        kind: { as: "text", placeholder: "that of the server" },
      },
      { path: "sendFromEmailSenderName", label: "Sender's name", kind: { as: "text" } },
      { path: "replyToEmailAddress", label: "Reply to", kind: { as: "text" } },
      {
        path: "emailCustomizationParams.appName",
        label: "Name of the app",
        kind: { as: "text", placeholder: "your organization's name" },
      },
      { path: "emailCustomizationParams.logoUrl", label: "Logo", description: "An https URL.", kind: { as: "text" } },
      {
        path: "emailCustomizationParams.magicLinkTemplate",
        label: "Link in a mail",
        kind: { as: "text" },
      },
      {
        path: "emailCustomizationParams.templateVariables",
        label: "Variables of templates",
        description: "JSON.",
        kind: { as: "text", isLong: true },
      },
      { path: "emailCustomizationParams.templateId", label: "Template of mails", kind: { as: "text" } },
      { path: "otpTemplateId", label: "Template of the mail with a code", kind: { as: "text" } },
      { path: "emailAuthTemplateId", label: "Template of the mails of email_auth", kind: { as: "text" } },
      {
        path: "smsCustomizationParams.template",
        label: "Text message",
        description: "It must contain {{.OtpCode}}.",
        kind: { as: "text", isLong: true, placeholder: "the built-in words" },
      },
    ],
  },
  {
    title: "Shown by wallet kits",
    settings: [
      {
        path: "walletKitSettings.enabledSocialProviders",
        label: "Social sign-in",
        kind: { as: "choice", options: optionsOf(SOCIAL), unlessSet: [] },
      },
      ...Object.entries(SOCIAL).map(
        ([provider, name]): Setting => ({
          path: `walletKitSettings.oauthClientIds.${provider}`,
          label: `Client ID at ${name}`,
          kind: { as: "text" },
        }),
      ),
      { path: "walletKitSettings.oauthRedirectUrl", label: "OAuth redirect URL", kind: { as: "text" } },
      {
        path: "socialLinkingClientIds",
        label: "Google client IDs that link accounts by address",
        description: "One per line.",
        kind: { as: "lines", unlessSet: "" },
      },
    ],
  },
];
const everySetting = groups.flatMap(({ settings }) => settings);

function typedOf(config: object, { path, kind }: Setting): Typed {
  const value = valueAt(config, { field: path, description: "" });
  switch (kind.as) {
    case "lines":
      return Array.isArray(value) ? value.join("\n") : kind.unlessSet;
    case "choice":
      return Array.isArray(value) ? (value as string[]) : kind.unlessSet;
    case "yes":
      return typeof value === "boolean" ? value : kind.unlessSet;
    case "number":
      return String(typeof value === "number" ? value : kind.unlessSet);
    default:
      return typeof value === "string" ? value : "";
  }
}

const draftOf = (config: object): Draft =>
  Object.fromEntries(everySetting.map((setting) => [setting.path, typedOf(config, setting)]));

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** As it is sent; undefined where there is nothing to send. A member that is an object is sent whole, as it replaces what was there. */
function sentOf(typed: Typed, { path, kind }: Setting): unknown {
  if (kind.as === "lines") return linesOf(typed as string);
  if (kind.as === "number") return typed === "" ? kind.unlessSet : Number(typed);
  return typed === "" && path.includes(".") ? undefined : typed;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const memberOf = ({ path }: Setting): string => path.split(".")[0] as string;

/** What differs from the settings as they were read: what is not given stays. */
function changesOf(draft: Draft, read: Draft): Settings {
  const changed = new Set(everySetting.filter(({ path }) => !isSame(draft[path], read[path])).map(memberOf));
  const changes: Record<string, unknown> = {};
  for (const setting of everySetting) {
    if (!changed.has(memberOf(setting))) continue;
    const steps = setting.path.split(".");
    const last = steps.pop() as string;
    let place = changes;
    for (const step of steps) {
      place[step] ??= {};
      place = place[step] as Record<string, unknown>;
    }
    const value = sentOf(draft[setting.path] as Typed, setting);
    if (value !== undefined) place[last] = value;
  }
  return changes as Settings;
}

/** How people without a credential sign up and in through this server: whether they can, and what is set. */
export function AuthProxySettings() {
  const answer = useConfig();
  return (
    <Section title="Auth proxy">
      <Answered to={answer}>
        {(config) => (
          <>
            {config ? (
              <State config={config} />
            ) : (
              <Text c="dimmed">
                People sign up and sign in to your app through it, without a backend of yours. It has not been enabled
                yet.
              </Text>
            )}
            <Power isOn={config?.enabled ?? false} />
            <SettingsForm config={config ?? {}} />
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Null where nothing was ever set, which is no error: it can be set here. */
function useConfig() {
  const { api, organizationId, userId } = useSession();
  return useQuery({
    queryKey: [organizationId, userId, "auth-proxy"],
    queryFn: async (): Promise<Config | null> => {
      try {
        return (await api.query("get_auth_proxy_config", {})).config;
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
  });
}

const State = ({ config: { enabled, configId, proxyUserId } }: { config: Config }) => (
  <Group gap="lg">
    <Mark color={enabled ? "teal" : "gray"}>{enabled ? "On" : "Off"}</Mark>
    <Group gap={4}>
      Configuration <Copyable text={configId} label="configuration id" />
    </Group>
    {proxyUserId !== undefined && (
      <Group gap={4}>
        User <Copyable text={proxyUserId} label="id of the proxy's user" />
      </Group>
    )}
  </Group>
);

function Power({ isOn }: { isOn: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const Dialog = isOn ? Disabling : Enabling;
  return (
    <Group>
      <Button variant="default" onClick={() => setOpen(true)}>
        {isOn ? "Disable" : "Enable"}
      </Button>
      {isOpen && <Dialog onClose={() => setOpen(false)} />}
    </Group>
  );
}

const Enabling = ({ onClose }: { onClose: () => void }) => (
  <FormDialog
    title="Enable the auth proxy"
    act="Enable"
    mutation={useSubmit("enable_auth_proxy")}
    parameters={() => ({})}
    onClose={onClose}
  >
    <Text>
      It creates a user whose key stamps the requests of people without a credential, and a policy that allows it what
      they need. Set first which pages may use it.
    </Text>
  </FormDialog>
);

const Disabling = ({ onClose }: { onClose: () => void }) => (
  <ConfirmDialog
    title="Disable the auth proxy"
    act="Disable"
    name={useNames().organizationName}
    warning="Nobody can sign up or in to this organization's app through it any more, and its key is destroyed."
    told="The auth proxy is disabled."
    undo="It can be enabled again, with another key; its settings and its configuration ID are kept."
    mutation={useSubmit("disable_auth_proxy")}
    parameters={{}}
    onClose={onClose}
  />
);

function SettingsForm({ config }: { config: object }) {
  const [read, setRead] = useState(() => draftOf(config));
  const [draft, setDraft] = useState(read);
  const update = useSubmit("update_auth_proxy_config");
  const changes = changesOf(draft, read);
  const isChanged = Object.keys(changes).length > 0;
  const refusalOf = useRefusals(update, draft);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    update.mutate(changes, { onSuccess: ({ result }) => result !== undefined && setRead(draft) });
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {groups.map(({ title, settings }) => (
          <Fieldset key={title} legend={title}>
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              {settings.map((setting) => (
                <SettingField
                  key={setting.path}
                  setting={setting}
                  value={draft[setting.path] as Typed}
                  error={refusalOf(setting.path)}
                  onChange={(value) => setDraft((before) => ({ ...before, [setting.path]: value }))}
                />
              ))}
            </SimpleGrid>
          </Fieldset>
        ))}
        {update.isError && <ProblemNote error={update.error} />}
        {update.data &&
          (update.data.result === undefined ? <NotYet activity={update.data} /> : <Text role="status">Saved.</Text>)}
        <Group>
          <Button type="submit" loading={update.isPending} disabled={!isChanged}>
            Save settings
          </Button>
          {!isChanged && (
            <Text size="sm" c="dimmed">
              Nothing has changed.
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface SettingFieldProps {
  setting: Setting;
  value: Typed;
  error: string | undefined;
  onChange: (value: Typed) => void;
}

function SettingField({ setting: { label, description, kind }, value, error, onChange }: SettingFieldProps) {
  const common = { label, description, error };
  switch (kind.as) {
    case "yes":
      return (
        <Checkbox {...common} checked={value as boolean} onChange={(event) => onChange(event.currentTarget.checked)} />
      );
    case "choice":
      return <MultiSelect {...common} data={kind.options} value={value as string[]} onChange={onChange} searchable />;
    case "number":
      return (
        <TextInput
          {...common}
          type="number"
          placeholder={String(kind.unlessSet)}
          value={value as string}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    default: {
      const Field = kind.as === "lines" || kind.isLong ? Textarea : TextInput;
      return (
        <Field
          {...common}
          placeholder={kind.as === "text" ? kind.placeholder : undefined}
          value={value as string}
          onChange={(event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          {...(Field === Textarea ? { autosize: true, minRows: 2 } : {})}
        />
      );
    }
  }
}
