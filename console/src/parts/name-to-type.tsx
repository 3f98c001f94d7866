import { TextInput } from "@mantine/core";
import type { Ref } from "react";
import { Name } from "./texts.tsx";
import { visibleText } from "./visible-text.ts";

/** Whether somebody typed the name, as it is or as it is shown: what cannot be seen in it cannot be typed. */
export const isTyped = (name: string, typed: string): boolean => typed === name || typed === visibleText(name);

interface NameToTypeProps {
  name: string;
  typed: string;
  onChange: (typed: string) => void;
  ref?: Ref<HTMLInputElement>;
}

/** Asks for the name of what is to be lost, or told. */
export const NameToType = ({ name, typed, onChange, ref }: NameToTypeProps) => (
  <TextInput
    label={
      <>
        Type <Name>{name}</Name> to confirm
      </>
    }
    value={typed}
    onChange={(event) => onChange(event.currentTarget.value)}
    autoComplete="off"
    data-autofocus
    {...(ref ? { ref } : {})}
  />
);
