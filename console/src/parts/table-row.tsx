import { Table } from "@mantine/core";
import type { ComponentProps, ReactNode } from "react";

/** One row, a cell for each heading. */
export const TableRow = ({ cells, ...row }: { cells: readonly ReactNode[] } & ComponentProps<"tr">) => (
  <Table.Tr {...row}>
    {cells.map((cell, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a row stand in the order of its headings
      <Table.Td key={index}>{cell}</Table.Td>
    ))}
  </Table.Tr>
);
