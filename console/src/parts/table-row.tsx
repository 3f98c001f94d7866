import { Table } from "@mantine/core";
import { type ComponentProps, type ReactNode, use } from "react";
import { ColumnNames } from "./scroll-table.tsx";

/** One row, a cell for each heading. */
export function TableRow({ cells, ...row }: { cells: readonly ReactNode[] } & ComponentProps<"tr">) {
  const names = use(ColumnNames);
  return (
    <Table.Tr role="row" {...row}>
      {cells.map((cell, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a row stand in the order of its headings
        <Table.Td role="cell" key={index} data-column={names[index]}>
          {cell}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}
