import { Card, Group, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { visibleText } from "./visible-text.ts";

/** A part of a page under a heading, with what can be added to it. */
export const Section = ({ title, add, children }: { title: string; add?: ReactNode; children: ReactNode }) => (
  <Card withBorder component="section" aria-label={visibleText(title)}>
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {visibleText(title)}
        </Title>
        {add}
      </Group>
      {children}
    </Stack>
  </Card>
);
