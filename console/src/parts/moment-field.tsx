import { TextInput } from "@mantine/core";

interface MomentFieldProps {
  label: string;
  /** Milliseconds. */
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}

/** A moment in the reader's zone, to the minute. */
export const MomentField = ({ label, value, onChange }: MomentFieldProps) => (
  <TextInput
    label={label}
    type="datetime-local"
    value={value === undefined ? "" : localText(value)}
    onChange={(event) => {
      const moment = new Date(event.currentTarget.value).getTime();
      onChange(Number.isNaN(moment) ? undefined : moment);
    }}
  />
);

const MINUTE_DIGITS = 16;

/** As the field takes it: a local time without its zone. */
function localText(moment: number): string {
  const offsetMs = new Date(moment).getTimezoneOffset() * 60_000;
  return new Date(moment - offsetMs).toISOString().slice(0, MINUTE_DIGITS);
}
