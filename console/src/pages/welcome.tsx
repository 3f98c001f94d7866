import { Anchor, Button, Card, Center, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ProblemNote } from "../parts/problem-note.tsx";
import { makePasskey, passkeyProblem } from "../session/passkey.ts";
import { rememberOrganization } from "../session/remembered.ts";
import { type Session, signInWithPasskey } from "../session/session.ts";

const PATH = /^#\/welcome\/([A-Za-z0-9_-]+)$/;

/** The token of the link that the first start gave, where this page was opened by it. */
export const welcomeToken = (): string | undefined => PATH.exec(location.hash)?.[1];

/** Takes the token out of the address, so that nobody finds it in the browser's history. */
export const leaveWelcome = (): void => history.replaceState(null, "", "/#/");

/** The first visit: a passkey for the root user, and inside. */
export function Welcome({
  token,
  onSignedIn,
  onLeave,
}: {
  token: string;
  onSignedIn: (session: Session) => void;
  onLeave: () => void;
}) {
  useEffect(() => {
    document.title = "Welcome · Keystead";
  }, []);
  // The link serves once: whatever becomes of the sign-in, the passkey is there.
  const [registered, setRegistered] = useState<string>();
  const make = useMutation({
    mutationFn: async () => {
      const organizationId = registered ?? (await register(token));
      setRegistered(organizationId);
      return signInWithPasskey(organizationId);
    },
    onSuccess: onSignedIn,
  });
  const problem = passkeyProblem();
  return (
    <Center mih="100vh" p="md" component="main">
      <Card withBorder maw={520} w="100%">
        <Stack>
          <Title order={1} size="h2">
            Welcome to Keystead
          </Title>
          <Text>
            This installation is new. Create a passkey on this device to become its root user: you decide on everything.
            Your browser asks you twice, to make the passkey and to sign in with it.
          </Text>
          {problem !== undefined && <Text>{problem}</Text>}
          {make.isError && <ProblemNote error={make.error} />}
          <Group>
            <Button loading={make.isPending} disabled={problem !== undefined} onClick={() => make.mutate()}>
              {registered === undefined ? "Create a passkey and sign in" : "Sign in with the passkey"}
            </Button>
            <Anchor component="button" type="button" onClick={onLeave}>
              Sign in another way
            </Anchor>
          </Group>
        </Stack>
      </Card>
    </Center>
  );
}

/**
 * Makes a passkey, and registers it by the one request that nobody stamps: the link itself says who may make it. Resolves to the
 * organization's id.
 *
 * @throws Error with what the server said
 */
async function register(token: string): Promise<string> {
  const authenticator = await makePasskey({ name: "Root user", label: "First passkey" });
  let answer: Response;
  try {
    answer = await fetch("/console/first-visit", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, authenticator }),
    });
  } catch {
    throw new Error(
      "The server does not answer: it is not known whether the passkey was added. Try again; if the link is refused because it was used, sign in another way with the passkey and the organization's ID from credentials.json.",
    );
  }
  const body = (await answer.json()) as { organizationId: string; message: string };
  if (!answer.ok) throw new Error(body.message);
  rememberOrganization(body.organizationId);
  return body.organizationId;
}
