import { Badge, Code, CopyButton, Group, Text, UnstyledButton } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/durations.ts";
import { type ActivityStatus, dateOf, type Schemas } from "../api/api.ts";
import { visibleText } from "./visible-text.ts";

/** Small pieces of text that stand in many places. */

/**
 * What somebody named something. It may be anything: it is text, in a direction of its own, whose every character is seen, and never a
 * link or markup.
 */
export const Name = ({ children }: { children: string }) => <bdi className="name">{visibleText(children)}</bdi>;

const SHORT_BEGIN = 10;
const SHORT_END = 6;

const shortened = (text: string): string =>
  text.length > SHORT_BEGIN + SHORT_END + 1 ? `${text.slice(0, SHORT_BEGIN)}…${text.slice(-SHORT_END)}` : text;

/** An identifier, a key or an address, with a button that copies all of it. */
export function Copyable({ text, label, whole = false }: { text: string; label: string; whole?: boolean }) {
  return (
    <Group gap={6} wrap="nowrap" component="span" display="inline-flex" maw="100%">
      <Code className={whole ? "name" : "short"} title={visibleText(text)} color="transparent">
        {visibleText(whole ? text : shortened(text))}
      </Code>
      <CopyText text={text} label={label} />
    </Group>
  );
}

export const CopyText = ({ text, label }: { text: string; label: string }) => (
  <CopyButton value={text}>
    {({ copied, copy }) => (
      <UnstyledButton onClick={copy} aria-label={`Copy ${label}`} fz="xs" td="underline" flex="none">
        {copied ? "Copied" : "Copy"}
      </UnstyledButton>
    )}
  </CopyButton>
);

const UNITS: [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", MINUTE_MS],
  ["second", 1000],
];
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const DAYS_TOLD = 30;

/** Whoever shows how long ago something was looks again so often, all at once. */
const TICK_MS = 1000;
const watchers = new Set<() => void>();
let clock: ReturnType<typeof setInterval> | undefined;

function onTick(look: () => void): () => void {
  watchers.add(look);
  clock ??= setInterval(() => {
    for (const each of watchers) each();
  }, TICK_MS);
  return () => {
    watchers.delete(look);
    if (watchers.size > 0) return;
    clearInterval(clock);
    clock = undefined;
  };
}

function agoOf(date: Date): string {
  const past = date.getTime() - Date.now();
  const [unit, ms] = UNITS.find(([, each]) => Math.abs(past) >= each) ?? (["second", 1000] as const);
  if (unit === "day" && Math.abs(past) > DAYS_TOLD * ms) return date.toLocaleDateString();
  return relative.format(Math.round(past / ms), unit);
}

/** How long ago, which goes on by itself; in the reader's zone when pointed at. */
export function When({ at }: { at: string | Schemas["Timestamp"] }) {
  const date = dateOf(at);
  const ago = useSyncExternalStore(onTick, () => agoOf(date));
  return (
    <time dateTime={date.toISOString()} title={exact.format(date)}>
      {ago}
    </time>
  );
}

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** When exactly, in the reader's zone. */
export const momentWords = (at: string | Schemas["Timestamp"]): string => whole.format(dateOf(at));

/** The same, and how long ago that is: where there is room for both. */
export const Moment = ({ at }: { at: string | Schemas["Timestamp"] }) => (
  <>
    {momentWords(at)} (<When at={at} />)
  </>
);

/** As the reader says them. */
export const STATUS_WORDS: Record<ActivityStatus, string> = {
  ACTIVITY_STATUS_CREATED: "Created",
  ACTIVITY_STATUS_PENDING: "In progress",
  ACTIVITY_STATUS_COMPLETED: "Completed",
  ACTIVITY_STATUS_FAILED: "Failed",
  ACTIVITY_STATUS_CONSENSUS_NEEDED: "Waits for approvals",
  ACTIVITY_STATUS_REJECTED: "Rejected",
  ACTIVITY_STATUS_AUTHENTICATORS_NEEDED: "Waits for credentials",
};

const STATUS_COLORS: Partial<Record<ActivityStatus, string>> = {
  ACTIVITY_STATUS_COMPLETED: "teal",
  ACTIVITY_STATUS_FAILED: "red",
  ACTIVITY_STATUS_REJECTED: "red",
  ACTIVITY_STATUS_CONSENSUS_NEEDED: "yellow",
  ACTIVITY_STATUS_AUTHENTICATORS_NEEDED: "yellow",
};

export const StatusMark = ({ status }: { status: ActivityStatus }) => (
  <Mark color={STATUS_COLORS[status] ?? "gray"}>{STATUS_WORDS[status]}</Mark>
);

/** The colour only repeats what the words say. */
export const Mark = ({ color, children }: { color: string; children: string }) => (
  <Badge
    variant="default"
    tt="none"
    miw="max-content"
    fw={500}
    leftSection={
      <Text component="span" c={`${color}.6`} aria-hidden>
        {"●"}
      </Text>
    }
  >
    {children}
  </Badge>
);

const SPELLINGS: Record<string, string> = {
  api: "API",
  eth: "Ethereum",
  sol: "Solana",
  otp: "code",
  oauth: "OAuth",
  mfa: "MFA",
  ip: "IP",
  tvc: "TVC",
};

/** `ACTIVITY_TYPE_CREATE_API_KEYS_V2` is "Create API keys". */
export function typeWords(type: string): string {
  const words = type
    .replace(/^ACTIVITY_TYPE_/, "")
    .replace(/_V[0-9]+$/, "")
    .toLowerCase()
    .split("_");
  const text = words.map((word) => SPELLINGS[word] ?? word).join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The same, with the API's constant when pointed at. */
export const TypeName = ({ type }: { type: string }) => <span title={type}>{typeWords(type)}</span>;

/** `ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR` is "Bitcoin mainnet P2TR". */
export function wordsOf(constant: string, prefix: string): string {
  const words = constant.replace(prefix, "").split("_");
  const text = words.map((word) => (/[0-9]/.test(word) || word.length < 4 ? word : word.toLowerCase())).join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
