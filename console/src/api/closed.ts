import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { OutcomeUnknown, type SubmittedActivity } from "./api.ts";

interface Closing<Closed, Result> {
  /** What is closed, as it is typed. */
  secrets: readonly string[];
  /** Closes them for the signer alone. */
  close: () => Promise<Closed>;
  submit: (closed: Closed) => Promise<SubmittedActivity<Result>>;
  /** Forgets the secrets. */
  onSubmitted: () => void;
}

/** Submits an activity with secrets that are closed for the signer here: the server never sees them. */
export function useSubmitClosed<Closed, Result>(
  closing: Closing<Closed, Result>,
): UseMutationResult<SubmittedActivity<Result>, Error, undefined> {
  const { secrets, close, submit, onSubmitted } = closing;
  const queries = useQueryClient();
  /** Each closing makes other bytes: while an activity's outcome is not known, the same ones ask for the same activity. */
  const kept = useRef<{ secrets: readonly string[]; closed: Closed }>(undefined);
  const closeOnce = async () => {
    if (kept.current?.secrets.join("\n") !== secrets.join("\n")) kept.current = { secrets, closed: await close() };
    return kept.current.closed;
  };
  return useMutation({
    mutationFn: async () => submit(await closeOnce()),
    onSuccess: () => {
      kept.current = undefined;
      onSubmitted();
    },
    onError: (error) => {
      if (!(error instanceof OutcomeUnknown)) kept.current = undefined;
    },
    onSettled: () => void queries.invalidateQueries(),
    gcTime: 0,
  });
}
