import { Button, Group, Stack, Text } from "@mantine/core";
import {
  defaultRangeExtractor,
  measureElement,
  type Range,
  useWindowVirtualizer,
  type VirtualItem,
} from "@tanstack/react-virtual";
import {
  Fragment,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Paged } from "../api/pages.ts";
import { Answered } from "./answered.tsx";
import { More } from "./more.tsx";
import { ScrollTable } from "./scroll-table.tsx";
import { isSmallScreen } from "./small-screen.ts";
import { TableRow } from "./table-row.tsx";

/** What one row shows, a cell for each heading. */
export type CellsOf<Item> = (item: Item) => readonly ReactNode[];

interface PagedTableProps<Page, Item> {
  list: Paged<Page>;
  /** What the rows are, for those who hear the page. */
  caption: string;
  head: readonly string[];
  itemsOf: (page: Page) => readonly Item[];
  keyOf: (item: Item) => string;
  /** The same function each time, where there may be many rows: a row is drawn again only when it changes. */
  cellsOf: CellsOf<Item>;
  /** Instead of a table without rows. */
  empty: ReactNode | ((pages: readonly Page[]) => ReactNode);
  /** What the button for the next page says. */
  more: string;
  /** What looks through all of the list, where the page has that: the browser's own search finds what is drawn alone. */
  finder?: string;
}

/** A list that the server pages. The next page is asked for as the end of those that are here comes into view. */
export function PagedTable<Page, Item>({ list, itemsOf, empty, more, finder, ...table }: PagedTableProps<Page, Item>) {
  return (
    <Stack>
      <Answered to={list}>
        {({ pages }) => {
          const items = pages.flatMap(itemsOf);
          if (items.length > 0) {
            return (
              <>
                {finder !== undefined && (list.hasNextPage || items.length > ALL_DRAWN) && (
                  <FoundInBrowser finder={finder} />
                )}
                {list.isFromFurtherDown && <FromFurtherDown beginAgain={list.beginAgain} />}
                <Rows list={list} items={items} more={more} {...table} />
              </>
            );
          }
          return (
            <>
              <Text c="dimmed" role="status">
                {typeof empty === "function" ? empty(pages) : empty}
              </Text>
              <More list={list} label={more} />
            </>
          );
        }}
      </Answered>
    </Stack>
  );
}

const FoundInBrowser = ({ finder }: { finder: string }) => (
  <Text size="sm" c="dimmed">
    {finder} Your browser's own search finds only the rows that are in view.
  </Text>
);

const FromFurtherDown = ({ beginAgain }: { beginAgain: () => void }) => (
  <Group>
    <Text size="sm">What is shown above is left out.</Text>
    <Button size="xs" variant="default" onClick={beginAgain}>
      Start again
    </Button>
  </Group>
);

/**
 * Pixels. A list does not become higher: browsers draw nothing below some 33,000,000 pixels of the screen, of which a phone has three and more for
 * one of these; Firefox below 17,000,000.
 */
const MAX_HEIGHT = 9_000_000;

/** Where a list is as high as it may be: it goes on without what is above. */
function Full({ count, goOnFromHere }: { count: number; goOnFromHere: () => void }) {
  const goOn = () => {
    goOnFromHere();
    scrollTo(0, 0);
  };
  return (
    <Group role="status">
      <Text>{count.toLocaleString()} are listed, and there are more. The list can continue without them.</Text>
      <Button variant="default" onClick={goOn}>
        Continue from here
      </Button>
    </Group>
  );
}

/** Pixels, until a row is drawn and measured. */
const USUAL_ROW = { wide: 49, small: 128 };
/** Rows that are drawn above and below those in view. */
const DRAWN_AROUND = 15;
/** As many are drawn wherever somebody looks. */
const ALL_DRAWN = 2 * DRAWN_AROUND;
/** The next page is asked for when so few rows are left below those in view. */
const LEFT_BELOW = 10;

interface RowsProps<Item>
  extends Pick<PagedTableProps<unknown, Item>, "caption" | "head" | "keyOf" | "cellsOf" | "more"> {
  list: Pick<
    Paged<unknown>,
    "hasNextPage" | "isFetching" | "isFetchingNextPage" | "isError" | "fetchNextPage" | "goOnFromHere"
  >;
  items: readonly Item[];
}

/** Of however many rows, those in view and some around them are drawn; the others are room above and below. */
function Rows<Item>({ list, items, caption, head, keyOf, cellsOf, more }: RowsProps<Item>) {
  const { body, top } = useTop();
  const { focusedAt, setFocused } = useFocusedRow(items, keyOf);
  const heights = useHeights();
  const rows = useWindowVirtualizer<HTMLTableRowElement>({
    count: items.length,
    estimateSize: heights.usual,
    measureElement: (...measured) => heights.noted(measureElement(...measured)),
    rangeExtractor: useCallback(
      (range: Range) => withRow(defaultRangeExtractor(range), focusedAt, range.count),
      [focusedAt],
    ),
    // The same function as long as the rows are: for another one all of them are measured anew, with each step of scrolling.
    getItemKey: useCallback((index: number) => keyOf(items[index] as Item), [items, keyOf]),
    overscan: DRAWN_AROUND,
    scrollMargin: top,
  });
  const drawn = rows.getVirtualItems();
  const lastInView = rows.range?.endIndex ?? 0;
  const { hasNextPage, isFetching, isError, fetchNextPage } = list;
  const { length } = items;
  const isFull = hasNextPage && rows.getTotalSize() > MAX_HEIGHT;
  const isWanted = lastInView >= length - LEFT_BELOW && hasNextPage && !isFull && !isFetching && !isError;
  // Once below each row: a page that failed, or brought none, is asked for again by the button alone.
  const askedBelow = useRef<string>(undefined);
  const lastKey = keyOf(items[length - 1] as Item);
  useEffect(() => {
    if (!isWanted || askedBelow.current === lastKey) return;
    askedBelow.current = lastKey;
    void fetchNextPage();
  }, [isWanted, lastKey, fetchNextPage]);
  const last = drawn.at(-1);
  return (
    <>
      <ScrollTable caption={caption} head={head} rowCount={hasNextPage ? -1 : items.length + 1} body={body}>
        {drawn.map(({ key, index, start }: VirtualItem, place) => (
          <Fragment key={key}>
            <Room height={start - (drawn[place - 1]?.end ?? top)} cells={head.length} />
            <Row
              item={items[index] as Item}
              itemKey={key as string}
              index={index}
              cellsOf={cellsOf as CellsOf<unknown>}
              measure={rows.measureElement}
              setFocused={setFocused}
            />
          </Fragment>
        ))}
        <Room height={last ? rows.getTotalSize() - (last.end - top) : 0} cells={head.length} />
      </ScrollTable>
      {isFull ? <Full count={length} goOnFromHere={list.goOnFromHere} /> : <More list={list} label={more} />}
    </>
  );
}

/** How many heights are told apart: those of a table are a few, and any of them serves. */
const MAX_HEIGHTS = 50;

/**
 * What most rows are as high as, by those that were drawn. Where a row differs from what was thought, all below it are reckoned anew, which takes
 * longer than a frame where they are very many.
 */
function useHeights() {
  const [heights] = useState(() => {
    const counts = new Map<number, number>();
    let usual: number | undefined;
    return {
      usual: () => usual ?? (isSmallScreen() ? USUAL_ROW.small : USUAL_ROW.wide),
      noted(height: number): number {
        const count = (counts.get(height) ?? 0) + 1;
        if (counts.has(height) || counts.size < MAX_HEIGHTS) counts.set(height, count);
        if (usual === undefined || count > (counts.get(usual) ?? 0)) usual = height;
        return height;
      },
    };
  });
  return heights;
}

/** The row that the keyboard's focus is in, by its key: what is new moves it. */
function useFocusedRow<Item>(items: readonly Item[], keyOf: (item: Item) => string) {
  const [focused, setFocused] = useState<string>();
  const focusedAt = useMemo(
    () => (focused === undefined ? -1 : items.findIndex((item) => keyOf(item) === focused)),
    [focused, items, keyOf],
  );
  return { focusedAt, setFocused };
}

/** With that row and those beside it, though they are out of view: the focus stays, and goes on to its neighbours. */
function withRow(inView: readonly number[], at: number, count: number): number[] {
  const kept = at < 0 ? [] : [at - 1, at, at + 1].filter((index) => index >= 0 && index < count);
  return [...new Set([...inView, ...kept])].sort((a, b) => a - b);
}

/** How far below the beginning of the page the rows begin. */
function useTop() {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  // Each time: what stands above may have changed with whatever was drawn.
  useLayoutEffect(() => {
    if (body.current) setTop(Math.round(body.current.getBoundingClientRect().top + scrollY));
  });
  return { body, top };
}

const Room = ({ height, cells }: { height: number; cells: number }) =>
  height > 0 && (
    <tr aria-hidden>
      <td colSpan={cells} style={{ height, padding: 0 }} />
    </tr>
  );

interface RowProps {
  item: unknown;
  itemKey: string;
  index: number;
  cellsOf: CellsOf<unknown>;
  measure: (row: HTMLTableRowElement | null) => void;
  setFocused: (key: string | undefined) => void;
}

const Row = memo(({ item, itemKey, index, cellsOf, measure, setFocused }: RowProps) => (
  // The row of headings is the first one.
  <TableRow
    ref={measure}
    data-index={index}
    aria-rowindex={index + 2}
    cells={cellsOf(item)}
    onFocus={() => setFocused(itemKey)}
    onBlur={({ currentTarget, relatedTarget }) => {
      // A row that takes over must still be drawn when it does; and the focus is kept while somebody is in another window.
      const isTakenOver = relatedTarget?.closest("[data-index]") != null;
      if (!isTakenOver && !currentTarget.contains(document.activeElement)) setFocused(undefined);
    }}
  />
));
