import { MultiSelect } from "@mantine/core";
import { type AccountParameters, type AddressFormat, accountAt, FORMAT_OPTIONS, usualPath } from "./address-formats.ts";

/** The first account of each kind. */
export const firstAccounts = (formats: readonly AddressFormat[]): AccountParameters[] =>
  formats.map((format) => accountAt(format, usualPath(format, 0)));

interface AccountsFieldProps {
  value: AddressFormat[];
  onChange: (formats: AddressFormat[]) => void;
}

/** Which accounts a wallet begins with. */
export const AccountsField = ({ value, onChange }: AccountsFieldProps) => (
  <MultiSelect
    label="Accounts"
    description="One of each kind, at the path that other wallets use; more can be added later."
    data={FORMAT_OPTIONS}
    value={value}
    onChange={(values) => onChange(values as AddressFormat[])}
    searchable
  />
);
