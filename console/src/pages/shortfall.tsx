import { Card, List, Stack, Text, Title } from "@mantine/core";
import { intentOf } from "../api/activities.ts";
import type { AnswerOf, ShownActivity } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { Name } from "../parts/texts.tsx";

/** Whom an activity waits for: what the approvals so far come to, by a simulation with whoever gave them. */
export function Shortfall({ activity }: { activity: ShownActivity }) {
  const { type, votes, canApprove } = activity;
  const userIds = [
    ...new Set(
      votes
        .filter(({ selection, revokedAt }) => selection === "VOTE_SELECTION_APPROVED" && !revokedAt)
        .map(({ userId }) => userId),
    ),
  ];
  const simulated = useAnswer(
    "simulate_policy",
    { activity: { type, parameters: intentOf(activity) }, userIds },
    { enabled: userIds.length > 0 },
  );
  return (
    <Card withBorder component="section">
      <Stack gap="sm">
        <Title order={2} size="h4">
          What it waits for
        </Title>
        {canApprove && <Text fw={600}>Your approval counts: use the button above.</Text>}
        {userIds.length > 0 && <Answered to={simulated}>{(answer) => <Missing answer={answer} />}</Answered>}
        <RootQuorum approved={userIds} />
      </Stack>
    </Card>
  );
}

/** The server's own explanation of each policy that more approvals would satisfy. */
function Missing({ answer: { policyEvaluations } }: { answer: AnswerOf<"simulate_policy"> }) {
  const open = policyEvaluations.filter(({ outcome }) => /CONSENSUS|AUTHENTICATORS/.test(outcome));
  if (open.length === 0) return null;
  return (
    <List size="sm">
      {open.map(({ policyId, explanation }) => (
        <List.Item key={policyId} className="name">
          {explanation}
        </List.Item>
      ))}
    </List>
  );
}

/** Enough of its members decide on anything, whatever policies say. */
function RootQuorum({ approved }: { approved: readonly string[] }) {
  const organization = useAnswer("get_organization", {});
  const { rootQuorum, users = [] } = organization.data?.organizationData ?? {};
  if (!rootQuorum?.userIds || rootQuorum.threshold === undefined) return null;
  const names = new Map(users.map(({ userId, userName }) => [userId, userName]));
  const given = rootQuorum.userIds.filter((id) => approved.includes(id)).length;
  const others = rootQuorum.userIds.filter((id) => !approved.includes(id));
  return (
    <Text size="sm">
      The root quorum decides on anything: {given} of {rootQuorum.threshold} needed approvals are there
      {others.length > 0 && (
        <>
          {"; it can still be approved by "}
          {others.map((id, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <Name>{names.get(id) ?? id}</Name>
            </span>
          ))}
        </>
      )}
      .
    </Text>
  );
}
