import { Button, Card, Code, List, MultiSelect, Select, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent, useEffect, useMemo, useState } from "react";
import { intentOf, submitterIdOf, useActivities } from "../api/activities.ts";
import type { AnswerOf, RequestOf } from "../api/api.ts";
import { parametersToBegin } from "../api/documented.ts";
import { useAnswer, useOpenApi } from "../api/hooks.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { byWordsOrConstant, typeOption } from "../parts/activity-types.ts";
import { PolicyLink, usePolicyNames } from "../parts/explanations.tsx";
import { JsonField, jsonObjectOf } from "../parts/json-field.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Mark, momentWords, typeWords } from "../parts/texts.tsx";
import { userOptions } from "../parts/user-options.ts";
import { useSession } from "../session/context.tsx";

type Simulated = AnswerOf<"simulate_policy">;
export type DraftPolicy = NonNullable<RequestOf<"simulate_policy">["draftPolicy"]>;

const TYPES: string[] = Object.values(ACTIVITY_TYPES);

const sent = (parameters: unknown): string => JSON.stringify(parameters, null, 2);

interface TryOutProps {
  /** Which activity to begin with. */
  activityId?: string | undefined;
  /** A policy that is not saved, as it is tried with it; undefined where policies are tried as they are saved. */
  draft?: DraftPolicy;
  /** Whether the draft has an error or cannot be tried yet. */
  isUnsound?: boolean;
}

/** What would become of an activity that happened, or that is typed. Nothing is created. */
export function TryOut({ activityId, draft, isUnsound = false }: TryOutProps) {
  const { api, userId } = useSession();
  const [type, setType] = useState<string>(ACTIVITY_TYPES.sign_raw_payload);
  const document = useOpenApi();
  /** Undefined until somebody types, or takes them from one that happened. */
  const [given, setParameters] = useState<string>();
  const example = useMemo(() => document.data && sent(parametersToBegin(document.data, type)), [document.data, type]);
  const parameters = given ?? example ?? sent({});
  const [userIds, setUserIds] = useState([userId]);
  const users = useAnswer("list_users", {});
  const recent = useActivities({ statuses: [], types: [] });
  const activities = recent.data?.pages.flatMap((page) => page.activities) ?? [];
  const [takenId, setTakenId] = useState(activityId);
  const taken = useAnswer("get_activity", { activityId: takenId ?? "" }, { enabled: takenId !== undefined });
  const simulation = useMutation({
    mutationFn: async (tried: DraftPolicy | undefined) => {
      const request = { activity: { type, parameters: jsonObjectOf(parameters) ?? {} }, userIds };
      if (tried === undefined) return { answer: await api.query("simulate_policy", request) };
      const [saved, answer] = await Promise.all([
        api.query("simulate_policy", request),
        api.query("simulate_policy", { ...request, draftPolicy: tried }),
      ]);
      return { answer, saved, tried };
    },
  });
  const happened = taken.data?.activity;
  useEffect(() => {
    if (!happened) return;
    setType(happened.type);
    setParameters(sent(intentOf(happened)));
    const submitterId = submitterIdOf(happened);
    if (submitterId !== undefined) setUserIds([submitterId]);
  }, [happened]);
  /** What is there for another type does not fit. */
  const begin = (chosen: string) => {
    setTakenId(undefined);
    setType(chosen);
    setParameters(undefined);
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    simulation.mutate(draft);
  };
  const isOld = JSON.stringify(simulation.data?.tried) !== JSON.stringify(draft);
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack>
          <Select
            label="Start from an earlier activity"
            placeholder="Choose one, or fill in the fields below"
            data={activities.map((activity) => ({
              value: activity.id,
              label: `${typeWords(activity.type)}, ${momentWords(activity.createdAt)}, ${activity.id}`,
            }))}
            value={takenId ?? null}
            onChange={(id) => id !== null && setTakenId(id)}
            searchable
          />
          <Select
            label="Type"
            data={[...new Set([...TYPES, type])].map(typeOption)}
            filter={byWordsOrConstant}
            value={type}
            onChange={(value) => value && value !== type && begin(value)}
            searchable
            allowDeselect={false}
          />
          <JsonField
            label="Parameters"
            description={
              takenId === undefined
                ? "This is the example from the documentation. Replace it with your own values."
                : "These are the parameters of the activity that you chose."
            }
            value={parameters}
            onChange={setParameters}
          />
          <MultiSelect
            label="Approved by"
            description="The first submits it."
            data={userOptions(users.data?.users ?? [])}
            value={userIds}
            onChange={setUserIds}
            searchable
          />
          {taken.isError && <ProblemNote error={taken.error} />}
          <div>
            <Button
              type="submit"
              variant={draft === undefined ? "filled" : "default"}
              loading={simulation.isPending}
              disabled={isUnsound || userIds.length === 0 || jsonObjectOf(parameters) === undefined}
            >
              Simulate
            </Button>
          </div>
          {isUnsound && (
            <Text size="sm" c="dimmed">
              The policy can be tried once no expression has an error.
            </Text>
          )}
        </Stack>
      </form>
      {simulation.isError && <ProblemNote error={simulation.error} />}
      {simulation.data && <Outcome {...simulation.data} isOld={isOld} />}
    </Stack>
  );
}

const OUTCOMES: Record<Simulated["outcome"], [color: string, words: string, sentence: string]> = {
  ALLOW: ["teal", "Allowed", "It would be carried out."],
  CONSENSUS_NEEDED: ["yellow", "Waits for approvals", "It would wait until more of those named below approve it."],
  AUTHENTICATORS_NEEDED: ["yellow", "Waits for credentials", "It would wait until further credentials are shown."],
  DENY: ["red", "Denied", "It would be refused."],
};

const QUORUM: Record<Simulated["rootQuorum"], string> = {
  MET: "The root quorum is met, so policies are not asked.",
  SHORT: "Members of the root quorum approve, but too few.",
  NOT_INVOLVED: "No member of the root quorum approves.",
};

/** What the server calls the draft of a new policy. */
const DRAFT = "draft";

interface OutcomeProps {
  answer: Simulated;
  /** The same by the policies as they are saved, where another one was tried. */
  saved?: Simulated;
  tried?: DraftPolicy;
  /** Whether the policy was changed since. */
  isOld: boolean;
}

function Outcome({ answer: { outcome, rootQuorum, policyEvaluations, warnings }, saved, tried, isOld }: OutcomeProps) {
  const names = usePolicyNames();
  const [color, words, sentence] = OUTCOMES[outcome];
  const triedId = tried && (tried.policyId ?? DRAFT);
  return (
    <Card withBorder role="status" aria-label="Outcome">
      <Stack gap="sm">
        {isOld && <Text fw={600}>The policy has changed since. Simulate again to see what it does now.</Text>}
        <div>
          <Mark color={color}>{words}</Mark>
        </div>
        <Text>
          {sentence} {QUORUM[rootQuorum]}
        </Text>
        {saved && (
          <Text size="sm">
            {saved.outcome === outcome
              ? "With the saved policies, the outcome would be the same."
              : `With the saved policies: ${OUTCOMES[saved.outcome][1].toLowerCase()}.`}
          </Text>
        )}
        {policyEvaluations.length === 0 && rootQuorum !== "MET" && (
          <Text size="sm">No policy applies to it. You can create one that allows it under Policies.</Text>
        )}
        <List size="sm" spacing="xs">
          {policyEvaluations.map(({ policyId, explanation }) => (
            <List.Item key={policyId} className="name">
              {policyId === triedId ? (
                <strong>This policy, as it is here</strong>
              ) : (
                <PolicyLink policyId={policyId} names={names} />
              )}
              : {explanation}
            </List.Item>
          ))}
        </List>
        {/* The editor tells those of the draft while it is typed. */}
        {warnings.length > 0 && tried === undefined && (
          <>
            <Text fw={600}>Known traps in the saved policies:</Text>
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
