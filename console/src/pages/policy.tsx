import { Button, Card, Grid, Group, List, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type SyntheticEvent, useDeferredValue, useMemo, useState } from "react";
import type { ParametersOf, Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { DeleteDialog, NotYet } from "../parts/dialogs.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Section } from "../parts/section.tsx";
import { ExpressionField } from "../policy/expression-field.tsx";
import { errorIn } from "../policy/language.ts";
import { lockOut } from "../policy/lock-out.ts";
import { trapsIn } from "../policy/traps.ts";
import { type DraftPolicy, TryOut } from "./try-out.tsx";

type Policy = Schemas["Policy"];
type Draft = Pick<Policy, "policyName" | "effect" | "condition" | "consensus" | "notes"> & { time: string };

const EMPTY: Draft = { policyName: "", effect: "EFFECT_ALLOW", condition: "", consensus: "", notes: "", time: "" };

const draftOf = ({ policyName, effect, condition, consensus, notes, time = "" }: Policy): Draft => ({
  policyName,
  effect,
  condition,
  consensus,
  notes,
  time,
});

/** A policy to be made or changed. */
export function PolicyPage() {
  const { policyId } = useParams({ from: "/policies/$policyId" });
  return policyId === "new" ? <NewPolicy /> : <StoredPolicy key={policyId} policyId={policyId} />;
}

function NewPolicy() {
  const create = useSubmit("create_policy");
  return (
    <Page title="New policy">
      <Editor
        initial={EMPTY}
        act="Create policy"
        policyId={undefined}
        submit={({ time, ...draft }) => create.mutate({ ...draft, ...(time === "" ? {} : { time }) })}
        state={create}
      />
    </Page>
  );
}

function StoredPolicy({ policyId }: { policyId: string }) {
  const answer = useAnswer("get_policy", { policyId });
  const update = useSubmit("update_policy");
  const [isDeleting, setDeleting] = useState(false);
  const policy = answer.data?.policy;
  return (
    <Page
      title={policy?.policyName ?? "Policy"}
      actions={
        policy && (
          <Button variant="default" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )
      }
    >
      <Answered to={answer}>
        {({ policy }) => (
          <Editor
            initial={draftOf(policy)}
            act="Save policy"
            policyId={policyId}
            submit={(draft, opened, onSaved) =>
              update.mutate(
                { policyId, ...changesOf(draft, opened) },
                { onSuccess: ({ result }) => result !== undefined && onSaved() },
              )
            }
            state={update}
          />
        )}
      </Answered>
      {isDeleting && policy && <DeletePolicy policy={policy} onClose={() => setDeleting(false)} />}
    </Page>
  );
}

/** What differs from the policy as it was opened: what others changed meanwhile stays. */
function changesOf(draft: Draft, opened: Draft): Omit<ParametersOf<"update_policy">, "policyId"> {
  const isChanged = (member: keyof Draft) => draft[member] !== opened[member];
  return {
    ...(isChanged("policyName") ? { policyName: draft.policyName } : {}),
    ...(isChanged("effect") ? { policyEffect: draft.effect } : {}),
    ...(isChanged("condition") ? { policyCondition: draft.condition } : {}),
    ...(isChanged("consensus") ? { policyConsensus: draft.consensus } : {}),
    ...(isChanged("notes") ? { policyNotes: draft.notes } : {}),
    ...(isChanged("time") ? { time: draft.time } : {}),
  };
}

/** What to warn of if the stored policy became this, or was deleted; undefined where there is nothing to warn of, or it is not known yet. */
function useLockOut(policyId: string | undefined, changed: Draft | undefined): string | undefined {
  const { policies } = useAnswer("list_policies", {}).data ?? {};
  if (!policies) return undefined;
  const others = policies.filter((policy) => policy.policyId !== policyId).map(draftOf);
  return lockOut(policies.map(draftOf), changed ? [...others, changed] : others);
}

interface EditorProps {
  initial: Draft;
  act: string;
  /** Of the policy that is stored already. */
  policyId: string | undefined;
  /** Given what is to be, and what was when the editor opened or saved it last. */
  submit: (draft: Draft, opened: Draft, onSaved: () => void) => void;
  state: Pick<ReturnType<typeof useSubmit<"create_policy" | "update_policy">>, "data" | "error" | "isPending">;
}

const EFFECTS = [
  { value: "EFFECT_ALLOW", label: "Allow what matches" },
  { value: "EFFECT_DENY", label: "Deny what matches; this is final" },
];

function Editor({ initial, act, policyId, submit, state }: EditorProps) {
  const [opened, setOpened] = useState(initial);
  const [draft, setDraft] = useState(initial);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const areSound = (["condition", "consensus", "time"] as const).every(
    (scope) => errorIn(draft[scope], scope) === undefined,
  );
  const isSound = areSound && draft.policyName.trim() !== "";
  const loss = useLockOut(policyId, draft);
  const isSame = (Object.keys(draft) as (keyof Draft)[]).every((member) => draft[member] === opened[member]);
  const onSubmit = (event: SyntheticEvent) => {
    event.preventDefault();
    submit(draft, opened, () => setOpened(draft));
  };
  return (
    <Grid gap="xl">
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <form onSubmit={onSubmit}>
          <Stack>
            <TextInput
              label="Name"
              value={draft.policyName}
              onChange={(event) => change({ policyName: event.currentTarget.value })}
              required
              autoComplete="off"
            />
            <Select
              label="Effect"
              data={EFFECTS}
              value={draft.effect}
              onChange={(value) => change({ effect: value as Draft["effect"] })}
              allowDeselect={false}
            />
            <ExpressionField
              label="Condition"
              description="The activities that it applies to, such as activity.resource == 'WALLET' && activity.action == 'CREATE'."
              scope="condition"
              value={draft.condition}
              onChange={(condition) => change({ condition })}
            />
            <ExpressionField
              label="Consensus"
              description="Who must approve, such as approvers.any(user, user.id == '…') && approvers.count() >= 2."
              scope="consensus"
              value={draft.consensus}
              onChange={(consensus) => change({ consensus })}
            />
            <ExpressionField
              label="Time"
              description="When it is active; always by default."
              scope="time"
              value={draft.time}
              onChange={(time) => change({ time })}
            />
            <Textarea
              label="Notes"
              value={draft.notes}
              onChange={(event) => change({ notes: event.currentTarget.value })}
              autosize
              minRows={2}
            />
            {loss !== undefined && !isSame && (
              <Text role="status" fw={600}>
                {loss}
              </Text>
            )}
            {!(isSame && policyId === undefined) && <Traps of={draft} />}
            {state.error && <ProblemNote error={state.error} />}
            {state.data && <Saved activity={state.data} />}
            <Group>
              <Button type="submit" loading={state.isPending} disabled={!isSound || isSame}>
                {act}
              </Button>
              {(!isSound || isSame) && (
                <Text size="sm" c="dimmed">
                  {isSame
                    ? "Nothing has changed."
                    : "It can be saved once it has a name and no expression has an error."}
                </Text>
              )}
            </Group>
          </Stack>
        </form>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <Section title="Try it before saving">
          <Text size="sm" c="dimmed">
            The outcome of an activity if this policy were saved as it is here. Nothing is created.
          </Text>
          <TryOut draft={triedOf(draft, policyId)} isUnsound={!areSound} />
        </Section>
      </Grid.Col>
    </Grid>
  );
}

/** What a simulation looks at of it: its name and notes decide nothing. */
const triedOf = ({ effect, condition, consensus, time }: Draft, policyId: string | undefined): DraftPolicy => ({
  effect,
  condition,
  consensus,
  time,
  ...(policyId === undefined ? {} : { policyId }),
});

/** What is valid, and may not do what its author thinks; told while it is typed. */
function Traps({ of }: { of: Draft }) {
  const { effect, condition, consensus } = useDeferredValue(of);
  const traps = useMemo(() => trapsIn({ effect, condition, consensus }), [effect, condition, consensus]);
  if (traps.length === 0) return null;
  return (
    <div role="status">
      <Text fw={600}>It has known traps:</Text>
      <List size="sm">
        {traps.map((message) => (
          <List.Item key={message}>{message}</List.Item>
        ))}
      </List>
    </div>
  );
}

function Saved({ activity }: { activity: NonNullable<EditorProps["state"]["data"]> }) {
  return (
    <Card withBorder role="status">
      {activity.result === undefined ? (
        <NotYet activity={activity} />
      ) : (
        <Text>
          Saved. <Link to="/policies/simulate">Try what it does</Link>, or go back to{" "}
          <Link to="/policies">all policies</Link>.
        </Text>
      )}
    </Card>
  );
}

function DeletePolicy({ policy: { policyId, policyName }, onClose }: { policy: Policy; onClose: () => void }) {
  const navigate = useNavigate();
  const remove = useSubmit("delete_policy");
  const loss = useLockOut(policyId, undefined);
  return (
    <DeleteDialog
      kind="policy"
      name={policyName}
      warning={`What it allowed is allowed no more, and what it denied may be allowed by others. ${loss ?? ""}`}
      undo="It can be created again, under another ID."
      mutation={remove}
      parameters={{ policyId }}
      onClose={onClose}
      onDone={() => navigate({ to: "/policies" })}
    />
  );
}
