import { Button, Group, MultiSelect, Text, TextInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type ActivityFilter, type ActivityType, submitterOf, useActivities } from "../api/activities.ts";
import type { ActivityStatus } from "../api/api.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { ActivityTable } from "../parts/activity-table.tsx";
import { Answered } from "../parts/answered.tsx";
import { MomentField } from "../parts/moment-field.tsx";
import { Page } from "../parts/page.tsx";
import { STATUS_WORDS, typeWords } from "../parts/texts.tsx";

const STATUS_OPTIONS = Object.entries(STATUS_WORDS).map(([value, label]) => ({ value, label }));
const TYPE_OPTIONS = Object.values(ACTIVITY_TYPES).map((value) => ({ value, label: typeWords(value) }));

export function Activities() {
  const { statuses = [], types = [], from, to } = useSearch({ from: "/activities" });
  const navigate = useNavigate({ from: "/activities" });
  const filter = (part: Partial<ActivityFilter>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const [by, setBy] = useState("");
  const list = useActivities({ statuses, types, from, to });
  const isFiltered = statuses.length + types.length > 0 || from !== undefined || to !== undefined;
  return (
    <Page title="Activities">
      <Group align="flex-end">
        <MultiSelect
          label="Status"
          data={STATUS_OPTIONS}
          value={statuses}
          onChange={(values) => filter({ statuses: values as ActivityStatus[] })}
          clearable
          miw={220}
        />
        <MultiSelect
          label="Type"
          data={TYPE_OPTIONS}
          value={types}
          onChange={(values) => filter({ types: values as ActivityType[] })}
          searchable
          clearable
          limit={200}
          miw={220}
        />
        <MomentField label="From" value={from} onChange={(moment) => filter({ from: moment })} />
        <MomentField label="To" value={to} onChange={(moment) => filter({ to: moment })} />
        <TextInput
          label="By"
          placeholder="A name, of those that are shown"
          value={by}
          onChange={(event) => setBy(event.currentTarget.value)}
        />
      </Group>
      <Answered to={list}>
        {({ pages }) => {
          const read = pages.flatMap(({ activities }) => activities);
          const shown = read.filter((each) => submitterOf(each).toLowerCase().includes(by.trim().toLowerCase()));
          return (
            <>
              <ActivityTable
                activities={shown}
                caption="Activities"
                empty={isFiltered || by !== "" ? "No activity is of this kind." : "Nothing has happened yet."}
              />
              {by.trim() !== "" && (
                <Text size="sm" role="status">
                  {shown.length} of the {read.length} that were read{list.hasNextPage && "; there are older ones"}.
                </Text>
              )}
            </>
          );
        }}
      </Answered>
      {list.hasNextPage && (
        <Group>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show older ones
          </Button>
        </Group>
      )}
    </Page>
  );
}
