import type { UseMutationResult } from "@tanstack/react-query";
import { useState } from "react";
import type { SubmittedActivity } from "../api/api.ts";
import { FormDialog } from "./dialogs.tsx";
import { NameField } from "./name-field.tsx";

interface RenameDialogProps<Result, Parameters> {
  kind: string;
  /** What it is called now. */
  name: string;
  mutation: UseMutationResult<SubmittedActivity<Result>, Error, Parameters>;
  parametersFor: (name: string) => Parameters;
  onClose: () => void;
}

/** Gives another name to something that has one. */
export function RenameDialog<Result, Parameters>(props: RenameDialogProps<Result, Parameters>) {
  const { kind, name, mutation, parametersFor, onClose } = props;
  const [typed, setTyped] = useState(name);
  return (
    <FormDialog
      title={`Rename the ${kind}`}
      act="Rename"
      mutation={mutation}
      isReady={typed.trim() !== "" && typed !== name}
      parameters={() => parametersFor(typed)}
      onClose={onClose}
    >
      <NameField value={typed} onChange={setTyped} />
    </FormDialog>
  );
}
