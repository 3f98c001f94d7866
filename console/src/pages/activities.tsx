import { Group, MultiSelect, Select, Stack } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import {
  type ActivityFilter,
  type ActivityPage,
  type ActivityType,
  type ListedActivity,
  useActivities,
} from "../api/activities.ts";
import type { ActivityStatus } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { ACTIVITY_HEAD, cellsOfActivity } from "../parts/activity-table.tsx";
import { byWordsOrConstant, typeOption } from "../parts/activity-types.ts";
import { MomentField } from "../parts/moment-field.tsx";
import { Page } from "../parts/page.tsx";
import { PagedTable } from "../parts/paged-table.tsx";
import { isSmallScreen, SMALL_SCREEN } from "../parts/small-screen.ts";
import { STATUS_WORDS } from "../parts/texts.tsx";
import { UnfoldButton } from "../parts/unfold-button.tsx";
import { userOptions } from "../parts/user-options.ts";

const STATUS_OPTIONS = Object.entries(STATUS_WORDS).map(([value, label]) => ({ value, label }));
const TYPE_OPTIONS = Object.values(ACTIVITY_TYPES).map(typeOption);

const activitiesOf = ({ activities }: ActivityPage) => activities;
const idOf = ({ id }: ListedActivity) => id;

export function Activities() {
  const { statuses = [], types = [], userId, from, to } = useSearch({ from: "/activities" });
  const navigate = useNavigate({ from: "/activities" });
  const filter = (part: Partial<ActivityFilter>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: true });
  const list = useActivities({ statuses, types, userId, from, to });
  const isFiltered = statuses.length + types.length > 0 || [userId, from, to].some((each) => each !== undefined);
  return (
    <Page title="Activities">
      <Filters isFiltered={isFiltered}>
        <MultiSelect
          label="Status"
          data={STATUS_OPTIONS}
          value={statuses}
          onChange={(values) => filter({ statuses: values as ActivityStatus[] })}
          clearable
        />
        <MultiSelect
          label="Type"
          data={TYPE_OPTIONS}
          filter={byWordsOrConstant}
          value={types}
          onChange={(values) => filter({ types: values as ActivityType[] })}
          searchable
          clearable
          limit={200}
        />
        <MomentField label="From" value={from} onChange={(moment) => filter({ from: moment })} />
        <MomentField label="To" value={to} onChange={(moment) => filter({ to: moment })} />
        <ByUser userId={userId} onChange={(chosen) => filter({ userId: chosen })} />
      </Filters>
      <PagedTable
        list={list}
        caption="Activities"
        head={ACTIVITY_HEAD}
        itemsOf={activitiesOf}
        keyOf={idOf}
        cellsOf={cellsOfActivity}
        empty={(pages) => emptyWords(isFiltered, pages.at(-1)?.isCut === true)}
        more="Show older"
        finder="The filters above search all of them."
      />
    </Page>
  );
}

/** On a small screen they open when they are asked for, so that the list begins near the top. */
function Filters({ isFiltered, children }: { isFiltered: boolean; children: ReactNode }) {
  const isSmall = useMediaQuery(SMALL_SCREEN, isSmallScreen());
  const [isOpen, setOpen] = useState(isFiltered);
  return (
    <Stack gap="sm">
      {isSmall && (
        <Group>
          <UnfoldButton isOpen={isOpen} setOpen={setOpen}>
            {isFiltered ? "Filter (set)" : "Filter"}
          </UnfoldButton>
        </Group>
      )}
      {(!isSmall || isOpen) && <div className="filters">{children}</div>}
    </Stack>
  );
}

function emptyWords(isFiltered: boolean, isCut: boolean): string {
  if (isCut) return "None of this user's newest activities, as many as the server searches at once, is of this kind.";
  return isFiltered ? "No activity is of this kind." : "Nothing has happened yet.";
}

const MAX_USERS_DRAWN = 50;

/** Whose activities are listed; of a user who is gone, or is not read yet, the id is shown. */
function ByUser({ userId, onChange }: { userId: string | undefined; onChange: (userId: string | undefined) => void }) {
  const { data } = useAnswer("list_users", {});
  const users = userOptions(data?.users ?? []);
  const isGone = userId !== undefined && users.every(({ value }) => value !== userId);
  return (
    <Select
      label="By"
      placeholder="Anybody"
      description="Who submitted it or voted on it"
      data={isGone ? [...users, { value: userId, label: userId }] : users}
      value={userId ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      searchable
      clearable
      limit={MAX_USERS_DRAWN}
    />
  );
}
