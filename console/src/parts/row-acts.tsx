import { Button, Group } from "@mantine/core";
import { visibleText } from "./visible-text.ts";

interface RowActsProps {
  /** Of what the row is about: to whoever hears the buttons they are told apart by it. */
  name: string;
  onChange: () => void;
  onDelete: () => void;
}

/** What can be done about the thing of a row. */
export function RowActs({ name, onChange, onDelete }: RowActsProps) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Button size="compact-sm" variant="default" aria-label={`Change ${visibleText(name)}`} onClick={onChange}>
        Change
      </Button>
      <Button size="compact-sm" variant="default" aria-label={`Delete ${visibleText(name)}`} onClick={onDelete}>
        Delete
      </Button>
    </Group>
  );
}
