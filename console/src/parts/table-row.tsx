import { Table } from "@mantine/core";
import type { ReactNode } from "react";

/** One row, a cell for each heading. */
export const TableRow = ({ cells }: { cells: readonly ReactNode[] }) => (
  <Table.Tr>
    {cells.map((cell, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a row stand in the order of its headings
      <Table.Td key={index}>{cell}</Table.Td>
    ))}
  </Table.Tr>
);
