import { List, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ParametersOf } from "../api/api.ts";
import { amountWords } from "./amounts.ts";
import { CHAIN_NAMES, nativeOf } from "./chains.ts";

import { callWords } from "./known-calls.ts";
import { Copyable } from "./texts.tsx";

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

interface Sentence {
  key: string;
  words: ReactNode;
}

type Sending = ParametersOf<"eth_send_transaction">;

function sentencesOf(type: string, intent: Record<string, unknown>): Sentence[] {
  if (!/^ACTIVITY_TYPE_ETH_SEND_TRANSACTION(_V[0-9]+)?$/.test(type)) return [];
  // An older version has its one call's members beside the others.
  const { caip2, calls = [intent as Sending["calls"][number]] } = intent as Partial<Sending>;
  return calls.map(({ to, value = "0", data = "0x" }, index) => ({
    key: String(index),
    words: <OneCall to={to} value={value} data={data} caip2={caip2 ?? ""} />,
  }));
}

function OneCall({ to, value, data, caip2 }: { to: string; value: string; data: string; caip2: string }) {
  const call = callWords(data);
  const native = nativeOf(caip2);
  const isPlain = data === "0x" || data === "";
  return (
    <Text component="span">
      {(isPlain || !/^0*$/.test(value)) && (
        <>
          Sends <b>{amountWords(value || "0", native)}</b> {isPlain ? "to" : "along"}{" "}
        </>
      )}
      {!isPlain &&
        (call ? <>{call.verb} </> : <>Calls a function that is not known here (selector {data.slice(0, 10)}) </>)}
      {call?.address !== undefined && (
        <>
          <Copyable text={call.address} label="address" whole />{" "}
        </>
      )}
      {call && <>({call.amount} of the token’s smallest unit) </>}
      {!isPlain && "at the contract "}
      <Copyable text={to} label="address" whole /> on {CHAIN_NAMES[caip2] ?? caip2}.
    </Text>
  );
}
