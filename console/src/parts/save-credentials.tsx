import { Button, Text } from "@mantine/core";
import { useNames } from "../api/hooks.ts";
import { useSession } from "../session/context.tsx";
import type { NewApiKey } from "./api-key.ts";

interface SaveCredentialsProps {
  apiKey: NewApiKey;
  userName: string;
  /** Undefined of a user who is not there yet. */
  userId: string | undefined;
}

/** Offers a private key that was made here as a file, which `keystead call` and this console sign in with. */
export function SaveCredentials({ apiKey, userName, userId }: SaveCredentialsProps) {
  const { organizationId } = useSession();
  const { organizationName } = useNames();
  const credentials = { baseUrl: location.origin, organizationId, organizationName, userId, userName, apiKey };
  return (
    <>
      <Text>
        The private key exists only in this tab, and is lost when this dialog closes. Save it now, and hand it over
        safely if it is for somebody else.
      </Text>
      <Button onClick={() => offerFile("credentials.json", `${JSON.stringify(credentials, null, 2)}\n`)}>
        Save credentials.json
      </Button>
    </>
  );
}

function offerFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
