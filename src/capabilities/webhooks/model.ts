import { type Static, Type } from "typebox";
import { checkOutboundUrl, type OutboundPolicy } from "../../delivery/url-rules.ts";
import { List, OneOf, Strict } from "../../engine/fields.ts";
import { fail, KeysteadError } from "../../kernel/errors.ts";
import { parseJson } from "../../kernel/json.ts";

export const eventTypes = [
  "ACTIVITY_UPDATES",
  "BALANCE_CONFIRMED_UPDATES",
  "BALANCE_FINALIZED_UPDATES",
  "SEND_TRANSACTION_STATUS_UPDATES",
  // An extension of this server: an endpoint was disabled because it failed for too long.
  "WEBHOOK_ENDPOINT_UPDATES",
] as const;
export type EventType = (typeof eventTypes)[number];

/** An extension of this server: sent to one endpoint on request, regardless of its subscriptions. Nobody can subscribe to it. */
export const TEST_EVENT = "WEBHOOK_ENDPOINT_TEST";
export type SentEventType = EventType | typeof TEST_EVENT;

/** Only a parent, which pays for these events, may subscribe to them. */
export const billingScopedEventTypes: readonly EventType[] = [
  "BALANCE_CONFIRMED_UPDATES",
  "BALANCE_FINALIZED_UPDATES",
  "SEND_TRANSACTION_STATUS_UPDATES",
];

/** An empty `filtersJson` is the same as none: no filter. */
const Subscription = Strict({
  eventType: OneOf(eventTypes),
  filtersJson: Type.Optional(Type.String({ maxLength: 4096 })),
  isActive: Type.Optional(Type.Boolean()),
});
export type Subscription = Static<typeof Subscription>;
export const Subscriptions = List(Subscription, 20);

export const EndpointUrl = Type.String({ minLength: 1, maxLength: 2048 });

export const WebhookEndpoint = Type.Object(
  {
    endpointId: Type.String(),
    organizationId: Type.String(),
    url: Type.String(),
    name: Type.String(),
    isActive: Type.Boolean(),
    subscriptions: Type.Optional(
      Type.Array(
        Type.Object({
          eventType: Type.String(),
          filtersJson: Type.Optional(Type.String()),
          isActive: Type.Optional(Type.Boolean()),
        }),
      ),
    ),
  },
  { $id: "WebhookEndpoint" },
);
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

/** @throws KeysteadError FIELD_INVALID if the URL may not be called; every delivery checks this again */
export function checkEndpointUrl(url: string, policy: OutboundPolicy): void {
  const checked = checkOutboundUrl(url, policy);
  if ("problem" in checked) fail("FIELD_INVALID", { field: "parameters.url", reason: checked.problem });
}

const filterKeys = ["organizationId", "type", "status", "caip2", "address"] as const;
type FilterKey = (typeof filterKeys)[number];

/** The properties by which an event can be filtered. A filter on a property that the event lacks does not match. */
export type EventFacts = Partial<Record<FilterKey, string>>;
export type Filters = Partial<Record<FilterKey, readonly string[]>>;

const MAX_FILTER_VALUES = 100;

/**
 * Parses `filtersJson`: an object whose members must all match. Each is a string, or a list of strings of which one must match.
 *
 * @throws KeysteadError FIELD_INVALID naming `field`
 */
export function parseFilters(json: string, field: string): Filters {
  const refuse = (reason: string): never => fail("FIELD_INVALID", { field, reason });
  const value = parsed(json, refuse);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("must contain a JSON object");
  const filters: Filters = {};
  for (const [key, allowed] of Object.entries(value)) {
    if (!filterKeys.includes(key as FilterKey))
      refuse(`has an unknown key; the known ones are ${filterKeys.join(", ")}`);
    const list: unknown[] = Array.isArray(allowed) ? allowed : [allowed];
    if (list.length === 0 || list.length > MAX_FILTER_VALUES || !list.every((one) => typeof one === "string")) {
      refuse(`must set \`${key}\` to a string or a list of 1 to ${MAX_FILTER_VALUES} strings`);
    }
    filters[key as FilterKey] = list as string[];
  }
  return filters;
}

function parsed(json: string, refuse: (reason: string) => never): unknown {
  try {
    return parseJson(Buffer.from(json));
  } catch (error) {
    if (error instanceof KeysteadError) return refuse(`must contain a JSON object: ${error.message}`);
    throw error;
  }
}

export const matchesFilters = (filters: Filters, facts: EventFacts): boolean =>
  Object.entries(filters).every(([key, allowed]) => {
    const fact = facts[key as FilterKey];
    return fact !== undefined && allowed.includes(fact);
  });
