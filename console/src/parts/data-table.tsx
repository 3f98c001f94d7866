import { Button, Group, Stack, Table, Text, TextInput, UnstyledButton } from "@mantine/core";
import {
  type ColumnDef,
  flexRender,
  getCoreRowModel,
  getFilteredRowModel,
  getPaginationRowModel,
  getSortedRowModel,
  type Header,
  useReactTable,
} from "@tanstack/react-table";
import { type ReactNode, useState } from "react";
import { Heading, ScrollTable } from "./scroll-table.tsx";
import { TableRow } from "./table-row.tsx";

const PAGE_ROWS = 50;

interface DataTableProps<Row> {
  /** What the rows are, for those who hear the page. */
  caption: string;
  rows: readonly Row[];
  // biome-ignore lint/suspicious/noExplicitAny: each column has a type of its own
  columns: ColumnDef<Row, any>[];
  /** Instead of a table without rows. */
  empty: ReactNode;
  /** Whether it is searched here; where not all rows are here, the page does it. */
  hasSearch?: boolean;
}

/** Rows that are all here, to search, sort and page through: of many, a page at a time is drawn. */
export function DataTable<Row>({ caption, rows, columns, empty, hasSearch = true }: DataTableProps<Row>) {
  const [search, setSearch] = useState("");
  const table = useReactTable({
    data: rows as Row[],
    columns,
    state: { globalFilter: search },
    onGlobalFilterChange: setSearch,
    globalFilterFn: "includesString",
    getCoreRowModel: getCoreRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
    getSortedRowModel: getSortedRowModel(),
    getPaginationRowModel: getPaginationRowModel(),
    initialState: { pagination: { pageSize: PAGE_ROWS } },
  });
  if (rows.length === 0) return <Text c="dimmed">{empty}</Text>;
  const shown = table.getRowModel().rows;
  return (
    <Stack gap="sm">
      {hasSearch && rows.length > 1 && (
        <TextInput
          aria-label={`Search ${caption.toLowerCase()}`}
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          maw={320}
        />
      )}
      <ScrollTable
        caption={caption}
        head={table.getFlatHeaders().map((header) => ({
          name: nameOf(header),
          cell: <SortedHeader key={header.id} header={header} />,
        }))}
        minWidth={640}
      >
        {shown.map((row) => (
          <TableRow
            key={row.id}
            cells={row.getVisibleCells().map((cell) => flexRender(cell.column.columnDef.cell, cell.getContext()))}
          />
        ))}
      </ScrollTable>
      {shown.length === 0 && <Text c="dimmed">Nothing matches.</Text>}
      {table.getPageCount() > 1 && (
        <Group role="group" aria-label={`Pages of ${caption}`}>
          <Button variant="default" disabled={!table.getCanPreviousPage()} onClick={() => table.previousPage()}>
            Previous
          </Button>
          <Text>
            Page {table.getState().pagination.pageIndex + 1} of {table.getPageCount()}
          </Text>
          <Button variant="default" disabled={!table.getCanNextPage()} onClick={() => table.nextPage()}>
            Next
          </Button>
        </Group>
      )}
    </Stack>
  );
}

const ARROWS = { asc: " ↑", desc: " ↓" } as const;
const ORDERS = { asc: "ascending", desc: "descending" } as const;

/** The columns of this page name themselves by a text. */
const nameOf = <Row,>({ column: { columnDef } }: Header<Row, unknown>): string =>
  typeof columnDef.header === "string" ? columnDef.header : "";

function SortedHeader<Row>({ header }: { header: Header<Row, unknown> }) {
  const { column } = header;
  const name = nameOf(header);
  if (!column.getCanSort()) return <Heading name={name} />;
  const sorted = column.getIsSorted();
  return (
    <Table.Th role="columnheader" aria-sort={sorted ? ORDERS[sorted] : "none"}>
      <UnstyledButton fw={700} fz="inherit" onClick={column.getToggleSortingHandler()}>
        {name}
        <span aria-hidden>{sorted ? ARROWS[sorted] : ""}</span>
      </UnstyledButton>
    </Table.Th>
  );
}
