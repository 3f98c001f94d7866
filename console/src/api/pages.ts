import {
  hashKey,
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import { useSession } from "../session/context.tsx";
import type { Api } from "./api.ts";

/** Lists that the server pages. */

export type Paged<Page> = UseInfiniteQueryResult<InfiniteData<Page, string>> & {
  /** Whether the list goes on from further down, and has not what is above. */
  isFromFurtherDown: boolean;
  /** Keeps the last page alone, with which the list begins from now on. */
  goOnFromHere: () => void;
  /** Reads the list anew from its beginning. */
  beginAgain: () => void;
};

interface PagedQuery<Page> {
  /** The organization and the user who looks among it. */
  queryKey: readonly unknown[];
  initialPageParam: string;
  queryFn: (context: { pageParam: string }) => Promise<Page>;
  /** Where the next page begins; undefined after the last one. */
  getNextPageParam: (page: Page) => string | undefined;
}

/** Pages of a list that are kept when it is left: they are read anew when somebody comes back to it. */
const MAX_KEPT_PAGES = 8;

/** A list, page by page, however the server names where the next one begins. */
export function usePagedQuery<Page>(query: PagedQuery<Page>): Paged<Page> {
  const queries = useQueryClient();
  const kept = queries.getQueryCache();
  const { queryKey, initialPageParam } = query;
  const hash = hashKey(queryKey);
  useEffect(
    () => () => {
      const left = kept.get<InfiniteData<Page>>(hash);
      const { data, dataUpdatedAt: updatedAt } = left?.state ?? {};
      // That pages are dropped makes none of the others newer.
      if (data !== undefined && updatedAt !== undefined)
        left?.setData(partOf(data, 0, MAX_KEPT_PAGES), { updatedAt, manual: true });
    },
    [kept, hash],
  );
  // Whoever comes back from another window does not ask for every page anew.
  const list = useInfiniteQuery<Page, Error, InfiniteData<Page, string>, readonly unknown[], string>({
    ...query,
    refetchOnWindowFocus: false,
  });
  const { data } = list;
  return {
    ...list,
    isFromFurtherDown: data !== undefined && data.pageParams[0] !== initialPageParam,
    goOnFromHere: () => queries.setQueryData<InfiniteData<Page, string>>(queryKey, (old) => old && partOf(old, -1)),
    beginAgain: () => void queries.resetQueries({ queryKey, exact: true }),
  };
}

const partOf = <Page, Place>(
  { pages, pageParams }: InfiniteData<Page, Place>,
  from: number,
  to?: number,
): InfiniteData<Page, Place> => ({
  pages: pages.slice(from, to),
  pageParams: pageParams.slice(from, to),
});

/** As many as the server gives at once, so that a long list takes few requests. */
const PAGE_SIZE = 100;

interface Pagination {
  limit: string;
  before?: string;
}

/** Newest first, in the usual way: `read` asks for one page, and `idOf` names the cursor of an item. */
export function usePages<Item>(
  key: readonly unknown[],
  read: (api: Api, paginationOptions: Pagination) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Paged<readonly Item[]> {
  const { api, organizationId, userId } = useSession();
  return usePagedQuery({
    queryKey: [organizationId, userId, ...key],
    initialPageParam: "",
    queryFn: ({ pageParam: before }) => read(api, { limit: String(PAGE_SIZE), ...(before === "" ? {} : { before }) }),
    getNextPageParam: (page) => {
      const last = page.at(-1);
      return page.length === PAGE_SIZE && last !== undefined ? idOf(last) : undefined;
    },
  });
}
