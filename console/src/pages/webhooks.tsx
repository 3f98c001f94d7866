import { Button, Card, Group, List, MultiSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import type { ParametersOf, Schemas } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { DeleteDialog, FormDialog, NotYet } from "../parts/dialogs.tsx";
import { NameField } from "../parts/name-field.tsx";
import { Page } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem-note.tsx";
import { ScrollTable } from "../parts/scroll-table.tsx";
import { TableRow } from "../parts/table-row.tsx";
import { Mark, Name, When } from "../parts/texts.tsx";
import { UnfoldButton } from "../parts/unfold-button.tsx";
import { visibleText } from "../parts/visible-text.ts";

type Endpoint = Schemas["WebhookEndpoint"];
type EventType = NonNullable<ParametersOf<"create_webhook_endpoint">["subscriptions"]>[number]["eventType"];

export function Webhooks() {
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer("list_webhook_endpoints", {});
  return (
    <Page title="Webhooks" actions={<Button onClick={() => setOpen(true)}>New endpoint</Button>}>
      <Answered to={answer}>
        {({ webhookEndpoints }) =>
          webhookEndpoints.length === 0 ? (
            <Text c="dimmed">
              There are no endpoints yet. An endpoint is a URL of yours that receives events about what happens here.
            </Text>
          ) : (
            <Stack>
              {webhookEndpoints.map((endpoint) => (
                <EndpointCard key={endpoint.endpointId} endpoint={endpoint} />
              ))}
            </Stack>
          )
        }
      </Answered>
      {isOpen && <NewEndpoint onClose={() => setOpen(false)} />}
    </Page>
  );
}

/** An endpoint with its latest deliveries, once they are asked for. */
function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const { endpointId, name, url, isActive, subscriptions = [] } = endpoint;
  const [hasDeliveries, setDeliveries] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const update = useSubmit("update_webhook_endpoint");
  const remove = useSubmit("delete_webhook_endpoint");
  const test = useSubmit("test_webhook_endpoint");
  const sendTest = () => test.mutate({ endpointId }, { onSuccess: () => setDeliveries(true) });
  return (
    <Card withBorder component="section" aria-label={visibleText(name)}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h4">
            <Name>{name}</Name>
          </Title>
          <Mark color={isActive ? "teal" : "gray"}>{isActive ? "Active" : "Off"}</Mark>
        </Group>
        <Text>
          <Name>{url}</Name>
        </Text>
        <Text size="sm" c="dimmed">
          {subscriptions.length === 0
            ? "It has no subscriptions."
            : `Receives ${subscriptions.map(({ eventType }) => eventWords(eventType)).join(", ")}.`}
        </Text>
        {update.isError && <ProblemNote error={update.error} />}
        {test.isError && <ProblemNote error={test.error} />}
        {test.data &&
          (test.data.result === undefined ? (
            <NotYet activity={test.data} />
          ) : (
            <Text role="status">A test event is being sent. Its status is shown under Deliveries.</Text>
          ))}
        <Group>
          <Button size="xs" variant="default" disabled={!isActive} loading={test.isPending} onClick={sendTest}>
            Send a test
          </Button>
          <UnfoldButton isOpen={hasDeliveries} setOpen={setDeliveries}>
            Deliveries
          </UnfoldButton>
          <Button
            size="xs"
            variant="default"
            loading={update.isPending}
            onClick={() => update.mutate({ endpointId, isActive: !isActive })}
          >
            {isActive ? "Disable" : "Enable"}
          </Button>
          <Button size="xs" variant="default" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </Group>
        {hasDeliveries && <Deliveries endpointId={endpointId} />}
      </Stack>
      {isDeleting && (
        <DeleteDialog
          kind="endpoint"
          name={name}
          warning="It no longer receives events, and queued deliveries are cancelled."
          undo="It can be created again, under another ID."
          mutation={remove}
          parameters={{ endpointId }}
          onClose={() => setDeleting(false)}
        />
      )}
    </Card>
  );
}

const DELIVERY_COLORS = { PENDING: "yellow", DELIVERED: "teal", FAILED: "red", CANCELLED: "gray" };
const LATEST = "20";

function Deliveries({ endpointId }: { endpointId: string }) {
  const answer = useAnswer(
    "list_webhook_deliveries",
    { endpointId, paginationOptions: { limit: LATEST } },
    { live: true },
  );
  const again = useSubmit("redeliver_webhook");
  return (
    <Answered to={answer}>
      {({ deliveries }) =>
        deliveries.length === 0 ? (
          <Text c="dimmed">Nothing has been sent to it yet.</Text>
        ) : (
          <>
            {again.isError && <ProblemNote error={again.error} />}
            <ScrollTable caption="Deliveries" head={["Event", "Status", "Attempts", "When", ""]}>
              {deliveries.map(({ deliveryId, eventType, status, attempts, createdAt }) => (
                <TableRow
                  key={deliveryId}
                  cells={[
                    <Name key="event">{eventWords(eventType)}</Name>,
                    <Mark key="status" color={DELIVERY_COLORS[status]}>
                      {status.toLowerCase()}
                    </Mark>,
                    <Attempts key="attempts" attempts={attempts} />,
                    <When key="when" at={createdAt} />,
                    status !== "PENDING" && (
                      <Button
                        key="again"
                        size="compact-sm"
                        variant="default"
                        onClick={() => again.mutate({ deliveryId })}
                      >
                        Send again
                      </Button>
                    ),
                  ]}
                />
              ))}
            </ScrollTable>
          </>
        )
      }
    </Answered>
  );
}

/** What the latest attempt came to, and the others when they are asked for. */
function Attempts({ attempts }: { attempts: readonly Schemas["WebhookAttempt"][] }) {
  const last = attempts.at(-1);
  if (!last) return "none yet";
  return (
    <>
      {attempts.length}, the last: <Name>{outcomeOf(last)}</Name>
      {attempts.length > 1 && (
        <details>
          <summary>All attempts</summary>
          <List type="ordered" size="sm">
            {attempts.map((attempt, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: attempts are added at the end and never change
              <List.Item key={index}>
                <When at={attempt.startedAt} />, {attempt.durationMs} ms: <Name>{outcomeOf(attempt)}</Name>
              </List.Item>
            ))}
          </List>
        </details>
      )}
    </>
  );
}

const outcomeOf = ({ error, statusCode }: Schemas["WebhookAttempt"]): string => error ?? `answered ${statusCode}`;

/** `ACTIVITY_UPDATES` is "activity updates". */
const eventWords = (eventType: string): string => eventType.toLowerCase().replaceAll("_", " ");

const EVENT_OPTIONS = (
  [
    "ACTIVITY_UPDATES",
    "BALANCE_CONFIRMED_UPDATES",
    "BALANCE_FINALIZED_UPDATES",
    "SEND_TRANSACTION_STATUS_UPDATES",
    "WEBHOOK_ENDPOINT_UPDATES",
  ] as const satisfies readonly EventType[]
).map((value) => ({ value, label: eventWords(value) }));

function NewEndpoint({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<EventType[]>(["ACTIVITY_UPDATES"]);
  const create = useSubmit("create_webhook_endpoint");
  return (
    <FormDialog
      title="New endpoint"
      act="Create endpoint"
      mutation={create}
      isReady={name.trim() !== "" && url.trim() !== ""}
      parameters={() => ({ name, url, subscriptions: events.map((eventType) => ({ eventType })) })}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <TextInput
        label="URL"
        description="Deliveries are sent there by POST, signed."
        type="url"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        required
        autoComplete="off"
      />
      <MultiSelect
        label="Events"
        data={EVENT_OPTIONS}
        value={events}
        onChange={(values) => setEvents(values as EventType[])}
      />
    </FormDialog>
  );
}
