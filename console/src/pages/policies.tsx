import { Button, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { dateOf, type Schemas } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Page } from "../parts/page.tsx";
import { Mark, Name, When } from "../parts/texts.tsx";

const column = createColumnHelper<Schemas["Policy"]>();

const columns = [
  column.accessor("policyName", {
    header: "Name",
    cell: ({ row: { original } }) => (
      <Link to="/policies/$policyId" params={{ policyId: original.policyId }}>
        <Name>{original.policyName}</Name>
      </Link>
    ),
  }),
  column.accessor("effect", {
    header: "Effect",
    cell: ({ getValue }) =>
      getValue() === "EFFECT_ALLOW" ? <Mark color="teal">Allows</Mark> : <Mark color="red">Denies</Mark>,
  }),
  column.accessor("condition", {
    header: "Condition",
    enableSorting: false,
    cell: ({ getValue }) => <code className="name clamped">{getValue() || "always"}</code>,
  }),
  column.accessor("consensus", {
    header: "Consensus",
    enableSorting: false,
    cell: ({ getValue }) => <code className="name clamped">{getValue() || "anybody"}</code>,
  }),
  column.accessor(({ updatedAt }) => dateOf(updatedAt).getTime(), {
    id: "changed",
    header: "Changed",
    enableGlobalFilter: false,
    cell: ({ row: { original } }) => <When at={original.updatedAt} />,
  }),
];

export function Policies() {
  const answer = useAnswer("list_policies", {});
  return (
    <Page
      title="Policies"
      actions={
        <Group>
          <Button renderRoot={(props) => <Link {...props} to="/policies/$policyId" params={{ policyId: "new" }} />}>
            New policy
          </Button>
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/policies/simulate" />}>
            Simulate
          </Button>
        </Group>
      }
    >
      <Answered to={answer}>
        {({ policies }) => (
          <DataTable
            caption="Policies"
            rows={policies}
            columns={columns}
            empty="There are no policies, so only the root quorum can do anything. A policy allows others what its condition and consensus say."
          />
        )}
      </Answered>
    </Page>
  );
}
