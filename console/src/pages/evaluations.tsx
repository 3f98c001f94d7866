import { List, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { intentOf } from "../api/activities.ts";
import type { AnswerOf, Schemas, ShownActivity } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { PolicyLink, usePolicyNames } from "../parts/explanations.tsx";
import { Loading } from "../parts/loading.tsx";
import { Name } from "../parts/texts.tsx";

type Outcome = NonNullable<Schemas["RecordedEvaluation"]["outcome"]>;

const SENTENCES: Record<Outcome, string> = {
  OUTCOME_ALLOW: "allowed it",
  OUTCOME_DENY_EXPLICIT: "denied it",
  OUTCOME_DENY_IMPLICIT: "neither allowed nor denied it",
  OUTCOME_REQUIRES_CONSENSUS: "would allow it with more approvals",
  OUTCOME_REJECTED: "was rejected by a vote",
  OUTCOME_ERROR: "could not be evaluated",
  OUTCOME_REQUIRES_AUTHENTICATORS: "would allow it with further credentials",
  OUTCOME_TIME_INACTIVE: "was not active at that time",
};

/** What each policy came to when a vote was given, a sentence each. */
export function Evaluations({ activity }: { activity: ShownActivity }) {
  const { id, votes } = activity;
  const recorded = useAnswer("get_policy_evaluations", { activityId: id });
  const names = usePolicyNames();
  const voters = new Map(votes.map((vote) => [vote.id, vote.user.userName]));
  return (
    <Answered to={recorded}>
      {({ policyEvaluations }) =>
        policyEvaluations.length === 0 ? (
          <NoneAsked activity={activity} />
        ) : (
          <Stack>
            {policyEvaluations.map((each) => (
              <OfVote key={each.id} evaluated={each} voter={voters.get(each.voteId)} names={names} />
            ))}
            <Text size="sm">
              <Link to="/policies/simulate" search={{ activity: id }}>
                Try what its outcome would be today
              </Link>
            </Text>
          </Stack>
        )
      }
    </Answered>
  );
}

/** Why policies were not asked, as far as what there is today tells. */
function NoneAsked({ activity }: { activity: ShownActivity }) {
  const { type, votes } = activity;
  const approved = [
    ...new Set(votes.filter(({ selection }) => selection === "VOTE_SELECTION_APPROVED").map(({ userId }) => userId)),
  ];
  const organization = useAnswer("get_organization", {});
  const stored = useAnswer("list_policies", {});
  const { userIds = [], threshold = 1 } = organization.data?.organizationData.rootQuorum ?? {};
  const isByQuorum = approved.filter((id) => userIds.includes(id)).length >= threshold;
  const isUnclear = organization.isSuccess && !isByQuorum && (stored.data?.policies.length ?? 0) > 0;
  // Whether policies are asked about such an activity at all, if the root quorum has not decided it.
  const today = useAnswer(
    "simulate_policy",
    { activity: { type, parameters: intentOf(activity) }, userIds: approved },
    { enabled: isUnclear && approved.length > 0 },
  );
  if (approved.length === 0) return <Text c="dimmed">No policy was asked, because nobody has approved it.</Text>;
  if (!organization.isSuccess || !stored.isSuccess || (isUnclear && today.isPending)) return <Loading />;
  return <Text c="dimmed">{whyNone()}</Text>;

  function whyNone(): string {
    if (isByQuorum) return "No policy was asked, because the root quorum approved it, and that is enough for anything.";
    if (!isUnclear) return "No policy was asked, because the organization has none.";
    if (today.data && today.data.rootQuorum !== "MET" && today.data.policyEvaluations.length === 0)
      return "No policy was asked, because policies do not apply to this kind of activity: the root quorum decides on it, or each user individually.";
    return "No policy was asked: when it was voted on, the organization had none, or those who approved were its root quorum.";
  }
}

interface OfVoteProps {
  evaluated: AnswerOf<"get_policy_evaluations">["policyEvaluations"][number];
  voter: string | undefined;
  names: ReturnType<typeof usePolicyNames>;
}

function OfVote({ evaluated: { policyEvaluations }, voter, names }: OfVoteProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" c="dimmed">
        When <Name>{voter ?? "somebody"}</Name> voted:
      </Text>
      {policyEvaluations.length === 0 && <Text size="sm">there was no policy.</Text>}
      <List size="sm">
        {policyEvaluations.map(({ policyId = "", outcome }) => (
          <List.Item key={policyId}>
            <PolicyLink policyId={policyId} names={names} />{" "}
            {outcome === undefined ? "had no outcome" : SENTENCES[outcome]}.
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}
