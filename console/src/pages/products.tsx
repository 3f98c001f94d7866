import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { Fragment, useEffect, useRef, useState } from "react";
import type { AnswerOf, Schemas } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Mark, Name, When } from "../parts/texts.tsx";
import { UnfoldButton } from "../parts/unfold-button.tsx";
import { visibleText } from "../parts/visible-text.ts";
import { Earn } from "./earn.tsx";
import { OnRamp } from "./on-ramp.tsx";

/** What the organization has beside keys and wallets, and the state of each. */
export const Products = () => (
  <Page title="Products">
    <Earn />
    <OnRamp />
    <Deployments />
  </Page>
);

function Deployments() {
  const { app: sought } = useSearch({ from: "/products" });
  const answer = useAnswer("list_tvc_apps", {});
  return (
    <Section title="Deployments">
      <Answered to={answer}>
        {({ tvcApps }) =>
          tvcApps.length === 0 ? (
            <Text c="dimmed">There are no apps. If this server runs deployments, create one with create_tvc_app.</Text>
          ) : (
            <Stack>
              {tvcApps.map((app) => (
                <AppCard key={app.id} app={app} isSought={app.id === sought} />
              ))}
            </Stack>
          )
        }
      </Answered>
    </Section>
  );
}

/** An app, with its deployments once they are asked for; one that somebody looked for is shown with them at once. */
function AppCard({ app, isSought }: { app: Schemas["TvcApp"]; isSought: boolean }) {
  const { id, name, publicDomain, liveDeploymentId, updatedAt } = app;
  const [hasDeployments, setDeployments] = useState(false);
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isSought) return;
    setDeployments(true);
    card.current?.scrollIntoView();
  }, [isSought]);
  return (
    <Card withBorder component="section" aria-label={visibleText(name)} ref={card}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={3} size="h5">
            <Name>{name}</Name>
          </Title>
          <Mark color={liveDeploymentId === undefined ? "gray" : "teal"}>
            {liveDeploymentId === undefined ? "nothing is live" : "live"}
          </Mark>
        </Group>
        <Group gap="lg">
          <Name>{publicDomain}</Name>
          <Group gap={4}>
            Id <Copyable text={id} label="app id" />
          </Group>
          <Text size="sm" c="dimmed">
            Changed <When at={updatedAt} />
          </Text>
        </Group>
        <Group>
          <UnfoldButton isOpen={hasDeployments} setOpen={setDeployments}>
            Deployments
          </UnfoldButton>
        </Group>
        {hasDeployments && <DeploymentsOf app={app} />}
      </Stack>
    </Card>
  );
}

/** As many of the newest as the server lists, with what is known of those that it runs now. */
function DeploymentsOf({ app: { id: appId, liveDeploymentId } }: { app: Schemas["TvcApp"] }) {
  const answer = useAnswer("list_tvc_app_deployments", { appId });
  const status = useAnswer("get_app_status", { appId }, { live: true });
  const runs = new Map(status.data?.appStatus.deployments.map((run) => [run.deploymentId, run]));
  return (
    <>
      {status.isError && <ProblemNote error={status.error} retry={() => void status.refetch()} />}
      <Answered to={answer}>
        {({ tvcDeployments }) =>
          tvcDeployments.length === 0 ? (
            <Text c="dimmed">It has no deployments. Create one with create_tvc_deployment.</Text>
          ) : (
            <ScrollTable caption="Deployments" head={["Deployment", "Image", "State", "Ready", "Created"]}>
              {tvcDeployments.map((deployment) => {
                const run = runs.get(deployment.id);
                const { color, words, reason } = stateOf(deployment, run, liveDeploymentId);
                return (
                  <TableRow
                    key={deployment.id}
                    cells={[
                      <Copyable key="id" text={deployment.id} label="deployment id" />,
                      <Name key="image">{deployment.pivotContainer.containerUrl}</Name>,
                      <Fragment key="state">
                        <Mark color={color}>{words}</Mark>
                        {reason !== undefined && (
                          <Text size="sm" className="name">
                            {reason}
                          </Text>
                        )}
                      </Fragment>,
                      run ? `${run.readyReplicas} of ${run.desiredReplicas}` : "",
                      <When key="made" at={deployment.createdAt} />,
                    ]}
                  />
                );
              })}
            </ScrollTable>
          )
        }
      </Answered>
    </>
  );
}

type Run = AnswerOf<"get_app_status">["appStatus"]["deployments"][number];

interface State {
  color: string;
  words: string;
  /** Why it is not run although it was approved. */
  reason?: string | undefined;
}

function stateOf(
  { id, delete: isDeleted, manifestSet, manifestApprovals }: Schemas["TvcDeployment"],
  run: Run | undefined,
  liveId: string | undefined,
): State {
  if (isDeleted) return { color: "gray", words: "deleted" };
  const approvals = new Set(manifestApprovals.map(({ operator }) => operator.id)).size;
  if (approvals < manifestSet.threshold)
    return { color: "yellow", words: `waits for approvals (${approvals} of ${manifestSet.threshold})` };
  if (run?.refusalReason !== undefined) return { color: "red", words: "refused", reason: run.refusalReason };
  if (run?.provisioningState !== undefined && run.provisioningState !== "PROVISIONING_STATE_PROVISIONED")
    return { color: "yellow", words: PROVISIONING[run.provisioningState] };
  if ((run?.readyReplicas ?? 0) > 0) return { color: "teal", words: id === liveId ? "live" : "running" };
  return { color: "gray", words: id === liveId ? "live, and not ready" : "approved, and not ready" };
}

const PROVISIONING = {
  PROVISIONING_STATE_PENDING: "starting",
  PROVISIONING_STATE_AWAITING_PROVISION: "waits for shares of its key",
} as const;
