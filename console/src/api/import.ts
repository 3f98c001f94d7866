import type { UseMutationResult } from "@tanstack/react-query";
import { useSession } from "../session/context.tsx";
import type { Api, SubmittedActivity } from "./api.ts";
import type { ImportKey } from "./bundles.ts";
import { useSubmitClosed } from "./closed.ts";

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
  const { secret, begin, close, submit, onImported } = what;
  return useSubmitClosed({
    secrets: [secret],
    close: async () => {
      const { result: begun } = await begin(api, userId);
      if (begun === undefined) {
        throw new Error("Your organization's policies require approvals for an import. Import with the SDK instead.");
      }
      return close(secret, { importBundle: begun.importBundle, userId, organizationId });
    },
    submit: (encryptedBundle) => submit(api, { userId, encryptedBundle }),
    onSubmitted: onImported,
  });
}
