import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { use } from "react";
import { problemOf } from "../api/problem.ts";
import { SessionContext } from "../session/context.tsx";
import { Explanations } from "./explanations.tsx";

/** What went wrong, and what helps. */
export function ProblemNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message, remedy, explanations = [], isSignedOut = false } = problemOf(error);
  const signed = use(SessionContext);
  return (
    <Alert
      role="alert"
      variant="default"
      title={<span className="name">{message}</span>}
      styles={{ root: { borderColor: "var(--mantine-color-error)" } }}
    >
      <Stack gap="xs">
        {remedy && <Text size="sm">{remedy}</Text>}
        {explanations.length > 0 && <Explanations of={explanations} />}
        <Group>
          {retry && !isSignedOut && (
            <Button size="xs" variant="default" onClick={retry}>
              Try again
            </Button>
          )}
          {isSignedOut && signed && (
            <Button size="xs" onClick={signed.leave}>
              Sign in again
            </Button>
          )}
        </Group>
      </Stack>
    </Alert>
  );
}
