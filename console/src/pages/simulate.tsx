import { Button, Card, Code, List, MultiSelect, Select, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { type SyntheticEvent, useEffect, useState } from "react";
import { intentOf, useActivities } from "../api/activities.ts";
import type { AnswerOf } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { JsonField, jsonObjectOf } from "../parts/json-field.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Mark, Name, typeWords } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";
import { usePolicyNames } from "./evaluations.tsx";

const TYPES: string[] = Object.values(ACTIVITY_TYPES);

const sent = (parameters: object): string => JSON.stringify(parameters, null, 2);

/** What would become of an activity, by the policies as they are stored. Nothing is created. */
export function Simulate() {
  const { activity: activityId } = useSearch({ from: "/policies/simulate" });
  const { api, userId } = useSession();
  const [type, setType] = useState<string>(ACTIVITY_TYPES.sign_raw_payload);
  const [parameters, setParameters] = useState("{}");
  const [userIds, setUserIds] = useState([userId]);
  const users = useAnswer("list_users", {});
  const recent = useActivities({ statuses: [], types: [] });
  const activities = recent.data?.pages.flatMap((page) => page.activities) ?? [];
  const chosen = useAnswer("get_activity", { activityId: activityId ?? "" }, { enabled: activityId !== undefined });
  const simulation = useMutation({
    mutationFn: () =>
      api.query("simulate_policy", {
        activity: { type, parameters: jsonObjectOf(parameters) ?? {} },
        userIds,
      }),
  });
  const given = chosen.data?.activity;
  useEffect(() => {
    if (!given) return;
    setType(given.type);
    setParameters(sent(intentOf(given)));
    const [first] = given.votes;
    if (first) setUserIds([first.userId]);
  }, [given]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    simulation.mutate();
  };
  return (
    <Page title="Simulate">
      <Text>
        What would become of an activity if these users approved it one after the other, by the{" "}
        <Link to="/policies">policies as they are saved</Link>. Nothing is created.
      </Text>
      <form onSubmit={submit}>
        <Stack>
          <Select
            label="Take one that happened"
            placeholder="Choose, or type one below"
            data={activities.map((activity) => ({
              value: activity.id,
              label: `${typeWords(activity.type)}, ${activity.id}`,
            }))}
            onChange={(id) => {
              const found = activities.find((activity) => activity.id === id);
              if (!found) return;
              setType(found.type);
              setParameters(sent(intentOf(found)));
            }}
            searchable
          />
          <Select
            label="Type"
            data={[...new Set([...TYPES, type])].map((value) => ({ value, label: typeWords(value) }))}
            value={type}
            onChange={(value) => value && setType(value)}
            searchable
            allowDeselect={false}
          />
          <JsonField label="Parameters" value={parameters} onChange={setParameters} />
          <MultiSelect
            label="Approved by"
            description="The first submits it."
            data={(users.data?.users ?? []).map((user) => ({ value: user.userId, label: user.userName }))}
            value={userIds}
            onChange={setUserIds}
            searchable
          />
          {chosen.isError && <ProblemNote error={chosen.error} />}
          <div>
            <Button
              type="submit"
              loading={simulation.isPending}
              disabled={userIds.length === 0 || jsonObjectOf(parameters) === undefined}
            >
              Simulate
            </Button>
          </div>
        </Stack>
      </form>
      {simulation.isError && <ProblemNote error={simulation.error} />}
      {simulation.data && <Outcome answer={simulation.data} />}
    </Page>
  );
}

const OUTCOMES: Record<AnswerOf<"simulate_policy">["outcome"], [color: string, words: string, sentence: string]> = {
  ALLOW: ["teal", "Allowed", "It would be carried out."],
  CONSENSUS_NEEDED: ["yellow", "Waits for approvals", "It would wait until more of those named below approve it."],
  AUTHENTICATORS_NEEDED: ["yellow", "Waits for credentials", "It would wait until further credentials are shown."],
  DENY: ["red", "Denied", "It would be refused."],
};

const QUORUM: Record<AnswerOf<"simulate_policy">["rootQuorum"], string> = {
  MET: "The root quorum is met, so policies are not asked.",
  SHORT: "Some of the root quorum approve, fewer than it takes.",
  NOT_INVOLVED: "Nobody of the root quorum approves.",
};

function Outcome({
  answer: { outcome, rootQuorum, policyEvaluations, warnings },
}: {
  answer: AnswerOf<"simulate_policy">;
}) {
  const names = usePolicyNames();
  const [color, words, sentence] = OUTCOMES[outcome];
  return (
    <Card withBorder role="status" aria-label="Outcome">
      <Stack gap="sm">
        <div>
          <Mark color={color}>{words}</Mark>
        </div>
        <Text>
          {sentence} {QUORUM[rootQuorum]}
        </Text>
        {policyEvaluations.length === 0 && rootQuorum !== "MET" && (
          <Text size="sm">No policy speaks of it. One that allows it would be made under Policies.</Text>
        )}
        <List size="sm" spacing="xs">
          {policyEvaluations.map(({ policyId, explanation }) => (
            <List.Item key={policyId} className="name">
              <Link to="/policies/$policyId" params={{ policyId }}>
                <Name>{names.get(policyId) ?? policyId}</Name>
              </Link>
              : {explanation}
            </List.Item>
          ))}
        </List>
        {warnings.length > 0 && (
          <>
            <Text fw={600}>Known traps in the policies that are stored:</Text>
            <List size="sm">
              {warnings.map(({ code, message, policyId = "" }) => (
                <List.Item key={code + policyId}>
                  <Code>{code}</Code> {message}
                </List.Item>
              ))}
            </List>
          </>
        )}
      </Stack>
    </Card>
  );
}
