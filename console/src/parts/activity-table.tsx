import { Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { submitterOf } from "../api/activities.ts";
import type { ShownActivity } from "../api/api.ts";
import { ScrollTable } from "./scroll-table.tsx";
import { Name, StatusMark, typeWords, When } from "./texts.tsx";

interface ActivityTableProps {
  activities: readonly ShownActivity[];
  caption: string;
  empty: ReactNode;
}

export function ActivityTable({ activities, caption, empty }: ActivityTableProps) {
  if (activities.length === 0) return <Text c="dimmed">{empty}</Text>;
  return (
    <ScrollTable caption={caption} head={["Activity", "Status", "By", "When"]}>
      {activities.map((activity) => (
        <Table.Tr key={activity.id}>
          <Table.Td>
            <Link to="/activities/$activityId" params={{ activityId: activity.id }}>
              {typeWords(activity.type)}
            </Link>
          </Table.Td>
          <Table.Td>
            <StatusMark status={activity.status} />
          </Table.Td>
          <Table.Td>
            <Name>{submitterOf(activity)}</Name>
          </Table.Td>
          <Table.Td>
            <When at={activity.createdAt} />
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
