import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { useSession } from "../session/context.tsx";
import { type Api, OutcomeUnknown, type SubmittedActivity } from "./api.ts";
import type { ImportKey } from "./bundles.ts";

interface Import<Result> {
  /** What is imported, as it is closed. */
  secret: string;
  begin: (api: Api, userId: string) => Promise<SubmittedActivity<{ importBundle: string }>>;
  /** Closes the secret for the signer alone. */
  close: (secret: string, key: ImportKey) => Promise<string>;
  submit: (api: Api, bundle: { userId: string; encryptedBundle: string }) => Promise<SubmittedActivity<Result>>;
  /** Forgets the secret. */
  onImported: () => void;
}

/** Imports a secret, which is closed for the signer here: the server never sees it. */
export function useImport<Result>(
  what: Import<Result>,
): UseMutationResult<SubmittedActivity<Result>, Error, undefined> {
  const { api, organizationId, userId } = useSession();
  const queries = useQueryClient();
  const { secret, begin, close, submit, onImported } = what;
  /** Each closing makes other bytes: while an import's outcome is not known, the same ones ask for the same activity. */
  const closed = useRef<{ secret: string; encryptedBundle: string }>(undefined);
  const closeOnce = async () => {
    if (closed.current?.secret !== secret) {
      const { result: begun } = await begin(api, userId);
      if (begun === undefined) {
        throw new Error("By your organization's policies an import waits for approvals. Import with the SDK instead.");
      }
      const key = { importBundle: begun.importBundle, userId, organizationId };
      closed.current = { secret, encryptedBundle: await close(secret, key) };
    }
    return closed.current.encryptedBundle;
  };
  return useMutation({
    mutationFn: async () => submit(api, { userId, encryptedBundle: await closeOnce() }),
    onSuccess: () => {
      closed.current = undefined;
      onImported();
    },
    onError: (error) => {
      if (!(error instanceof OutcomeUnknown)) closed.current = undefined;
    },
    onSettled: () => void queries.invalidateQueries(),
    gcTime: 0,
  });
}
