import { Card, Group, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** A part of a page under a heading, with what can be added to it. */
export const Section = ({ title, add, children }: { title: string; add?: ReactNode; children: ReactNode }) => (
  <Card withBorder component="section" aria-label={title}>
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        {add}
      </Group>
      {children}
    </Stack>
  </Card>
);
