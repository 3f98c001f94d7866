import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ListedActivity } from "../api/activities.ts";
import type { CellsOf } from "./paged-table.tsx";
import { ScrollTable } from "./scroll-table.tsx";
import { TableRow } from "./table-row.tsx";
import { Name, StatusMark, TypeName, When } from "./texts.tsx";

export const ACTIVITY_HEAD = ["Activity", "Status", "By", "When"];

export const cellsOfActivity: CellsOf<ListedActivity> = (activity) => [
  <Link key="type" to="/activities/$activityId" params={{ activityId: activity.id }}>
    <TypeName type={activity.type} />
  </Link>,
  <StatusMark key="status" status={activity.status} />,
  <Name key="by">{activity.submitter}</Name>,
  <When key="when" at={activity.createdAt} />,
];

interface ActivityTableProps {
  activities: readonly ListedActivity[];
  caption: string;
  empty: ReactNode;
}

/** A few activities, all of which are shown. */
export function ActivityTable({ activities, caption, empty }: ActivityTableProps) {
  if (activities.length === 0) return <Text c="dimmed">{empty}</Text>;
  return (
    <ScrollTable caption={caption} head={ACTIVITY_HEAD}>
      {activities.map((activity) => (
        <TableRow key={activity.id} cells={cellsOfActivity(activity)} />
      ))}
    </ScrollTable>
  );
}
