import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Json } from "./client.ts";

/**
 * The request and the answer of each operation that the documentation shows. Tests have made them; what comes out otherwise each
 * time (ids, times, keys, signatures, ciphertexts) stands there as an invented value of the same form, so that nothing of a
 * real key is kept, and the same run twice makes the same file.
 */
export interface RecordedExample {
  request: Json;
  answer: Json;
}

const fileOf = (path: string) => new URL(`../../docs/examples/${path}.json`, import.meta.url);

/** Undefined where there is none yet. */
export function readRecorded(path: string): RecordedExample | undefined {
  const file = fileOf(path);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

export const writeRecorded = (path: string, example: RecordedExample): void =>
  writeFileSync(fileOf(path), `${JSON.stringify(example, undefined, 2)}\n`);

/** A copy with invented values; a value that stands in several places is the same in all of them. */
export function withInventedValues(example: RecordedExample): RecordedExample {
  const invented = new Map<string, string>();
  const counts = new Map<Kind, number>();
  const invent = (kind: Kind, text: string): string => {
    if (CONSTANTS.includes(text)) return text;
    const known = invented.get(text);
    if (known !== undefined) return known;
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    const value = kind.invent(text, createHash("sha512").update(`${kind.name} ${count}`).digest());
    invented.set(text, value);
    return value;
  };
  const copy = (value: unknown, key: string): unknown => {
    if (key in fixed) return fixed[key];
    if (Array.isArray(value)) return value.map((item) => copy(item, key));
    if (typeof value === "object" && value !== null) {
      // Other tests deposit in the same vault.
      if ("tvl" in value && value.tvl !== "0") return copy({ ...value, tvl: "0", display: { crypto: "0" } }, key);
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copy(member, name)]));
    }
    if (typeof value !== "string") return value;
    const known = byMember.find(({ members, whole }) => members.includes(key) && whole.test(value));
    if (known) return invent(known, value);
    return kinds.reduce((text, kind) => text.replaceAll(kind.pattern, (part) => invent(kind, part)), value);
  };
  return copy(withoutAppProofs(example), "") as RecordedExample;
}

/** What an answer is where they are not asked for, as is usual: they are long, and `list_app_proofs` shows them. */
function withoutAppProofs({ request, answer }: RecordedExample): RecordedExample {
  const { generateAppProofs: _, ...usual } = request;
  if (!answer.activity) return { request: usual, answer };
  const { appProofs: __, votes, ...activity } = answer.activity;
  const usualVote = (vote: Json) => ({ ...vote, message: vote.message.replace(/,"generateAppProofs":true/, "") });
  return { request: usual, answer: { activity: { ...activity, votes: votes.map(usualVote) } } };
}

/** What stands in the examples itself is the same each time. */
const CONSTANTS = readFileSync(new URL("./examples.ts", import.meta.url), "utf8");

/** Members that are another one each time and do not look it. */
const CODE = "K7Q4Z9XW2";
const fixed: Record<string, unknown> = {
  ...{ nanos: "0", v: "01", durationMs: 25, otpCode: CODE },
  // Shares are worth one unit less where others have deposited before.
  ...{ currentValue: "1000000000", currentValueCrypto: "1000" },
  // Counted a while after it happened, on the day on which the test ran.
  ...{ firstDay: "2025-12-26", lastDay: "2026-01-01" },
  outcomes: [{ day: "2026-01-01", name: "ACTIVITY_STATUS_COMPLETED", count: 3 }],
};

interface Kind {
  name: string;
  /** What of a text is of this kind. */
  pattern: RegExp;
  /** @param bytes 64 that no other value of the kind has */
  invent: (text: string, bytes: Buffer) => string;
}

/** What a member's name tells, as its form is also that of other things. */
const byMember: readonly (Kind & { members: readonly string[]; whole: RegExp })[] = [
  {
    name: "cursor",
    members: ["startCursor", "endCursor", "before", "after"],
    whole: /^(?![0-9a-f-]{36}$)[\w-]{20,}$/,
    pattern: /.+/g,
    invent: (_, bytes) => base64urlOf(bytes, 32),
  },
  {
    name: "address of Solana",
    members: ["address"],
    whole: /^(?=.*[a-z])(?=.*[A-Z])[1-9A-HJ-NP-Za-km-z]{43,44}$/,
    pattern: /.+/g,
    invent: (_, bytes) => base64urlOf(bytes, 44).replace(/[0OIl_-]/g, "1"),
  },
];

const SECONDS = "1767225600";
/** The length of what is longer than any key: signatures in DER vary in theirs, and ciphertexts fill pages. */
const LONG = 144;

const hexOf = (bytes: Buffer, length: number): string => bytes.toString("hex").repeat(3).slice(0, length);
const base64urlOf = (bytes: Buffer, length: number): string => bytes.toString("base64url").repeat(2).slice(0, length);

/** Numbers come without leading zeros; two uncompressed public keys may stand together. */
const hexLength = (length: number): number => {
  if (length > 56 && length < 64) return 64;
  // 258: a secret of Spark in its envelope, whose length is fixed.
  return length > 130 && length !== 258 && length !== 260 ? LONG : length;
};

const kinds: readonly Kind[] = [
  // Within a body that is shown as text.
  { name: "one-time code", pattern: /(?<="otpCode":")[0-9A-Z]{6,9}(?=")/g, invent: () => CODE },
  {
    name: "time in text",
    pattern: /20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g,
    invent: () => "2026-01-01T00:00:00.000Z",
  },
  {
    name: "id",
    pattern: /(?<![0-9a-f])(?!0{8}-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])/g,
    invent: (_, bytes) => {
      const digits = hexOf(bytes, 18);
      return `019b76da-a800-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6)}`;
    },
  },
  { name: "milliseconds", pattern: /(?<![\w.])1[789]\d{11}(?![\w.])/g, invent: () => `${SECONDS}000` },
  { name: "seconds", pattern: /(?<![\w.])1[789]\d{8}(?![\w.])/g, invent: () => SECONDS },
  { name: "port", pattern: /(?<=127\.0\.0\.1:)\d{2,5}(?!\d)/g, invent: () => "8545" },
  {
    name: "hex",
    pattern: /(?<![0-9A-Za-z])(?:0x)?[0-9A-Fa-f]{32,}(?![0-9A-Za-z])/g,
    invent: (text, bytes) => {
      const [, prefix = "", digits = ""] = /^(0x)?(.*)$/.exec(text) ?? [];
      const length = hexLength(digits.length);
      // The first byte of a public key says in which form it is.
      const form = length === 66 || length === 130 ? digits.slice(0, 2).replace("03", "02") : "";
      return prefix + (form + hexOf(bytes, length)).slice(0, length);
    },
  },
  {
    name: "Spark address",
    pattern: /(?<=sparkrt1p)[02-9ac-hj-np-z]{40,}/g,
    invent: (text, bytes) => hexOf(bytes, text.length).replace(/[1b]/g, "q"),
  },
  {
    name: "signature in a URL",
    pattern: /(?<=&signature=)[\w%]{43,}/g,
    invent: (_, bytes) => `${base64urlOf(bytes, 43)}%3D`,
  },
  {
    name: "base58",
    // Bundles: base64 of that length has other signs in it.
    pattern: /(?<![\w+/=-])[1-9A-HJ-NP-Za-km-z]{100,}(?![\w+/=-])/g,
    invent: (_, bytes) => base64urlOf(bytes, LONG).replace(/[0OIl_-]/g, "1"),
  },
  {
    name: "base64",
    // With letters of both kinds: other long words are names.
    pattern:
      /(?<![\w+/=-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?![1-9A-HJ-NP-Za-km-z]{100,}(?![\w+/=-]))[\w+/-]{40,}={0,2}(?![\w+/=-])/g,
    invent: (text, bytes) => base64urlOf(bytes, text.length > 48 ? LONG : text.length),
  },
];
