import { type Static, Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { MAX_DAYS_TOLD } from "../../kernel/limits.ts";
import { prepared } from "../../storage/prepared.ts";
import { dayOf, type Source } from "./count-by-day.ts";

const DEFAULT_DAYS = 30;

const DailyCount = Type.Object(
  {
    day: Type.String({ description: "Such as 2026-11-22, in UTC." }),
    name: Type.String(),
    count: Type.Integer(),
  },
  { $id: "DailyCount" },
);
type DailyCount = Static<typeof DailyCount>;

const counts = (description: string) => Type.Array(DailyCount, { description });

/** The chain of each signing operation, by its path. For `sign_transaction`, the transaction tells the chain. */
const CHAINS: Record<string, string> = {
  eth_send_transaction: "ETHEREUM",
  eth_send_raw_transaction: "ETHEREUM",
  eth_undelegate_7702: "ETHEREUM",
  sol_send_transaction: "SOLANA",
  spark_sign_frost: "SPARK",
  sign_transaction: "UNKNOWN",
  sign_raw_payload: "PAYLOADS",
  sign_raw_payloads: "PAYLOADS",
};

/** The method of each sign-in operation, by its path. */
const METHODS: Record<string, string> = {
  stamp_login: "STAMP",
  otp_login: "CODE",
  otp_auth: "CODE",
  oauth_login: "OAUTH",
  oauth: "OAUTH",
  create_read_write_session: "SESSION",
  create_read_only_session: "SESSION",
};

export const getActivityCounts = query({
  path: "get_activity_counts",
  isExtension: true,
  summary:
    "Get how many activities were decided on each of the last days, with signatures by chain, sign-ins, and webhook deliveries. They are counted some seconds after they happened. An extension of this server.",
  needs: ["registry"],
  request: Type.Object({
    organizationId: Id,
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_DAYS_TOLD,
        description: "how many days, including today; 30 by default",
      }),
    ),
  }),
  response: Type.Object({
    firstDay: Type.String(),
    lastDay: Type.String(),
    outcomes: counts("Activities by the status that they ended in; those that wait are not among them."),
    signatures: counts("Completed activities that sign, by chain; PAYLOADS where no chain is known."),
    signIns: counts("Completed activities that sign somebody in, by how."),
    webhookDeliveries: counts("By what became of them."),
  }),
  async run({ request, read, organization: { id: organizationId }, now, registry }) {
    const { days = DEFAULT_DAYS } = request;
    const lastDay = dayOf(now);
    const firstDay = lastDay - days + 1;
    const of = { organizationId, firstDay };
    const [outcomes, types] = await Promise.all([selectOutcomes(read, of), selectTypes(read, of)]);
    const outcomesOf = (source: Source) =>
      outcomes.filter((row) => row.source === source).map((row) => ({ ...row, name: row.outcome }));
    const named = (names: Record<string, string>) =>
      types.flatMap(({ day, type, detail, count }) => {
        const path = registry.findActivityOfType(type)?.operation.path ?? "";
        const name = names[path];
        if (name === undefined) return [];
        return { day, count, name: detail === "" ? name : detail.replace("TRANSACTION_TYPE_", "") };
      });
    return {
      firstDay: dayText(firstDay),
      lastDay: dayText(lastDay),
      outcomes: summed(outcomesOf("ACTIVITY")),
      signatures: summed(named(CHAINS)),
      signIns: summed(named(METHODS)),
      webhookDeliveries: summed(outcomesOf("DELIVERY")),
    };
  },
});

const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, "2026-11-22".length);

interface Counted {
  day: number;
  name: string;
  count: number;
}

/** One entry per day and name, sorted by both. */
function summed(rows: readonly Counted[]): DailyCount[] {
  const sums = new Map<string, Counted>();
  for (const { day, name, count } of rows) {
    const key = `${day} ${name}`;
    sums.set(key, { day, name, count: (sums.get(key)?.count ?? 0) + Number(count) });
  }
  return [...sums.values()]
    .sort((one, other) => one.day - other.day || (one.name < other.name ? -1 : 1))
    .map(({ day, name, count }) => ({ day: dayText(day), name, count }));
}

interface Days extends Record<string, unknown> {
  organizationId: string;
  firstDay: number;
}

const selectOutcomes = prepared<Days>()((db, { organizationId, firstDay }) =>
  db
    .selectFrom("daily_counts")
    .select((row) => ["day", "source", "outcome", row.fn.sum<number>("count").as("count")])
    .where("organization_id", "=", organizationId)
    .where("day", ">=", firstDay)
    .groupBy(["day", "source", "outcome"]),
);

/** Bounded: an organization's types are at most as many as the operations. */
const selectTypes = prepared<Days>()((db, { organizationId, firstDay }) =>
  db
    .selectFrom("daily_counts")
    .select((row) => ["day", "type", "detail", row.fn.sum<number>("count").as("count")])
    .where("organization_id", "=", organizationId)
    .where("day", ">=", firstDay)
    .where("outcome", "=", "ACTIVITY_STATUS_COMPLETED")
    .groupBy(["day", "type", "detail"]),
);
