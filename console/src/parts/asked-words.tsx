import { List, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ParametersOf } from "../api/api.ts";
import { hexOf } from "../bytes.ts";
import { addressOf, type BitcoinOutput, networkOf, readPsbt } from "../chains/bitcoin-transaction.ts";
import { checksummed, readEvmTransaction } from "../chains/evm-transaction.ts";
import {
  programName,
  readSolanaTransaction,
  type SolanaInstruction,
  transferOf,
} from "../chains/solana-transaction.ts";
import { readTempoTransaction, type TempoTransaction } from "../chains/tempo-transaction.ts";
import { readTronTransaction, type TronTransaction, tronAddressOf } from "../chains/tron-transaction.ts";
import { amountWords } from "./amounts.ts";
import { bitcoinUnit, CHAIN_NAMES, nativeOf, TRX, type Unit } from "./chains.ts";
import { callWords, selectorOf } from "./known-calls.ts";
import { payloadSentences, type Sentence } from "./payload-words.tsx";
import { Copyable, Name } from "./texts.tsx";

/** What an activity would do, in a sentence for each thing, where these are known for its type; nothing for the others. */
export function AskedWords({ type, intent }: { type: string; intent: Record<string, unknown> }) {
  const sentences = sentencesOf(type, intent);
  if (sentences.length === 0) return null;
  return (
    <List aria-label="In words">
      {sentences.map(({ key, words }) => (
        <List.Item key={key}>{words}</List.Item>
      ))}
    </List>
  );
}

type Sending = ParametersOf<"eth_send_transaction">;

const isOf = (type: string, path: string): boolean => new RegExp(`^ACTIVITY_TYPE_${path}(_V[0-9]+)?$`).test(type);

function sentencesOf(type: string, intent: Record<string, unknown>): Sentence[] {
  if (isOf(type, "ETH_SEND_TRANSACTION")) return callSentences(intent as Partial<Sending>);
  if (isOf(type, "SIGN_RAW_PAYLOADS?")) return signingSentences(intent);
  const { unsignedTransaction, type: chain, caip2 } = intent;
  if (typeof unsignedTransaction !== "string") return [];
  if (isOf(type, "SOL_SEND_TRANSACTION")) return solanaSentences(unsignedTransaction, String(caip2));
  if (!isOf(type, "SIGN_TRANSACTION")) return [];
  if (chain === "TRANSACTION_TYPE_BITCOIN") return bitcoinSentences(unsignedTransaction, String(intent.signWith));
  if (chain === "TRANSACTION_TYPE_TRON") return tronSentences(unsignedTransaction);
  if (chain === "TRANSACTION_TYPE_TEMPO") return tempoSentences(unsignedTransaction) ?? UNREAD;
  if (chain === "TRANSACTION_TYPE_ETHEREUM") return evmSentences(unsignedTransaction) ?? UNREAD;
  return chain === "TRANSACTION_TYPE_SOLANA" ? solanaSentences(unsignedTransaction, undefined) : [];
}

/** How many payloads of one activity are told. */
const MAX_PAYLOADS_TOLD = 10;

function signingSentences({
  payload,
  payloads = [payload],
  encoding,
  hashFunction,
}: Record<string, unknown>): Sentence[] {
  const texts = (payloads as unknown[]).filter((each) => typeof each === "string");
  const told = texts.slice(0, MAX_PAYLOADS_TOLD).flatMap((text, index) => {
    const isHashed = encoding === "PAYLOAD_ENCODING_HEXADECIMAL" && hashFunction === "HASH_FUNCTION_KECCAK256";
    // A signature to these bytes is a signature to the transaction, whoever asks for it as a payload.
    const sentences =
      (isHashed ? (evmSentences(text) ?? tempoSentences(text)) : undefined) ??
      payloadSentences({ payload: text, encoding, hashFunction });
    return sentences.map(({ key, words }) => ({ key: `${index} ${key}`, words }));
  });
  const left = texts.length - MAX_PAYLOADS_TOLD;
  return left > 0 ? [...told, { key: "left", words: `Signs ${left} more payloads that are not shown here.` }] : told;
}

function callSentences(intent: Partial<Sending>): Sentence[] {
  // An older version has its one call's members beside the others.
  const { caip2, calls = [intent as Sending["calls"][number]] } = intent;
  return calls.map(({ to, value = "0", data = "0x" }, index) => ({
    key: String(index),
    words: <OneCall to={to} value={value} data={data} caip2={caip2 ?? ""} />,
  }));
}

const UNREAD: Sentence[] = [
  {
    key: "unread",
    words: "The transaction could not be read here. Its bytes are shown below; do not approve what you cannot read.",
  },
];

/** So much of a list is told; what is left out is said. */
const MAX_TOLD = 50;

function toldOf<Each>(
  all: readonly Each[],
  words: (each: Each) => ReactNode,
  left: (others: readonly Each[]) => string,
): Sentence[] {
  const others = all.slice(MAX_TOLD);
  return [
    ...all.slice(0, MAX_TOLD).map((each, index) => ({ key: String(index), words: words(each) })),
    ...(others.length > 0 ? [{ key: "left", words: left(others) }] : []),
  ];
}

/** Undefined of what is no such transaction. */
function evmSentences(hex: string): Sentence[] | undefined {
  const read = readEvmTransaction(hex);
  if (!read) return undefined;
  const { to, value, data, chainId, gasLimit, gasPrice, nonce, authorizations } = read;
  // A legacy transaction may name no chain, and is then good on all of them.
  const caip2 = chainId === undefined ? "any chain" : `eip155:${chainId}`;
  const fee = amountWords((BigInt(gasLimit) * BigInt(gasPrice)).toString(), nativeOf(caip2));
  return [
    { key: "call", words: <OneCall to={to} value={value} data={data} caip2={caip2} /> },
    ...authorizationsCarried(authorizations),
    { key: "fee", words: `Pays a fee of ${fee} at most. Its nonce is ${nonce}.` },
  ];
}

const authorizationsCarried = (count: number): Sentence[] =>
  count === 0
    ? []
    : [
        {
          key: "authorizations",
          words: `Carries ${count} ${count === 1 ? "authorization" : "authorizations"} by which accounts get the code of contracts (EIP-7702); they were signed before.`,
        },
      ];

/** Undefined of what is no such transaction. */
function tempoSentences(hex: string): Sentence[] | undefined {
  const read = readTempoTransaction(hex);
  if (!read) return undefined;
  const { calls, chainId, authorizations, permitsKey, nonce, nonceKey } = read;
  return [
    ...toldOf(
      calls,
      (call) => <OneCall {...call} caip2={`eip155:${chainId}`} />,
      ({ length }) => `Makes ${length} more calls that are not shown here.`,
    ),
    ...authorizationsCarried(authorizations),
    ...(permitsKey
      ? [{ key: "key", words: "Contains a permission for another key to sign for the account; it was signed earlier." }]
      : []),
    { key: "fee", words: <TempoFee of={read} /> },
    { key: "nonce", words: `Its nonce is ${nonce}${nonceKey === "0" ? "" : `, of those under the key ${nonceKey}`}.` },
    ...boundSentence("after", read.validAfter),
    ...boundSentence("before", read.validBefore),
  ];
}

const TempoFee = ({ of: { gasLimit, gasPrice, feeToken, hasFeePayer } }: { of: TempoTransaction }) => (
  <Text component="span">
    Takes {gasLimit} units of gas at most, for {gasPrice} each at most, paid{" "}
    {hasFeePayer && "by somebody else who is to sign for it"}
    {!hasFeePayer && feeToken === undefined && "in the token that the account has chosen for fees"}
    {!hasFeePayer && feeToken !== undefined && (
      <>
        in the token <Copyable text={feeToken} label="address" whole />
      </>
    )}
    .
  </Text>
);

/** Dates of a browser end there. */
const MAX_SECONDS = 8_640_000_000_000n;

function boundSentence(side: "after" | "before", seconds: string): Sentence[] {
  if (seconds === "0") return [];
  const isDate = BigInt(seconds) <= MAX_SECONDS;
  const moment = isDate ? new Date(Number(seconds) * 1000).toLocaleString() : `${seconds} seconds since 1970`;
  return [{ key: side, words: `Is valid ${side} ${moment}.` }];
}

function bitcoinSentences(hex: string, signWith: string): Sentence[] {
  const read = readPsbt(hex);
  if (!read) return UNREAD;
  const { inputs, outputs, fee, isProved } = read;
  const network = networkOf(signWith);
  const unit = bitcoinUnit(network !== undefined && network !== "MAINNET");
  const words = (amount: bigint) => amountWords(amount.toString(), unit);
  const sumOf = (some: readonly BitcoinOutput[]) => some.reduce((sum, { amount }) => sum + amount, 0n);
  return [
    ...toldOf(
      outputs,
      (output) => <OneOutput output={output} address={addressOf(output, network ?? "MAINNET")} unit={unit} />,
      (others) => `Sends ${words(sumOf(others))} to ${others.length} more outputs that are not shown here.`,
    ),
    {
      key: "fee",
      words: `Spends ${inputs} ${inputs === 1 ? "input" : "inputs"}. ${
        fee === undefined
          ? "The fee is not known: the amount of an input is missing."
          : `Pays a fee of ${words(fee)}${isProved ? "" : ", if the inputs have the amounts that it states"}.`
      }`,
    },
    ...(network === undefined
      ? [
          {
            key: "network",
            words: "Addresses are shown as on the main network, because the key does not say which network it is for.",
          },
        ]
      : []),
  ];
}

function OneOutput({ output, address, unit }: { output: BitcoinOutput; address: string | undefined; unit: Unit }) {
  const { amount, script } = output;
  return (
    <Text component="span" className="name">
      Sends <b>{amountWords(amount.toString(), unit)}</b> to{" "}
      {address === undefined ? (
        <>
          a script without an address: {script.slice(0, 2 * MAX_BYTES_TOLD)}
          {script.length > 2 * MAX_BYTES_TOLD && "…"}
        </>
      ) : (
        <Copyable text={address} label="address" whole />
      )}
      .
    </Text>
  );
}

function tronSentences(hex: string): Sentence[] {
  const read = readTronTransaction(hex);
  if (!read) return UNREAD;
  const { owner, permission, feeLimit, memo } = read;
  return [
    { key: "contract", words: <OneTronContract of={read} /> },
    ...(memo.length > 0 ? [{ key: "memo", words: `Has a memo of ${memo.length} bytes.` }] : []),
    {
      key: "owner",
      words: (
        <Text component="span">
          It is of the account <Copyable text={owner} label="address" whole />
          {permission !== "0" && `, by its permission ${permission}`}, and burns{" "}
          {feeLimit === "0" ? "no TRX that it names" : `${amountWords(feeLimit, TRX)} at most`} for calling contracts.
        </Text>
      ),
    },
  ];
}

function OneTronContract({ of: { kind, transfer, call } }: { of: TronTransaction }) {
  if (transfer) {
    return (
      <Text component="span">
        {transfer.token === undefined ? (
          <>
            Sends <b>{amountWords(transfer.amount, TRX)}</b>
          </>
        ) : (
          <>
            Transfers {transfer.amount} of the smallest unit of the token <Name>{transfer.token}</Name>
          </>
        )}{" "}
        to <Copyable text={transfer.to} label="address" whole /> on Tron.
      </Text>
    );
  }
  if (!call) {
    return (
      <Text component="span">
        Does something that cannot be put into words here: {kind}. Do not approve what you cannot read.
      </Text>
    );
  }
  const { contract, value, data, tokenValue, token } = call;
  const known = callWords(data);
  return (
    <Text component="span">
      {value !== "0" && (
        <>
          Sends <b>{amountWords(value, TRX)}</b> along.{" "}
        </>
      )}
      {tokenValue !== "0" && `Sends ${tokenValue} of the smallest unit of the token ${token} along. `}
      {known ? (
        <>
          {known.verb} <Copyable text={tronAddressOf(known.address)} label="address" whole /> ({known.amount} of the
          token’s smallest unit){" "}
        </>
      ) : (
        `Calls a function that is not known here (selector ${selectorOf(data)}) `
      )}
      at the contract <Copyable text={contract} label="address" whole /> on Tron.
    </Text>
  );
}

function solanaSentences(hex: string, caip2: string | undefined): Sentence[] {
  const read = readSolanaTransaction(hex);
  if (!read) return UNREAD;
  const { instructions, feePayer } = read;
  return [
    ...toldOf(
      instructions,
      (instruction) => <OneInstruction instruction={instruction} />,
      ({ length }) => `Does ${length} more things that are not shown here.`,
    ),
    {
      key: "fee",
      words: (
        <Text component="span">
          The fee is paid by <Copyable text={feePayer} label="address" whole />
          {caip2 === undefined ? "." : <> on {CHAIN_NAMES[caip2] ?? caip2}.</>}
        </Text>
      ),
    },
  ];
}

/** Which account a table supplies stands on the chain. */
const AddressOf = ({ address }: { address: string | undefined }) =>
  address === undefined ? "an address of a lookup table" : <Copyable text={address} label="address" whole />;

function OneInstruction({ instruction }: { instruction: SolanaInstruction }) {
  const transfer = transferOf(instruction);
  if (!transfer) {
    const { program, accounts, data } = instruction;
    return (
      <Text component="span">
        Calls the program {programName(program) ?? "that is not known here"}{" "}
        <Copyable text={program} label="program" whole /> with {accounts.length} accounts and {data.length} bytes
        {data.length > 0 && `: ${hexOf(data.subarray(0, MAX_BYTES_TOLD))}${data.length > MAX_BYTES_TOLD ? "…" : ""}`}.
      </Text>
    );
  }
  const { amount, to, token } = transfer;
  return (
    <Text component="span">
      {token ? (
        <>
          Transfers {amount} of the smallest unit of a token
          {token.mint !== undefined && (
            <>
              {" "}
              (<Copyable text={token.mint} label="mint" whole />)
            </>
          )}
        </>
      ) : (
        <>
          Sends <b>{amountWords(amount, nativeOf("solana:"))}</b>
        </>
      )}{" "}
      to <AddressOf address={to} />.
    </Text>
  );
}

const MAX_BYTES_TOLD = 32;

interface Called {
  /** Undefined where it makes a contract. */
  to: string | undefined;
  value: string;
  data: string;
  caip2: string;
}

function OneCall({ to, value, data, caip2 }: Called) {
  const call = callWords(data);
  const native = nativeOf(caip2);
  const where = CHAIN_NAMES[caip2] ?? caip2;
  if (to === undefined) {
    return (
      <Text component="span">
        Creates a contract with {amountWords(value, native)} on {where}.
      </Text>
    );
  }
  const isPlain = data === "0x" || data === "";
  return (
    <Text component="span">
      {(isPlain || !/^0*$/.test(value)) && (
        <>
          Sends <b>{amountWords(value || "0", native)}</b> {isPlain ? "to" : "along"}{" "}
        </>
      )}
      {!isPlain &&
        (call ? <>{call.verb} </> : <>Calls a function that is not known here (selector {selectorOf(data)}) </>)}
      {call?.address !== undefined && (
        <>
          <Copyable text={checksummed(call.address.slice(2).toLowerCase())} label="address" whole />{" "}
        </>
      )}
      {call && <>({call.amount} of the token’s smallest unit) </>}
      {!isPlain && "at the contract "}
      <Copyable text={to} label="address" whole /> on {where}.
    </Text>
  );
}
