import { Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { ParametersOf } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { amountWords, smallestOf } from "../parts/amounts.ts";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES, nativeOf } from "../parts/chains.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { Copyable, Name } from "../parts/texts.tsx";

export type SendingChain = ParametersOf<"eth_send_transaction">["caip2"];

interface SendNativeProps {
  from: string;
  caip2: SendingChain;
  onClose: () => void;
}

/** Sends what a chain's fees are paid in, and follows what becomes of it. */
export function SendNative({ from, caip2, onClose }: SendNativeProps) {
  const [to, setTo] = useState("");
  const [amount, setAmount] = useState("");
  const send = useSubmit("eth_send_transaction");
  const unit = nativeOf(caip2);
  const value = smallestOf(amount, unit);
  const isAddress = /^0x[0-9a-f]{40}$/i.test(to.trim());
  return (
    <FormDialog
      title={`Send on ${CHAIN_NAMES[caip2] ?? caip2}`}
      act="Send"
      isDanger
      mutation={send}
      isReady={isAddress && value !== undefined && value !== "0"}
      parameters={() => ({ from, caip2, calls: [{ to: to.trim(), value: value ?? "0" }] })}
      onClose={onClose}
      done={({ sendTransactionStatusId }) => <Sending id={sendTransactionStatusId} />}
    >
      <TextInput
        label="To"
        description="An address on this chain. What is sent there cannot be called back."
        value={to}
        onChange={(event) => setTo(event.currentTarget.value)}
        error={to !== "" && !isAddress ? "An address is 0x and 40 hex digits." : undefined}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <TextInput
        label={`Amount in ${unit.symbol}`}
        value={amount}
        onChange={(event) => setAmount(event.currentTarget.value)}
        error={amount !== "" && value === undefined ? "A number such as 0.25, without an exponent." : undefined}
        inputMode="decimal"
        autoComplete="off"
      />
      {value !== undefined && isAddress && (
        <Text size="sm" role="status">
          Sends {amountWords(value, unit)}, and the fee beside it.
        </Text>
      )}
    </FormDialog>
  );
}

/** What became of it so far. */
function Sending({ id }: { id: string }) {
  const answer = useAnswer("get_send_transaction_status", { sendTransactionStatusId: id }, { live: true });
  return (
    <Answered to={answer}>
      {({ txStatus, eth, error, txError }) => (
        <Stack gap="xs">
          <Text role="status">
            Status: <Name>{txStatus.toLowerCase().replaceAll("_", " ")}</Name>
          </Text>
          {eth?.txHash !== undefined && (
            <Group gap={4}>
              Transaction <Copyable text={eth.txHash} label="transaction" whole />
            </Group>
          )}
          {(error?.message ?? txError) !== undefined && (
            <Text role="alert">
              <Name>{error?.message ?? txError ?? ""}</Name>
            </Text>
          )}
        </Stack>
      )}
    </Answered>
  );
}
