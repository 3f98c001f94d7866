import {
  Alert,
  Anchor,
  Button,
  Card,
  Center,
  Divider,
  FileButton,
  Group,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type DragEvent, type SyntheticEvent, useEffect, useState } from "react";
import { isId } from "../ids.ts";
import { ProblemNote } from "../parts/problem-note.tsx";
import { passkeyProblem } from "../session/passkey.ts";
import { lastOrganization } from "../session/remembered.ts";
import { parseCredentials, type Session, signInWithKey, signInWithPasskey } from "../session/session.ts";

/** Who are you? By a passkey, or by the text of a credentials file. */
export function SignIn({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  useEffect(() => {
    document.title = "Sign in · Keystead";
  }, []);
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack maw={520} w="100%">
        <Title order={1} size="h2">
          Keystead
        </Title>
        <Text c="dimmed">
          Every request from this page is stamped in your browser. It may do what your credential may, and nothing else.
        </Text>
        {!window.isSecureContext && <Insecure />}
        <WithPasskey onSignedIn={onSignedIn} />
        <Divider label="or" />
        <WithCredentials onSignedIn={onSignedIn} />
        <Text size="sm" c="dimmed">
          The API is described at <Anchor href="/docs/">/docs</Anchor>.
        </Text>
      </Stack>
    </Center>
  );
}

const Insecure = () => (
  <Alert role="alert" variant="default" title="This address cannot be used to sign in">
    Browsers sign only on pages that were loaded over https, or from this machine. Open the console with https, or at
    http://localhost on the server's machine.
  </Alert>
);

function WithPasskey({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [organizationId, setOrganizationId] = useState(lastOrganization);
  const signIn = useMutation({ mutationFn: signInWithPasskey, onSuccess: onSignedIn });
  const problem = passkeyProblem();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    signIn.mutate(organizationId.trim());
  };
  return (
    <Card withBorder component="form" onSubmit={submit}>
      <Stack>
        <Title order={2} size="h4">
          With a passkey
        </Title>
        {problem !== undefined && <Text size="sm">{problem}</Text>}
        <TextInput
          label="Organization"
          description="Its ID. It is remembered in this browser."
          value={organizationId}
          onChange={(event) => setOrganizationId(event.currentTarget.value)}
          disabled={problem !== undefined}
          autoComplete="off"
          spellCheck={false}
        />
        {signIn.isError && <ProblemNote error={signIn.error} />}
        <Group>
          <Button
            type="submit"
            loading={signIn.isPending}
            disabled={problem !== undefined || !isId(organizationId.trim())}
          >
            Sign in with a passkey
          </Button>
        </Group>
      </Stack>
    </Card>
  );
}

function WithCredentials({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [text, setText] = useState("");
  const [isOver, setOver] = useState(false);
  const signIn = useMutation({
    mutationFn: async (given: string) => signInWithKey(parseCredentials(given)),
    onSuccess: onSignedIn,
  });
  const read = async (file: File | null | undefined) => {
    if (file) signIn.mutate(await file.text());
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void read(event.dataTransfer.files[0]);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    signIn.mutate(text);
  };
  return (
    <Card withBorder component="form" onSubmit={submit}>
      <Stack>
        <Title order={2} size="h4">
          With an API key
        </Title>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the button and the field beside it do the same */}
        <div
          className="drop"
          data-over={isOver}
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={drop}
        >
          <Textarea
            label="Credentials"
            description="Paste the text of credentials.json, or drop the file here. The key stays in the memory of this tab: closing or reloading it signs you out."
            placeholder='{"organizationId": "…", "apiKey": {"publicKey": "…", "privateKey": "…"}}'
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            minRows={4}
            autosize
            maxRows={8}
            autoComplete="off"
            spellCheck={false}
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          />
        </div>
        {signIn.isError && <ProblemNote error={signIn.error} />}
        <Group>
          <Button type="submit" variant="default" loading={signIn.isPending} disabled={text.trim() === ""}>
            Sign in with an API key
          </Button>
          <FileButton onChange={(file) => void read(file)} accept="application/json,.json">
            {(props) => (
              <Button {...props} variant="subtle">
                Choose the file
              </Button>
            )}
          </FileButton>
        </Group>
      </Stack>
    </Card>
  );
}
