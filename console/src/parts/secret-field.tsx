import { PasswordInput } from "@mantine/core";

interface SecretFieldProps {
  label: string;
  description: string;
  value: string;
  onChange: (secret: string) => void;
  error?: string | undefined;
}

/** A secret of one line, of which nothing is seen unless somebody looks. */
export const SecretField = ({ onChange, ...field }: SecretFieldProps) => (
  <PasswordInput
    {...field}
    onChange={(event) => onChange(event.currentTarget.value)}
    required
    autoComplete="off"
    spellCheck={false}
    visibilityToggleButtonProps={{ "aria-label": `Show what is typed as ${field.label.toLowerCase()}` }}
  />
);
