import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from "@tanstack/react-query";
import { useSession } from "../session/context.tsx";
import type { Api } from "./api.ts";

const PAGE_SIZE = 50;

interface Pagination {
  limit: string;
  before?: string;
}

/** A list that the server pages, newest first: `read` asks for one page, and `idOf` names the cursor of an item. */
export function usePages<Item>(
  key: readonly unknown[],
  read: (api: Api, paginationOptions: Pagination) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): UseInfiniteQueryResult<InfiniteData<readonly Item[], string>> {
  const { api, organizationId, userId } = useSession();
  return useInfiniteQuery({
    queryKey: [organizationId, userId, ...key],
    initialPageParam: "",
    queryFn: ({ pageParam: before }) => read(api, { limit: String(PAGE_SIZE), ...(before === "" ? {} : { before }) }),
    getNextPageParam: (page) => {
      const last = page.at(-1);
      return page.length === PAGE_SIZE && last !== undefined ? idOf(last) : undefined;
    },
  });
}
