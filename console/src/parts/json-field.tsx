import { JsonInput } from "@mantine/core";

/** The object that is typed; undefined where it is none. */
export function jsonObjectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface JsonFieldProps {
  label: string;
  description?: string;
  value: string;
  onChange: (text: string) => void;
}

/** An object to be typed as JSON. */
export const JsonField = (props: JsonFieldProps) => (
  <JsonInput {...props} autosize minRows={4} maxRows={24} validationError="This is not JSON." spellCheck={false} />
);
