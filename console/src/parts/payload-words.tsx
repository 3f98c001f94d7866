import { Code, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { bytesOfHex, hexOf } from "../bytes.ts";
import { type Authorization, authorizationIn, readAuthorization } from "../chains/authorization.ts";
import { personalMessageIn, readTypedData, type TypedMember, textOf } from "../chains/signed-messages.ts";
import { CHAIN_NAMES } from "./chains.ts";
import { Copyable, Name } from "./texts.tsx";

/** What a raw payload is that is to be signed, in a sentence for each thing. */

export interface Sentence {
  key: string;
  words: ReactNode;
}

/** A payload of `sign_raw_payload`, with what says how it is read. */
export interface RawPayload {
  payload: string;
  /** `PAYLOAD_ENCODING_…` */
  encoding: unknown;
  /** `HASH_FUNCTION_…` */
  hashFunction: unknown;
}

/** Whichever way its bytes are written: those of a hash may well be text. */
const HASH: Sentence[] = [
  {
    key: "hash",
    words: "Signs a hash. It is not known here what was hashed; do not approve what you cannot read.",
  },
];

export function payloadSentences({ payload, encoding, hashFunction }: RawPayload): Sentence[] {
  if (encoding === "PAYLOAD_ENCODING_EIP712") return typedDataSentences(payload);
  if (encoding === "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION") return authorizationSentences(readAuthorization(payload));
  if (encoding === "PAYLOAD_ENCODING_TEXT_UTF8") {
    return hashFunction === "HASH_FUNCTION_NO_OP" ? HASH : [{ key: "text", words: <OneText text={payload} /> }];
  }
  if (encoding !== "PAYLOAD_ENCODING_HEXADECIMAL") return [];
  const bytes = bytesOfHex(payload.replace(/^0x/i, ""));
  if (!bytes) return [];
  if (hashFunction === "HASH_FUNCTION_NO_OP") return HASH;
  const isHashed = hashFunction === "HASH_FUNCTION_KECCAK256";
  const authorization = isHashed ? authorizationIn(bytes) : undefined;
  if (authorization) return authorizationSentences(authorization);
  const message = isHashed ? personalMessageIn(bytes) : undefined;
  if (!message) return [{ key: "bytes", words: <Bytes what="Signs" bytes={bytes} /> }];
  const text = textOf(message);
  const what = "Signs as a personal message of an Ethereum wallet";
  const words = text === undefined ? <Bytes what={what} bytes={message} /> : <OneText what={what} text={text} />;
  return [{ key: "personal", words }];
}

/** How much of a text is told. */
const MAX_TEXT_TOLD = 2000;
const MAX_VALUE_TOLD = 200;
const MAX_BYTES_TOLD = 64;

/** The beginning of a text; no character is cut in two. */
const beginningOf = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, "");

function Cut({ text, length }: { text: string; length: number }) {
  const told = beginningOf(text, length);
  const left = text.length - told.length;
  return (
    <>
      <Name>{told}</Name>
      {left > 0 && ` … and ${left} more characters`}
    </>
  );
}

/** Its lines stand apart from the sentences, which they could otherwise pass for. */
const OneText = ({ what = "Signs", text }: { what?: string; text: string }) => (
  <>
    <Text component="span">{what} the text:</Text>
    <Code block className="bytes" tabIndex={0} aria-label="Text to be signed">
      <Cut text={text} length={MAX_TEXT_TOLD} />
    </Code>
  </>
);

const Bytes = ({ what, bytes }: { what: string; bytes: Uint8Array }) => (
  <Text component="span" className="name">
    {what} {bytes.length} bytes that are not read here: {hexOf(bytes.subarray(0, MAX_BYTES_TOLD))}
    {bytes.length > MAX_BYTES_TOLD && "…"}
  </Text>
);

const NO_CODE = `0x${"0".repeat(40)}`;
const EVERY_CHAIN = "0";

function authorizationSentences(authorization: Authorization | undefined): Sentence[] {
  if (!authorization) {
    const words = "The authorization could not be read here. It is shown below; do not approve what you cannot read.";
    return [{ key: "unread", words }];
  }
  const { address, chainId, nonce } = authorization;
  const caip2 = `eip155:${chainId}`;
  const where = chainId === EVERY_CHAIN ? "every chain" : (CHAIN_NAMES[caip2] ?? caip2);
  const words =
    address === NO_CODE ? (
      `Takes back the code that the account was given on ${where} (EIP-7702).`
    ) : (
      <Text component="span">
        Gives the account the code of the contract <Copyable text={address} label="address" whole /> on {where}{" "}
        (EIP-7702). From then on that code decides who may move what the account holds.
      </Text>
    );
  return [
    { key: "code", words },
    { key: "nonce", words: `Counts where the account’s nonce is ${nonce}.` },
  ];
}

function typedDataSentences(json: string): Sentence[] {
  const read = readTypedData(json);
  if (!read) {
    const words = "The typed data could not be read here. It is shown below; do not approve what you cannot read.";
    return [{ key: "unread", words }];
  }
  const { primaryType, domain, message, isCut } = read;
  return [
    {
      key: "type",
      words: (
        <Text component="span">
          Signs typed data (EIP-712): <Cut text={primaryType} length={MAX_VALUE_TOLD} />
        </Text>
      ),
    },
    ...domain.map((member) => ({
      key: `domain ${member.path}`,
      words: <OneMember of="Domain, " member={member} note={chainOf(member)} />,
    })),
    ...message.map((member) => ({ key: `message ${member.path}`, words: <OneMember member={member} /> })),
    ...(isCut ? [{ key: "cut", words: "It has more members, which are not shown here." }] : []),
  ];
}

const chainOf = ({ path, type, value }: TypedMember): string | undefined =>
  path === "chainId" && type === "uint256" ? CHAIN_NAMES[`eip155:${value}`] : undefined;

const OneMember = ({ of = "", member, note }: { of?: string; member: TypedMember; note?: string | undefined }) => (
  <Text component="span" className="name">
    {of}
    <Cut text={member.path} length={MAX_VALUE_TOLD} />: <Cut text={member.value} length={MAX_VALUE_TOLD} />
    {note !== undefined && ` (${note})`}
  </Text>
);
