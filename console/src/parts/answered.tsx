import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Loading } from "./loading.tsx";
import { ProblemNote } from "./problem-note.tsx";

/** What is shown of an answer, once it is there; until then that it is on its way, or what went wrong. */
export function Answered<Value>({
  to,
  children,
}: {
  to: UseQueryResult<Value>;
  children: (value: Value) => ReactNode;
}) {
  if (to.data !== undefined) {
    return (
      <>
        {to.isError && <ProblemNote error={to.error} retry={() => void to.refetch()} />}
        {children(to.data)}
      </>
    );
  }
  if (to.isError) return <ProblemNote error={to.error} retry={() => void to.refetch()} />;
  return <Loading />;
}
