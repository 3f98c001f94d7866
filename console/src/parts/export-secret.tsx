import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useEffect, useRef, useState } from "react";
import type { SubmittedActivity } from "../api/api.ts";
import { type ExportKey, newExportKey } from "../api/bundles.ts";
import { useSession } from "../session/context.tsx";
import { Dialog, takeFocus } from "./dialog.tsx";
import { NotYet } from "./dialogs.tsx";
import { isTyped, NameToType } from "./name-to-type.tsx";
import { ProblemNote } from "./problem-note.tsx";

/** How long a secret is on the screen. */
const SHOWN_SECONDS = 60;

type Exported = { secret: string } | { waits: SubmittedActivity<unknown> };

interface ExportSecretProps {
  /** What it is of, as its owner named it: to be typed. */
  name: string;
  kind: string;
  /** What the secret is called. */
  secretName: string;
  warning: string;
  ask: (targetPublicKey: string) => Promise<SubmittedActivity<{ exportBundle: string }>>;
  /** @throws Error where the bundle is not this installation's, or not for this key */
  open: (exportBundle: string, key: ExportKey, organizationId: string) => Promise<string>;
  onClose: () => void;
}

/** Exports a secret to this browser: closed for a key that is made here, opened here, shown once and for a minute. */
export function ExportSecret({ name, kind, secretName, warning, ask, open, onClose }: ExportSecretProps) {
  const { organizationId } = useSession();
  const [typed, setTyped] = useState("");
  /** Until there is a result, so that trying again asks for the same activity and can open what comes of it. */
  const kept = useRef<ExportKey>(undefined);
  const exporting = useMutation({
    mutationFn: async (): Promise<Exported> => {
      kept.current ??= await newExportKey();
      const key = kept.current;
      const activity = await ask(key.targetPublicKey);
      if (activity.result === undefined) return { waits: activity };
      kept.current = undefined;
      return { secret: await open(activity.result.exportBundle, key, organizationId) };
    },
    // What was shown is in no cache.
    gcTime: 0,
  });
  /** What was shown is gone, and whoever wants it again confirms it again. */
  const clear = () => {
    setTyped("");
    exporting.reset();
  };
  const start = (event: SyntheticEvent) => {
    event.preventDefault();
    exporting.mutate();
  };
  return (
    <Dialog title={`Export ${kind}`} onClose={onClose}>
      {exporting.data === undefined ? (
        <form onSubmit={start}>
          <Stack>
            <Text>
              {warning} It is shown on this screen for {SHOWN_SECONDS} seconds.
            </Text>
            <NameToType name={name} typed={typed} onChange={setTyped} ref={takeFocus} />
            {exporting.isError && <ProblemNote error={exporting.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" color="red" loading={exporting.isPending} disabled={!isTyped(name, typed)}>
                Export the {secretName.toLowerCase()}
              </Button>
            </Group>
          </Stack>
        </form>
      ) : (
        <Stack tabIndex={-1} ref={takeFocus}>
          {"secret" in exporting.data ? (
            <Secret name={secretName} secret={exporting.data.secret} onOver={clear} />
          ) : (
            <>
              <NotYet activity={exporting.data.waits} />
              <Text size="sm">
                The key for it is lost when this dialog closes: if the export has to be approved first, nobody can open
                its result. In that case, export with the SDK.
              </Text>
            </>
          )}
          <Group justify="flex-end">
            <Button onClick={onClose}>Close</Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}

function Secret({ name, secret, onOver }: { name: string; secret: string; onOver: () => void }) {
  const [left, setLeft] = useState(SHOWN_SECONDS);
  useEffect(() => {
    // Browsers tick seldom in a page that is not seen, and never while the machine sleeps.
    const deadline = Date.now() + SHOWN_SECONDS * 1000;
    const look = () => setLeft(Math.ceil((deadline - Date.now()) / 1000));
    const tick = setInterval(look, 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(tick);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  useEffect(() => {
    if (left <= 0) onOver();
  }, [left, onOver]);
  return (
    <>
      <Code block className="bytes" tabIndex={0} aria-label={name}>
        {secret}
      </Code>
      <Text size="sm">Write it down: it disappears in {left} seconds, or when you close this dialog.</Text>
    </>
  );
}
