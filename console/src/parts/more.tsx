import { Button, Group } from "@mantine/core";

interface MoreProps {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  label: string;
}

/** The next page of a list that the server pages. */
export const More = ({ list, label }: MoreProps) =>
  list.hasNextPage && (
    <Group>
      <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        {label}
      </Button>
    </Group>
  );
