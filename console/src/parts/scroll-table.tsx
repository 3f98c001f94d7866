import { Table } from "@mantine/core";
import type { ReactElement, ReactNode, Ref } from "react";

interface ScrollTableProps {
  /** What the rows are, for those who hear the page. */
  caption: string;
  /** The headings, by their names or as cells; one without a name is that of buttons. */
  head: readonly (string | ReactElement)[];
  /** The width in pixels below which it is scrolled. */
  minWidth?: number;
  /** Where not all rows are drawn: how many there are with that of the headings, or -1 where nobody knows yet. */
  rowCount?: number;
  body?: Ref<HTMLTableSectionElement>;
  children: ReactNode;
}

/** A table that is scrolled sideways where it is wider than the page. */
export const ScrollTable = ({ caption, head, minWidth = 560, rowCount, body, children }: ScrollTableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled can be reached by the keyboard
  <section className="table-scroll" aria-label={`${caption}, table`} tabIndex={0}>
    <Table highlightOnHover verticalSpacing="sm" miw={minWidth} aria-rowcount={rowCount}>
      <Table.Thead>
        <Table.Tr>
          {head.map((cell) => (typeof cell === "string" ? <Heading key={cell} name={cell} /> : cell))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody ref={body}>{children}</Table.Tbody>
    </Table>
  </section>
);

export const Heading = ({ name }: { name: ReactNode }) => (
  <Table.Th>{name === "" ? <span className="skip">Actions</span> : name}</Table.Th>
);
