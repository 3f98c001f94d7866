import { Button } from "@mantine/core";
import type { ReactNode } from "react";

/** Shows what is below it, and hides it again. */
export function UnfoldButton({
  isOpen,
  setOpen,
  children,
}: {
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
  children: ReactNode;
}) {
  return (
    <Button size="xs" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {children}
    </Button>
  );
}
