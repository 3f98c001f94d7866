import { Text } from "@mantine/core";
import { bytesOfHex } from "../bytes.ts";
import { NamedIds } from "./named-ids.tsx";
import { Copyable, CopyText, Name } from "./texts.tsx";

/** Any JSON, for reading: names as words, long values that can be copied. Everything is text, whatever it looks like. */
export function Facts({ value }: { value: Record<string, unknown> }) {
  const entries = Object.entries(value);
  if (entries.length === 0) return <Text c="dimmed">Nothing.</Text>;
  return (
    <dl className="facts">
      {entries.map(([name, member]) => (
        <Fact key={name} name={name} value={member} />
      ))}
    </dl>
  );
}

/** Fields whose IDs are those of users and user tags, or that are expressions about them. */
const ABOUT_USERS = /user|approver|tags|consensus|condition/i;

const Fact = ({ name, value }: { name: string; value: unknown }) => (
  <>
    <dt>{nameWords(name)}</dt>
    <dd>
      <Value name={name} value={value} />
    </dd>
  </>
);

/** Longer ones of hex, base58 and the like are copied more often than read. */
const COPIED = /^[0-9a-zA-Z+/=_:.-]{26,}$/;
/** Of a URL, or the reference of an image, who is asked may stand anywhere in it. */
const NAMES_A_HOST = /\.|:\/\//;
const CONSTANT = /^[A-Z0-9]+(_[A-Z0-9]+)+$/;
const MAX_SHOWN = 4000;
const MAX_WHOLE = 72;
const MIN_TEXT_BYTES = 8;
/** What the prefix of its messages begins with, a control character that stands for nothing. */
const ERC_191 = 0x19;

/** What hex says where it is text that can be read, such as a message that is to be signed. */
function textOfHex(hex: string): string | undefined {
  const digits = hex.replace(/^0x/, "");
  if (digits.length < 2 * MIN_TEXT_BYTES || digits.length > MAX_SHOWN) return undefined;
  const bytes = bytesOfHex(digits);
  if (!bytes) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes[0] === ERC_191 ? bytes.subarray(1) : bytes);
    return /[\p{Cc}\p{Co}\p{Cn}]/u.test(text.replaceAll(/[\n\t]/g, "")) ? undefined : text;
  } catch {
    return undefined;
  }
}

function Value({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <Written name={name} value={value} />
      {typeof value === "string" && ABOUT_USERS.test(name) && <NamedIds text={value} />}
    </>
  );
}

function Written({ name, value }: { name: string; value: unknown }) {
  if (Array.isArray(value)) return <Values name={name} values={value} />;
  if (typeof value === "object" && value !== null) return <Facts value={value as Record<string, unknown>} />;
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = value === "" ? "(empty)" : String(value);
  const asText = textOfHex(text);
  if (asText !== undefined) {
    return (
      <>
        <Copyable text={text} label={nameWords(name)} whole={text.length <= MAX_WHOLE} />
        <br />
        <Text component="span" size="sm" c="dimmed">
          as text: <Name>{asText}</Name>
        </Text>
      </>
    );
  }
  if (COPIED.test(text) && !CONSTANT.test(text)) {
    const isWhole = text.length <= MAX_WHOLE || NAMES_A_HOST.test(text);
    return <Copyable text={text} label={nameWords(name)} whole={isWhole} />;
  }
  if (text.length <= MAX_SHOWN) return <Name>{text}</Name>;
  return (
    <>
      <Name>{text.slice(0, MAX_SHOWN)}</Name>… and {text.length - MAX_SHOWN} more characters{" "}
      <CopyText text={text} label={nameWords(name)} />
    </>
  );
}

function Values({ name, values }: { name: string; values: unknown[] }) {
  if (values.length === 0) return <Text c="dimmed">none</Text>;
  if (values.length === 1) return <Value name={name} value={values[0]} />;
  return (
    <ol>
      {values.map((value, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list of a stored activity never changes
        <li key={index}>
          <Value name={name} value={value} />
        </li>
      ))}
    </ol>
  );
}

/** `privateKeyId` is "Private key ID". */
function nameWords(name: string): string {
  const text = name.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
