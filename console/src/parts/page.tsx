import { Group, Stack, Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";
import { visibleText } from "./visible-text.ts";

/** A page with its heading, which screen readers are taken to when it opens. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visibleText(title)} · Keystead`;
    // Where the page is scrolled to is not the heading's affair: somebody may come back to the middle of a list.
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="center">
        <Title order={1} size="h2" ref={heading} tabIndex={-1} className="name">
          {visibleText(title)}
        </Title>
        {actions}
      </Group>
      {children}
    </Stack>
  );
}
