import { Group, Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { dateOf, type Schemas } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Page } from "../parts/page.tsx";
import { Section } from "../parts/section.tsx";
import { Copyable, Name, When } from "../parts/texts.tsx";

/** What a parent may read in one of its sub-organizations. It is changed by that one's own users. */
export function SubOrganization() {
  const { subOrganizationId } = useParams({ from: "/sub-organizations/$subOrganizationId" });
  const there = { of: subOrganizationId };
  const answer = useAnswer("get_organization", {}, there);
  const wallets = useAnswer("list_wallets", {}, there);
  return (
    <Page title={answer.data?.organizationData.name ?? "Sub-organization"}>
      <Answered to={answer}>
        {({ organizationData: { users = [], rootQuorum } }) => (
          <Stack gap="lg">
            <Stack gap="xs">
              <Group gap={4}>
                Id <Copyable text={subOrganizationId} label="organization id" whole />
              </Group>
              <Text c="dimmed">
                Its own users decide in it; {rootQuorum?.threshold ?? 1} of {rootQuorum?.userIds?.length ?? 0} in its
                root quorum are needed for anything. A parent reads.
              </Text>
            </Stack>
            <Section title="Users">
              <DataTable caption="Users" rows={users} columns={userColumns} empty="There are no users." />
            </Section>
          </Stack>
        )}
      </Answered>
      <Section title="Wallets">
        <Answered to={wallets}>
          {(list) => (
            <DataTable caption="Wallets" rows={list.wallets} columns={walletColumns} empty="There are no wallets." />
          )}
        </Answered>
      </Section>
    </Page>
  );
}

const user = createColumnHelper<Schemas["User"]>();

const userColumns = [
  user.accessor("userName", { header: "Name", cell: ({ getValue }) => <Name>{getValue()}</Name> }),
  user.accessor(({ userEmail = "" }) => userEmail, {
    id: "email",
    header: "E-mail",
    cell: ({ getValue }) => <Name>{getValue()}</Name>,
  }),
  user.accessor("userId", {
    header: "Id",
    enableSorting: false,
    cell: ({ getValue }) => <Copyable text={getValue()} label="user id" />,
  }),
];

const wallet = createColumnHelper<Schemas["Wallet"]>();

const walletColumns = [
  wallet.accessor("walletName", { header: "Name", cell: ({ getValue }) => <Name>{getValue()}</Name> }),
  wallet.accessor("walletId", {
    header: "Id",
    enableSorting: false,
    cell: ({ getValue }) => <Copyable text={getValue()} label="wallet id" />,
  }),
  wallet.accessor(({ createdAt }) => dateOf(createdAt).getTime(), {
    id: "created",
    header: "Created",
    enableGlobalFilter: false,
    cell: ({ row: { original } }) => <When at={original.createdAt} />,
  }),
];
