import { Table } from "@mantine/core";
import { createContext, type ReactElement, type ReactNode, type Ref, useMemo } from "react";

/** A heading by its name, or with a cell of its own; one without a name is that of buttons. */
export type TableHead = string | { name: string; cell: ReactElement };

interface ScrollTableProps {
  /** What the rows are, for those who hear the page. */
  caption: string;
  head: readonly TableHead[];
  /** The width in pixels below which it is scrolled, where the screen is wide enough for columns. */
  minWidth?: number;
  /** Where not all rows are drawn: how many there are with that of the headings, or -1 where nobody knows yet. */
  rowCount?: number;
  body?: Ref<HTMLTableSectionElement>;
  children: ReactNode;
}

/** The names of a table's columns. Its cells tell theirs on a small screen, where they stand one below the other. */
export const ColumnNames = createContext<readonly string[]>([]);

const nameOf = (head: TableHead): string => (typeof head === "string" ? head : head.name);

/**
 * A table that is scrolled sideways where it is wider than the page. On a small screen each row is a block of its cells instead
 * (style.css), for which browsers forget that it is a table unless the roles are said.
 */
export function ScrollTable({ caption, head, minWidth = 560, rowCount, body, children }: ScrollTableProps) {
  const all = head.map(nameOf).join("\n");
  // As long as they are the same, no row is drawn anew for them.
  const names = useMemo(() => all.split("\n"), [all]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled can be reached by the keyboard
    <section className="table-scroll" aria-label={`${caption}, table`} tabIndex={0}>
      <Table
        role="table"
        highlightOnHover
        verticalSpacing="sm"
        style={{ "--table-min-width": `${minWidth}px` }}
        aria-rowcount={rowCount}
      >
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {head.map((each) => (typeof each === "string" ? <Heading key={each} name={each} /> : each.cell))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup" ref={body}>
          <ColumnNames value={names}>{children}</ColumnNames>
        </Table.Tbody>
      </Table>
    </section>
  );
}

export const Heading = ({ name }: { name: string }) => (
  <Table.Th role="columnheader">{name === "" ? <span className="skip">Actions</span> : name}</Table.Th>
);
