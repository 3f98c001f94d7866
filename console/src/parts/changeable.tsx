import { Button, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { RowActs } from "./row-acts.tsx";
import { ScrollTable } from "./scroll-table.tsx";
import { Section } from "./section.tsx";
import { TableRow } from "./table-row.tsx";

/** What a dialog is opened for. */
type Open<Item> = { dialog: "add" } | { dialog: "change" | "delete"; item: Item };

interface ChangeableProps<Item> {
  title: string;
  /** What the button says. */
  add: string;
  head: readonly string[];
  /** In the place of a table of none. */
  empty: string;
  keyOf: (item: Item) => string;
  /** By which the buttons of a row are told apart. */
  nameOf: (item: Item) => string;
  /** All but the last, which has the buttons. */
  cellsOf: (item: Item) => ReactNode[];
  dialogOf: (open: Open<Item>, close: () => void) => ReactNode;
  /** Given what makes the table of the things, once they are there. */
  children: (tableOf: (items: readonly Item[]) => ReactNode) => ReactNode;
}

/** A part of a page with a few things, each of which can be changed and deleted, and to which others can be added. */
export function Changeable<Item>(props: ChangeableProps<Item>) {
  const { title, add, head, empty, keyOf, nameOf, cellsOf, dialogOf, children } = props;
  const [open, setOpen] = useState<Open<Item>>();
  const tableOf = (items: readonly Item[]) =>
    items.length === 0 ? (
      <Text c="dimmed">{empty}</Text>
    ) : (
      <ScrollTable caption={title} head={[...head, ""]}>
        {items.map((item) => (
          <TableRow
            key={keyOf(item)}
            cells={[
              ...cellsOf(item),
              <RowActs
                key="acts"
                name={nameOf(item)}
                onChange={() => setOpen({ dialog: "change", item })}
                onDelete={() => setOpen({ dialog: "delete", item })}
              />,
            ]}
          />
        ))}
      </ScrollTable>
    );
  return (
    <Section
      title={title}
      add={
        <Button size="xs" variant="default" onClick={() => setOpen({ dialog: "add" })}>
          {add}
        </Button>
      }
    >
      {children(tableOf)}
      {open && dialogOf(open, () => setOpen(undefined))}
    </Section>
  );
}
