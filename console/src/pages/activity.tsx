import { Button, Code, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { intentOf, resultOf, WAITING_STATUSES } from "../api/activities.ts";
import type { Ballot, Schemas, Selection, ShownActivity } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import type { Explanation } from "../api/problem.ts";
import { Answered } from "../parts/answered.tsx";
import { AskedWords } from "../parts/asked-words.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Explanations } from "../parts/explanations.tsx";
import { Facts } from "../parts/facts.tsx";
import { useTell } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { Section } from "../parts/section.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Copyable, Moment, Name, StatusMark, typeWords, When } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";
import { Evaluations } from "./evaluations.tsx";
import { Shortfall } from "./shortfall.tsx";

/** One activity: what it is about, who voted, what policies came to, and what is missing. */
export function Activity() {
  const { activityId } = useParams({ from: "/activities/$activityId" });
  const answer = useAnswer("get_activity", { activityId }, { live: true });
  return (
    <Page
      title={answer.data ? typeWords(answer.data.activity.type) : "Activity"}
      actions={answer.data && <Votes activity={answer.data.activity} />}
    >
      <Answered to={answer}>{({ activity }) => <Shown activity={activity} />}</Answered>
    </Page>
  );
}

const isWaiting = ({ status }: ShownActivity): boolean => (WAITING_STATUSES as readonly string[]).includes(status);

function Shown({ activity }: { activity: ShownActivity }) {
  const { id, status, createdAt, updatedAt, fingerprint, votes, failure, votingRightsUnknown } = activity;
  const isDenied = status === "ACTIVITY_STATUS_REJECTED" || status === "ACTIVITY_STATUS_FAILED";
  return (
    <Stack gap="xl">
      <Stack gap="xs">
        <Group>
          <StatusMark status={status} />
          <Text c="dimmed">
            Submitted <Moment at={createdAt} />, last changed <When at={updatedAt} />
          </Text>
        </Group>
        <Group gap="lg">
          <Group gap={4}>
            Id <Copyable text={id} label="activity id" />
          </Group>
          <Group gap={4}>
            Fingerprint <Copyable text={fingerprint} label="fingerprint" />
          </Group>
          <Group gap={4}>
            Type <Copyable text={activity.type} label="activity type" whole />
          </Group>
        </Group>
        {votingRightsUnknown !== undefined && <Text role="status">{votingRightsUnknown}</Text>}
      </Stack>
      {isDenied && failure && <Failure failure={failure} />}
      {isWaiting(activity) && <Shortfall activity={activity} />}
      <Section title="What it does">
        <AskedWords type={activity.type} intent={intentOf(activity)} />
        <Facts value={intentOf(activity)} />
      </Section>
      {Object.keys(resultOf(activity)).length > 0 && (
        <Section title="Result">
          <Facts value={resultOf(activity)} />
        </Section>
      )}
      <Section title="Votes">
        <VoteTable votes={votes} />
      </Section>
      <Section title="Policies">
        <Evaluations activity={activity} />
      </Section>
    </Stack>
  );
}

interface Detail {
  "@type"?: string;
  remedy?: string;
  explanations?: Explanation[];
}

/** Why it was denied or failed, in the server's own words. */
function Failure({ failure: { message = "", details = [] } }: { failure: Schemas["Failure"] }) {
  const explained = (details as Detail[]).find(({ explanations }) => explanations !== undefined);
  const explanations = explained?.explanations ?? [];
  return (
    <Section title="Why it was not done">
      <Text className="name">{message}</Text>
      {explained?.remedy && !message.includes(explained.remedy) && <Text>{explained.remedy}</Text>}
      {explanations.length > 0 && <Explanations of={explanations} />}
    </Section>
  );
}

function selectionOf({ selection, revokedAt }: Schemas["Vote"]): string {
  const word = selection === "VOTE_SELECTION_APPROVED" ? "Approved" : "Rejected";
  return revokedAt ? `${word} (counts for nothing: its credential was deleted)` : word;
}

/** By the public key that the stamp names. A passkey's login votes with a key that ends with it. */
function Credential({ of: { user, publicKey } }: { of: Schemas["Vote"] }) {
  const apiKey = user.apiKeys.find(({ credential }) => credential.publicKey === publicKey);
  if (apiKey) return <Name>{`API key ${apiKey.apiKeyName}`}</Name>;
  const passkey = user.authenticators.find(({ credential }) => credential.publicKey === publicKey);
  if (passkey) return <Name>{`Passkey ${passkey.authenticatorName}`}</Name>;
  return (
    <>
      A session that has ended, or a deleted key: <Copyable text={publicKey} label="public key" />
    </>
  );
}

function VoteTable({ votes }: { votes: readonly Schemas["Vote"][] }) {
  if (votes.length === 0) return <Text c="dimmed">Nobody has voted.</Text>;
  return (
    <ScrollTable caption="Votes" head={["Who", "Vote", "With", "When"]}>
      {votes.map((vote) => (
        <TableRow
          key={vote.id}
          cells={[
            <Link key="who" to="/users/$userId" params={{ userId: vote.userId }}>
              <Name>{vote.user.userName}</Name>
            </Link>,
            selectionOf(vote),
            <Credential key="with" of={vote} />,
            <When key="when" at={vote.createdAt} />,
          ]}
        />
      ))}
    </ScrollTable>
  );
}

const SELECTIONS = [
  { selection: "approve", can: "canApprove", label: "Approve", variant: "filled" },
  { selection: "reject", can: "canReject", label: "Reject", variant: "default" },
] as const;

function Votes({ activity }: { activity: ShownActivity }) {
  const [selection, setSelection] = useState<Selection>();
  return (
    <Group>
      {SELECTIONS.filter(({ can }) => activity[can]).map(({ selection: each, label, variant }) => (
        <Button key={each} variant={variant} onClick={() => setSelection(each)}>
          {label}
        </Button>
      ))}
      {selection && <VoteDialog activity={activity} selection={selection} onClose={() => setSelection(undefined)} />}
    </Group>
  );
}

/** Shows what will be stamped, byte for byte, and stamps that. */
function VoteDialog(props: { activity: ShownActivity; selection: Selection; onClose: () => void }) {
  const { activity, selection, onClose } = props;
  const { api } = useSession();
  const queries = useQueryClient();
  const tell = useTell();
  const [ballot] = useState<Ballot>(() => api.ballot(selection, activity.fingerprint));
  const vote = useMutation({
    mutationFn: () => api.vote(ballot),
    onSuccess: () => {
      onClose();
      tell(selection === "approve" ? "You approved it." : "You rejected it.");
    },
    onSettled: () => void queries.invalidateQueries(),
  });
  const act = selection === "approve" ? "Approve" : "Reject";
  return (
    <Dialog title={`${act}: ${typeWords(activity.type)}`} onClose={onClose}>
      <Stack>
        <AskedWords type={activity.type} intent={intentOf(activity)} />
        <Facts value={intentOf(activity)} />
        <Text size="sm">These exact bytes are stamped with your credential and sent:</Text>
        <Code block className="bytes" tabIndex={0} aria-label="What is stamped">
          {ballot.body}
        </Code>
        <Text size="sm">
          {selection === "approve"
            ? "A vote cannot be withdrawn. With enough approvals, the activity is carried out at once."
            : "A vote cannot be withdrawn. The same request can be submitted again."}
        </Text>
        {vote.isError && <ProblemNote error={vote.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            loading={vote.isPending}
            onClick={() => vote.mutate()}
            {...(selection === "reject" ? { color: "red" } : {})}
          >
            {act}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
