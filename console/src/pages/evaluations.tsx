import { List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { AnswerOf, Schemas, ShownActivity } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { Name } from "../parts/texts.tsx";

type Outcome = NonNullable<Schemas["RecordedEvaluation"]["outcome"]>;

const SENTENCES: Record<Outcome, string> = {
  OUTCOME_ALLOW: "allowed it",
  OUTCOME_DENY_EXPLICIT: "denied it",
  OUTCOME_DENY_IMPLICIT: "did not speak for it",
  OUTCOME_REQUIRES_CONSENSUS: "would allow it with more approvals",
  OUTCOME_REJECTED: "was rejected by a vote",
  OUTCOME_ERROR: "could not be evaluated",
  OUTCOME_REQUIRES_AUTHENTICATORS: "takes credentials that were not shown",
  OUTCOME_TIME_INACTIVE: "was not active at that time",
};

export const A_POLICY_THAT_IS_GONE = "A policy that is gone";

/** What the organization's policies are called, by their ids. */
export function usePolicyNames(): ReadonlyMap<string, string> {
  const { policies = [] } = useAnswer("list_policies", {}).data ?? {};
  return new Map(policies.map(({ policyId, policyName }) => [policyId, policyName]));
}

/** What each policy came to when a vote was given, a sentence each. */
export function Evaluations({ activity: { id, votes } }: { activity: ShownActivity }) {
  const recorded = useAnswer("get_policy_evaluations", { activityId: id });
  const names = usePolicyNames();
  const voters = new Map(votes.map((vote) => [vote.id, vote.user.userName]));
  return (
    <Answered to={recorded}>
      {({ policyEvaluations }) =>
        policyEvaluations.length === 0 ? (
          <Text c="dimmed">No policy was asked: the root quorum decided, or the organization has none.</Text>
        ) : (
          <Stack>
            {policyEvaluations.map((each) => (
              <OfVote key={each.id} evaluated={each} voter={voters.get(each.voteId)} names={names} />
            ))}
            <Text size="sm">
              <Link to="/policies/simulate" search={{ activity: id }}>
                Try what would become of it today
              </Link>
            </Text>
          </Stack>
        )
      }
    </Answered>
  );
}

interface OfVoteProps {
  evaluated: AnswerOf<"get_policy_evaluations">["policyEvaluations"][number];
  voter: string | undefined;
  names: ReadonlyMap<string, string>;
}

function OfVote({ evaluated: { policyEvaluations }, voter, names }: OfVoteProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" c="dimmed">
        When <Name>{voter ?? "somebody"}</Name> voted:
      </Text>
      {policyEvaluations.length === 0 && <Text size="sm">there was no policy to ask.</Text>}
      <List size="sm">
        {policyEvaluations.map(({ policyId = "", outcome }) => (
          <List.Item key={policyId}>
            <Link to="/policies/$policyId" params={{ policyId }}>
              <Name>{names.get(policyId) ?? A_POLICY_THAT_IS_GONE}</Name>
            </Link>{" "}
            {outcome === undefined ? "came to nothing" : SENTENCES[outcome]}.
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}
