import {
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useSession } from "../session/context.tsx";
import type { ActivityPath, AnswerOf, ParametersOf, QueryPath, RequestOf, ResultOf, SubmittedActivity } from "./api.ts";
import type { OpenApi } from "./documented.ts";
import { problemOf } from "./problem.ts";
import { readJson } from "./read-json.ts";

/** How often what others change is asked for again. */
const LIVE_MS = 5000;

/** For queries of what others change: asked again while the page is seen, as long as the credential serves. */
export const LIVE = {
  refetchInterval: ({ state: { error } }: { state: { error: Error | null } }) =>
    error && problemOf(error).isSignedOut ? false : LIVE_MS,
  refetchIntervalInBackground: false,
} as const;

interface Options {
  live?: boolean;
  /** Another organization than one's own. */
  of?: string;
  enabled?: boolean;
}

/** The answer to a query; asked again when an activity was submitted here. */
export function useAnswer<Path extends QueryPath>(
  path: Path,
  request: RequestOf<Path>,
  { live = false, enabled = true, of }: Options = {},
): UseQueryResult<AnswerOf<Path>> {
  const { api, organizationId, userId } = useSession();
  return useQuery({
    queryKey: [of ?? organizationId, userId, path, request],
    queryFn: () => (of === undefined ? api : api.of(of)).query(path, request),
    enabled,
    ...(live ? LIVE : {}),
  });
}

/** The server's documentation of its operations; it stays as it is while the server runs. */
export const useOpenApi = (): UseQueryResult<OpenApi> =>
  useQuery({
    queryKey: ["openapi"],
    queryFn: () => readJson<OpenApi>("/openapi.json"),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** What whoever is signed in and their organization are called now: both can be renamed meanwhile. */
export function useNames(): { organizationName: string; userName: string } {
  const { organizationName, userName } = useSession();
  const { data } = useAnswer("whoami", {});
  return { organizationName: data?.organizationName ?? organizationName, userName: data?.username ?? userName };
}

export type Submit<Path extends ActivityPath> = UseMutationResult<
  SubmittedActivity<ResultOf<Path>>,
  Error,
  ParametersOf<Path>
>;

/** Submits an activity; what was shown before is asked for again, whatever came of it. */
export function useSubmit<Path extends ActivityPath>(path: Path): Submit<Path> {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (parameters) => api.submit(path, parameters),
    onSettled: () => void queries.invalidateQueries(),
  });
}
