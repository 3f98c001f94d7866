import { TextInput } from "@mantine/core";

/** What something new is to be called; the dialog begins there. */
export const NameField = ({ value, onChange }: { value: string; onChange: (name: string) => void }) => (
  <TextInput
    label="Name"
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
    required
    autoComplete="off"
    data-autofocus
  />
);
