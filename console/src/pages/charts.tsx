import { SimpleGrid, Text } from "@mantine/core";
import { DAY_MS } from "../../../src/kernel/durations.ts";
import type { ActivityStatus, AnswerOf } from "../api/api.ts";
import { useAnswer } from "../api/hooks.ts";
import { Answered } from "../parts/answered.tsx";
import { DayChart } from "../parts/day-chart.tsx";
import { Section } from "../parts/section.tsx";
import { STATUS_WORDS } from "../parts/texts.tsx";

/** What happened in the last days, as the server has counted it. */
export function Charts() {
  const answer = useAnswer("get_activity_counts", {}, { live: true });
  return (
    <Section title="The last 30 days">
      <Answered to={answer}>{(counts) => <All counts={counts} />}</Answered>
    </Section>
  );
}

const COLORS: Record<string, string> = {
  ACTIVITY_STATUS_COMPLETED: "teal-6",
  ACTIVITY_STATUS_REJECTED: "red-8",
  ACTIVITY_STATUS_FAILED: "orange-4",
  DELIVERED: "teal-6",
  FAILED: "red-8",
  CANCELLED: "gray-5",
};

/** `ETHEREUM` is "Ethereum". */
const capitalized = (name: string): string => name.charAt(0) + name.slice(1).toLowerCase();

const METHOD_WORDS: Record<string, string> = {
  STAMP: "Passkey or key",
  CODE: "Code by email or text message",
  OAUTH: "OAuth",
  SESSION: "Session created with a credential",
};

const SIGNATURE_WORDS: Record<string, string> = { PAYLOADS: "Payloads without a known chain", UNKNOWN: "Not known" };

function All({ counts }: { counts: AnswerOf<"get_activity_counts"> }) {
  const { firstDay, lastDay, outcomes, signatures, signIns, webhookDeliveries } = counts;
  const days = daysFrom(firstDay, lastDay);
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
        <DayChart
          title="Activities"
          days={days}
          counts={outcomes}
          label={(name) => STATUS_WORDS[name as ActivityStatus] ?? name}
          colors={COLORS}
        />
        <DayChart
          title="Signatures by chain"
          days={days}
          counts={signatures}
          label={(name) => SIGNATURE_WORDS[name] ?? capitalized(name)}
        />
        <DayChart
          title="Sign-ins"
          days={days}
          counts={signIns}
          label={(name) => METHOD_WORDS[name] ?? capitalized(name)}
        />
        <DayChart
          title="Webhook deliveries"
          days={days}
          counts={webhookDeliveries}
          label={capitalized}
          colors={COLORS}
        />
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        By UTC day, counted some seconds after they happened. Open activities are counted once they are decided.
      </Text>
    </>
  );
}

/** From one day to another, both among them. */
function daysFrom(first: string, last: string): string[] {
  const count = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(first) + index * DAY_MS).toISOString().slice(0, first.length),
  );
}
