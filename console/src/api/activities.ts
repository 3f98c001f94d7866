import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { idFrom } from "../ids.ts";
import { useSession } from "../session/context.tsx";
import type { ActivityStatus, Schemas, ShownActivity } from "./api.ts";
import { LIVE } from "./hooks.ts";
import { ACTIVITY_TYPES } from "./operations.gen.ts";
import { usePagedQuery } from "./pages.ts";

/** Lists of activities, paged by the server. */

const PAGE_SIZE = 25;
const MAX_WAITING = 100;
/** Those that another approval or credential may carry on. */
export const WAITING_STATUSES = [
  "ACTIVITY_STATUS_CONSENSUS_NEEDED",
  "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED",
] as const satisfies ActivityStatus[];

export type ActivityType = Schemas["ActivityType"];

/** Of text from the page's address: one that no server knows would be refused. */
export const isActivityType = (text: unknown): text is ActivityType =>
  (Object.values(ACTIVITY_TYPES) as unknown[]).includes(text);

export interface ActivityFilter {
  statuses: ActivityStatus[];
  types: ActivityType[];
  /** Who submitted it or voted on it. */
  userId?: string | undefined;
  /** Milliseconds; the minute that begins there is the first of the list. */
  from?: number | undefined;
  /** Milliseconds; the minute that begins there is the last of the list. */
  to?: number | undefined;
}

const MINUTE_MS = 60_000;

/** What waits for others, of the newest hundred. */
export interface Waiting {
  /** Those that whoever is signed in can approve or reject. */
  mine: ShownActivity[];
  /** Of how many more the server does not tell in a list whether their vote counts. */
  untold: number;
  /** Whether more wait than were looked at. */
  hasMore: boolean;
}

export function useWaitingForMe() {
  const { api, organizationId, userId } = useSession();
  return useQuery({
    queryKey: [organizationId, userId, "waiting"],
    queryFn: async (): Promise<Waiting> => {
      const request = { filterByStatus: [...WAITING_STATUSES], paginationOptions: { limit: String(MAX_WAITING) } };
      const { activities, hasMore = false } = await api.query("list_activities", request);
      return {
        mine: activities.filter(({ canApprove, canReject }) => canApprove || canReject),
        untold: activities.filter(({ votingRightsUnknown }) => votingRightsUnknown !== undefined).length,
        hasMore: hasMore || activities.length === MAX_WAITING,
      };
    },
    ...LIVE,
  });
}

/** What lists show of an activity. Of however many, nothing else is kept. */
export interface ListedActivity extends Pick<ShownActivity, "id" | "type" | "status" | "createdAt"> {
  /** What whoever submitted it is called. */
  submitter: string;
}

export const listed = (activity: ShownActivity): ListedActivity => {
  const { id, type, status, createdAt } = activity;
  return { id, type, status, createdAt, submitter: submitterOf(activity) };
};

export interface ActivityPage {
  activities: ListedActivity[];
  /** Where the next page begins; undefined of the last one. */
  next: string | undefined;
  /** Whether the server looked through as many as it does at once, and found none. */
  isCut: boolean;
}

/** Newest first, page by page. What is new is asked for every few seconds; older pages stay as they were read. */
export function useActivities({ statuses, types, userId: ofUser, from, to }: ActivityFilter) {
  const { api, organizationId, userId } = useSession();
  const queries = useQueryClient();
  const queryKey = [organizationId, userId, "activities", statuses, types, ofUser, from, to];
  const newest = to === undefined ? "" : idFrom(to + MINUTE_MS);
  const oldest = from === undefined ? "" : idFrom(from);
  const readPage = async (before: string): Promise<ActivityPage> => {
    const { activities, hasMore } = await api.query("list_activities", {
      filterByStatus: statuses,
      filterByType: types,
      ...(ofUser === undefined ? {} : { filterByUserId: ofUser }),
      paginationOptions: { limit: String(PAGE_SIZE), ...(before === "" ? {} : { before }) },
    });
    const wanted = activities.filter(({ id }) => id >= oldest);
    // A page may be shorter because its activities are large; it says so.
    const isLast = wanted.length < activities.length || (activities.length < PAGE_SIZE && !hasMore);
    return {
      activities: wanted.map(listed),
      next: isLast ? undefined : activities.at(-1)?.id,
      isCut: hasMore === true && activities.length === 0,
    };
  };
  const list = usePagedQuery({
    queryKey,
    initialPageParam: newest,
    queryFn: ({ pageParam }) => readPage(pageParam),
    getNextPageParam: ({ next }) => next,
  });
  useQuery({
    queryKey: [...queryKey, "newest"],
    queryFn: async () => {
      const first = await readPage(newest);
      // Of a list that goes on from further down the newest are not shown.
      queries.setQueryData(queryKey, (old: PagedActivities | undefined) =>
        old?.pageParams[0] === newest ? withNewest(old, first) : old,
      );
      return null;
    },
    enabled: list.isSuccess,
    // The list itself has just been read.
    initialData: null,
    staleTime: Number.POSITIVE_INFINITY,
    ...LIVE,
  });
  return list;
}

type PagedActivities = InfiniteData<ActivityPage, string>;

/** The list with its newest page anew. Where more happened since than one page tells, it begins anew. Identifiers sort by time. */
function withNewest({ pages, pageParams }: PagedActivities, newest: ActivityPage): PagedActivities {
  const last = newest.activities.at(-1)?.id ?? "";
  const [known = ""] = pages.flatMap(({ activities }) => activities.map(({ id }) => id));
  if (newest.next === undefined || last > known) return { pages: [newest], pageParams: pageParams.slice(0, 1) };
  const [first, ...older] = pages.map(({ activities, ...page }) => ({
    ...page,
    activities: activities.filter(({ id }) => id < last),
  }));
  const begun = {
    activities: [...newest.activities, ...(first?.activities ?? [])],
    next: first?.next,
    isCut: first?.isCut ?? false,
  };
  return { pages: [begun, ...older], pageParams };
}

/** What an activity is about, under its one key. */
export const intentOf = ({ intent }: ShownActivity): Record<string, unknown> =>
  (Object.values(intent)[0] ?? {}) as Record<string, unknown>;

export const resultOf = ({ result }: ShownActivity): Record<string, unknown> =>
  (Object.values(result)[0] ?? {}) as Record<string, unknown>;

/** Who submitted it: theirs is the first vote. */
const submitterOf = ({ votes }: ShownActivity): string => votes[0]?.user.userName ?? "the installation";

/** Undefined of what the installation itself asked for. */
export const submitterIdOf = ({ votes }: ShownActivity): string | undefined => votes[0]?.userId;
