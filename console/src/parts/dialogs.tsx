import { Button, Group, Stack, Text } from "@mantine/core";
import type { UseMutationResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, type SyntheticEvent, useState } from "react";
import { OutcomeUnknown, type SubmittedActivity } from "../api/api.ts";
import { Dialog, takeFocus } from "./dialog.tsx";
import { isTyped, NameToType } from "./name-to-type.tsx";
import { useTell } from "./notice.tsx";
import { ProblemNote } from "./problem-note.tsx";
import { Name } from "./texts.tsx";

interface FormDialogProps<Result, Parameters> {
  title: string;
  /** What the button says. */
  act: string;
  mutation: UseMutationResult<SubmittedActivity<Result>, Error, Parameters>;
  parameters: () => Parameters;
  isReady?: boolean;
  isDanger?: boolean;
  onClose: () => void;
  /** When it is carried out and nothing more is shown of it; the dialog closes unless said. */
  onDone?: () => void;
  /** In place of the form once it is done. */
  done?: (result: Result) => ReactNode;
  /**
   * What only this dialog has and is lost with it, such as a private key: shown as soon as the activity may be carried out, be it
   * later or without our knowing. The result is undefined until it is there.
   */
  kept?: (result: Result | undefined) => ReactNode;
  children: ReactNode;
}

/** A form that submits one activity, and says what came of it. */
export function FormDialog<Result, Parameters>(props: FormDialogProps<Result, Parameters>) {
  const {
    title,
    act,
    mutation,
    parameters,
    isReady = true,
    isDanger = false,
    onClose,
    onDone = onClose,
    done,
    kept,
    children,
  } = props;
  const submitted = mutation.data;
  /** What is kept may be wanted by what is on its way. */
  const close = () => {
    if (!(kept && mutation.isPending)) onClose();
  };
  /** What is lost with the dialog is not lost by a slip. */
  const isAtStake = kept !== undefined && (submitted !== undefined || mutation.error instanceof OutcomeUnknown);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    mutation.mutate(parameters(), {
      onSuccess: ({ result }) => {
        if (result !== undefined && !done && !kept) onDone();
      },
    });
  };
  return (
    <Dialog title={title} onClose={close} isEasilyClosed={!isAtStake}>
      {submitted ? (
        <Stack tabIndex={-1} ref={takeFocus}>
          {submitted.result === undefined ? <NotYet activity={submitted} /> : done?.(submitted.result)}
          {!isOver(submitted) && kept?.(submitted.result)}
          <Group justify="flex-end">
            <Button onClick={onClose}>Close</Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {children}
            {mutation.isError && <ProblemNote error={mutation.error} />}
            {mutation.error instanceof OutcomeUnknown && kept?.(undefined)}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button
                type="submit"
                loading={mutation.isPending}
                disabled={!isReady}
                {...(isDanger ? { color: "red" } : {})}
              >
                {act}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Dialog>
  );
}

/** Whether it will never be carried out. */
const isOver = ({ status }: SubmittedActivity<unknown>): boolean =>
  status === "ACTIVITY_STATUS_FAILED" || status === "ACTIVITY_STATUS_REJECTED";

/** Accepted, and not carried out yet; or, of one whose first answer was lost, over without a result. */
export const NotYet = ({ activity }: { activity: SubmittedActivity<unknown> }) => (
  <Text role="status">
    {stateWords(activity)}{" "}
    <Link to="/activities/$activityId" params={{ activityId: activity.id }}>
      See the activity
    </Link>
    , which says why.
  </Text>
);

function stateWords(activity: SubmittedActivity<unknown>): string {
  if (isOver(activity)) return "It was not done.";
  return activity.status === "ACTIVITY_STATUS_PENDING"
    ? "It is in progress."
    : "It is waiting for others to approve it.";
}

interface ConfirmDialogProps<Result, Parameters> {
  title: string;
  /** What the button says. */
  act: string;
  /** What it befalls, as its owner named it: to be typed. */
  name: string;
  /** What it does to others, and what is lost. */
  warning: ReactNode;
  /** Told once it is done. */
  told: ReactNode;
  /** What can be undone of it, and what cannot; said before, and once more when it is done. */
  undo: string;
  mutation: UseMutationResult<SubmittedActivity<Result>, Error, Parameters>;
  parameters: Parameters;
  onClose: () => void;
  /** Where to go once it is done; the dialog closes unless said. */
  onDone?: () => void | Promise<void>;
}

/** Asks for the name of what is to be lost. */
export function ConfirmDialog<Result, Parameters>(props: ConfirmDialogProps<Result, Parameters>) {
  const { title, act, name, warning, told, undo, mutation, parameters, onClose, onDone = onClose } = props;
  const [typed, setTyped] = useState("");
  const tell = useTell();
  const finish = async () => {
    await onDone();
    tell(
      <>
        {told} {undo}
      </>,
    );
  };
  return (
    <FormDialog
      title={title}
      act={act}
      isDanger
      isReady={isTyped(name, typed)}
      mutation={mutation}
      parameters={() => parameters}
      onClose={onClose}
      onDone={() => void finish()}
    >
      <Text>
        {warning} {undo}
      </Text>
      <NameToType name={name} typed={typed} onChange={setTyped} />
    </FormDialog>
  );
}

type DeleteDialogProps<Result, Parameters> = Omit<ConfirmDialogProps<Result, Parameters>, "title" | "act" | "told"> & {
  kind: string;
};

/** The same for what is deleted. */
export function DeleteDialog<Result, Parameters>({ kind, ...props }: DeleteDialogProps<Result, Parameters>) {
  return (
    <ConfirmDialog
      {...props}
      title={`Delete ${kind}`}
      act={`Delete ${kind}`}
      told={
        <>
          The {kind} “<Name>{props.name}</Name>” is deleted.
        </>
      }
    />
  );
}
