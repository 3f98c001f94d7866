import type { UseMutationResult } from "@tanstack/react-query";
import { useState } from "react";
import { violationsIn, wordsAtField } from "./api-error.ts";

type Submission = Pick<UseMutationResult<unknown, Error, never>, "error" | "submittedAt">;

/**
 * What the server has against a field of an activity, for as long as the same stands there that was sent.
 *
 * @param draft what stands in the form, by the paths of fields below `parameters`
 */
export function useRefusals(
  { error, submittedAt }: Submission,
  draft: Readonly<Record<string, unknown>>,
): (path: string) => string | undefined {
  const [sent, setSent] = useState({ submittedAt, draft });
  if (sent.submittedAt !== submittedAt) setSent({ submittedAt, draft });
  const violations = violationsIn(error);
  return (path) => {
    const field = `parameters.${path}`;
    const here = violations.find((each) => each.field === field || each.field.startsWith(`${field}.`));
    return here && sent.draft[path] === draft[path] ? wordsAtField(here) : undefined;
  };
}
