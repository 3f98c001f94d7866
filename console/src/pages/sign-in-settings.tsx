import { Button, Group, TextInput } from "@mantine/core";
import { type SyntheticEvent, useState } from "react";
import type { Schemas } from "../api/api.ts";
import { usePages } from "../api/pages.ts";
import { Page } from "../parts/page.tsx";
import { type CellsOf, PagedTable } from "../parts/paged-table.tsx";
import { Section } from "../parts/section.tsx";
import { Name, When } from "../parts/texts.tsx";
import { AuthProxySettings } from "./auth-proxy-settings.tsx";
import { Oauth2Clients } from "./oauth2-clients.tsx";

/** How people without a credential sign up and in, and what became of the mail that they were sent. */
export const SignInSettings = () => (
  <Page title="Sign-in">
    <AuthProxySettings />
    <Oauth2Clients />
    <EmailEvents />
  </Page>
);

function EmailEvents() {
  const [typed, setTyped] = useState("");
  const [email, setEmail] = useState<string>();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setEmail(typed.trim());
  };
  return (
    <Section title="Email events">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label="Email address"
            description="Events of mails to this address, as far as the mail service reports them."
            type="email"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            miw={280}
          />
          <Button type="submit" variant="default" disabled={!typed.includes("@")}>
            Show events
          </Button>
        </Group>
      </form>
      {email !== undefined && <EventsOf key={email} email={email} />}
    </Section>
  );
}

const cellsOfEvent: CellsOf<Schemas["EmailEvent"]> = ({ eventType, fromAddress, details, timestamp }) => [
  <Name key="event">{eventType}</Name>,
  <Name key="from">{fromAddress}</Name>,
  <Name key="why">{details.diagnosticCode ?? details.deliverySmtpResponse ?? ""}</Name>,
  <When key="when" at={timestamp} />,
];

function EventsOf({ email }: { email: string }) {
  const list = usePages(
    ["email-events", email],
    async (api, paginationOptions) => (await api.query("list_email_events", { email, paginationOptions })).emailEvents,
    ({ id }) => id,
  );
  return (
    <PagedTable
      list={list}
      caption="Email events"
      head={["Event", "From", "Why", "When"]}
      itemsOf={(events) => events}
      keyOf={({ id }) => id}
      cellsOf={cellsOfEvent}
      empty="There are no events of mails to this address."
      more="Show older events"
    />
  );
}
