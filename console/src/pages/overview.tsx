import { Card, Group, List, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { listed, useActivities, useWaitingForMe, WAITING_STATUSES } from "../api/activities.ts";
import { LIVE, useAnswer } from "../api/hooks.ts";
import { ACTIVITY_TYPES } from "../api/operations.gen.ts";
import { ActivityTable } from "../parts/activity-table.tsx";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES } from "../parts/chains.ts";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { Copyable, Mark, Moment } from "../parts/texts.tsx";
import { useSession } from "../session/context.tsx";
import { Charts } from "./charts.tsx";

const RECENT = 8;

/** What waits for whoever looks, what happened, and whether everything runs. */
export function Overview() {
  const { organizationId, userId, ownKey } = useSession();
  const waiting = useWaitingForMe();
  const recent = useActivities({ statuses: [], types: [] });
  return (
    <Page title="Overview">
      <FirstSteps />
      <Section title="Waiting for you">
        <Answered to={waiting}>
          {({ mine, untold, hasMore }) => (
            <>
              <ActivityTable
                activities={mine.map(listed)}
                caption="Waiting for you"
                empty="Nothing is waiting for you."
              />
              <Untold count={untold} hasMore={hasMore} />
            </>
          )}
        </Answered>
      </Section>
      <Section title="Recent activities">
        <Answered to={recent}>
          {({ pages }) => (
            <ActivityTable
              activities={(pages[0]?.activities ?? []).slice(0, RECENT)}
              caption="Recent activities"
              empty="Nothing has happened yet."
            />
          )}
        </Answered>
      </Section>
      <Charts />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Health />
        <Card withBorder>
          <Stack gap="xs">
            <Title order={2} size="h4">
              You
            </Title>
            <Group gap="xs">
              Organization <Copyable text={organizationId} label="organization id" whole />
            </Group>
            <Group gap="xs">
              User <Copyable text={userId} label="user id" whole />
            </Group>
            <Text size="sm" c="dimmed">
              {ownKey === undefined ? (
                "Signed in with an API key that is kept only in this tab."
              ) : (
                <>
                  Signed in with a passkey until <Moment at={new Date(ownKey.expiresAt).toISOString()} />.
                </>
              )}
            </Text>
          </Stack>
        </Card>
      </SimpleGrid>
    </Page>
  );
}

const Section = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <Stack gap="xs" component="section">
    <Title order={2} size="h4">
      {title}
    </Title>
    {children}
  </Stack>
);

/** What the list above leaves out, so that nobody takes it for the whole. */
function Untold({ count, hasMore }: { count: number; hasMore: boolean }) {
  if (count === 0 && !hasMore) return null;
  return (
    <Text size="sm" role="status">
      {count > 0 &&
        `${count} more are waiting. Your policies are too complex to tell here whether your vote on them counts; open each one to see. `}
      {hasMore && "Only the newest hundred that are waiting were checked. "}
      <Link to="/activities" search={{ statuses: [...WAITING_STATUSES] }}>
        See all that are waiting
      </Link>
      .
    </Text>
  );
}

const SIGNED = {
  filterByType: [
    ACTIVITY_TYPES.sign_raw_payload,
    ACTIVITY_TYPES.sign_raw_payloads,
    ACTIVITY_TYPES.sign_transaction,
    ACTIVITY_TYPES.eth_send_transaction,
    ACTIVITY_TYPES.sol_send_transaction,
  ],
  paginationOptions: { limit: "1" },
};

/** For who has just begun: until something was signed, or there is more than a first wallet. */
function FirstSteps() {
  const { wallets } = useAnswer("list_wallets", {}).data ?? {};
  const isFirst = wallets !== undefined && wallets.length <= 1;
  const { activities } = useAnswer("list_activities", SIGNED, { enabled: isFirst, live: true }).data ?? {};
  if (!isFirst || activities?.length !== 0) return null;
  const [wallet] = wallets;
  return (
    <Card withBorder component="section" aria-label="First steps">
      <Stack gap="xs">
        <Title order={2} size="h4">
          First steps
        </Title>
        <List type="ordered">
          <List.Item>
            {wallet === undefined ? (
              <>
                <Link to="/wallets">Create a wallet</Link>: one secret phrase, with accounts on any chain.
              </>
            ) : (
              "A wallet was created."
            )}
          </List.Item>
          <List.Item>
            {wallet === undefined ? (
              "Open it"
            ) : (
              <Link to="/wallets/$walletId" params={{ walletId: wallet.walletId }}>
                Open it
              </Link>
            )}
            , and sign a message with one of its accounts.
          </List.Item>
          <List.Item>
            See both under <Link to="/activities">Activities</Link>, with who asked for them and why they were allowed.
          </List.Item>
        </List>
      </Stack>
    </Card>
  );
}

/** What `/readyz` says; anybody may read it. */
interface Readiness {
  database: string;
  signer: string;
  organization: string;
  chains?: Record<string, { status: string }>;
  warnings?: Record<string, string>;
  reasons?: Record<string, string>;
}

function Health() {
  const readiness = useQuery({
    queryKey: ["readyz"],
    queryFn: async () => (await (await fetch("/readyz")).json()) as Readiness,
    ...LIVE,
  });
  return (
    <Card withBorder>
      <Stack gap="xs">
        <Title order={2} size="h4">
          Health
        </Title>
        {readiness.isError && <ProblemNote error={readiness.error} retry={() => void readiness.refetch()} />}
        {readiness.data && <Parts readiness={readiness.data} />}
        <WebhookHealth />
      </Stack>
    </Card>
  );
}

/** Where endpoints are: how many are told, and whether some of today's deliveries have failed for good. */
function WebhookHealth() {
  const { webhookEndpoints = [] } = useAnswer("list_webhook_endpoints", {}, { live: true }).data ?? {};
  const { webhookDeliveries = [], lastDay } = useAnswer("get_activity_counts", {}, { live: true }).data ?? {};
  if (webhookEndpoints.length === 0) return null;
  const off = webhookEndpoints.filter(({ isActive }) => !isActive).length;
  const ofToday = webhookDeliveries.filter(({ day, name }) => day === lastDay && name === "FAILED");
  const failed = ofToday.reduce((sum, { count }) => sum + count, 0);
  const words = [
    `${webhookEndpoints.length - off} active`,
    ...(off > 0 ? [`${off} off`] : []),
    ...(failed > 0 ? [`${failed} failed today`] : []),
  ];
  return (
    <Row name="Webhooks" color={failed > 0 ? "red" : off > 0 ? "gray" : "teal"}>
      {words.join(", ")}
    </Row>
  );
}

const Row = ({ name, color, children }: { name: string; color: string; children: string }) => (
  <Group justify="space-between">
    <span className="name">{name}</span>
    <Mark color={color}>{children}</Mark>
  </Group>
);

function Parts({
  readiness: { database, signer, chains = {}, warnings = {}, reasons = {} },
}: {
  readiness: Readiness;
}) {
  const parts = {
    Server: reasons.server === undefined ? "ready" : "stopping",
    Database: database,
    Signer: signer,
    ...mapStatus(chains),
  };
  return (
    <>
      {Object.entries(parts).map(([name, status]) => (
        <Row key={name} name={name} color={status === "ready" || status === "up" ? "teal" : "red"}>
          {status}
        </Row>
      ))}
      {[...Object.values(reasons), ...Object.values(warnings)].map((text) => (
        <Text key={text} size="sm" role="status">
          {text}
        </Text>
      ))}
    </>
  );
}

const mapStatus = (chains: NonNullable<Readiness["chains"]>): Record<string, string> =>
  Object.fromEntries(Object.entries(chains).map(([chain, { status }]) => [CHAIN_NAMES[chain] ?? chain, status]));
