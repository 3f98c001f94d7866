import { Group, Stack, Text, TextInput } from "@mantine/core";
import { type Query, type UseMutationResult, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ParametersOf, SubmittedActivity } from "../api/api.ts";
import { useAnswer, useSubmit } from "../api/hooks.ts";
import { isSolanaAddress, MAX_LAMPORTS, solTransfer } from "../chains/solana-transaction.ts";
import { amountWords, smallestOf } from "../parts/amounts.ts";
import { Answered } from "../parts/answered.tsx";
import { CHAIN_NAMES, nativeOf } from "../parts/chains.ts";
import { FormDialog } from "../parts/dialogs.tsx";
import { Copyable, Name } from "../parts/texts.tsx";

export type EvmChain = ParametersOf<"eth_send_transaction">["caip2"];
export type SolanaChain = ParametersOf<"sol_send_transaction">["caip2"];

interface SendProps<Chain> {
  from: string;
  caip2: Chain;
  onClose: () => void;
}

/** Sends what an Ethereum chain's fees are paid in, and follows what becomes of it. */
export function SendEvm({ from, caip2, onClose }: SendProps<EvmChain>) {
  const send = useSubmit("eth_send_transaction");
  return (
    <SendDialog
      caip2={caip2}
      mutation={send}
      isAddress={(to) => /^0x[0-9a-f]{40}$/i.test(to)}
      addressHelp="An address is 0x and 40 hex digits."
      parameters={({ to, value }) => ({ from, caip2, calls: [{ to, value }] })}
      onClose={onClose}
    />
  );
}

/** Sends SOL, and follows what becomes of it. The server puts a blockhash into the transaction. */
export function SendSolana({ from, caip2, onClose }: SendProps<SolanaChain>) {
  const send = useSubmit("sol_send_transaction");
  return (
    <SendDialog
      caip2={caip2}
      mutation={send}
      isAddress={isSolanaAddress}
      addressHelp="An address is 32 bytes in base58."
      most={MAX_LAMPORTS}
      parameters={({ to, value }) => ({
        caip2,
        signWiths: [from],
        unsignedTransaction: solTransfer({ from, to, lamports: BigInt(value) }),
      })}
      onClose={onClose}
    />
  );
}

interface Payment {
  to: string;
  /** Of the smallest unit. */
  value: string;
}

interface SendDialogProps<Parameters> {
  caip2: string;
  mutation: UseMutationResult<SubmittedActivity<{ sendTransactionStatusId: string }>, Error, Parameters>;
  isAddress: (text: string) => boolean;
  /** What an address is, for those who typed something else. */
  addressHelp: string;
  /** Of the smallest unit: what fits into a transaction. */
  most?: bigint;
  parameters: (payment: Payment) => Parameters;
  onClose: () => void;
}

function SendDialog<Parameters>(props: SendDialogProps<Parameters>) {
  const { caip2, mutation, isAddress, addressHelp, most, parameters, onClose } = props;
  const [typedTo, setTo] = useState("");
  const [amount, setAmount] = useState("");
  const unit = nativeOf(caip2);
  const to = typedTo.trim();
  const typed = smallestOf(amount, unit);
  const value = typed !== undefined && most !== undefined && BigInt(typed) > most ? undefined : typed;
  const isGood = isAddress(to);
  return (
    <FormDialog
      title={`Send on ${CHAIN_NAMES[caip2] ?? caip2}`}
      act="Send"
      isDanger
      mutation={mutation}
      isReady={isGood && value !== undefined && value !== "0"}
      parameters={() => parameters({ to, value: value ?? "0" })}
      onClose={onClose}
      done={({ sendTransactionStatusId }) => <Sending id={sendTransactionStatusId} />}
    >
      <TextInput
        label="To"
        description="An address on this chain. What is sent there cannot be recovered."
        value={typedTo}
        onChange={(event) => setTo(event.currentTarget.value)}
        error={to !== "" && !isGood ? addressHelp : undefined}
        required
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
        required
        autoComplete="off"
      />
      {value !== undefined && isGood && (
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
  const queries = useQueryClient();
  const status = answer.data?.txStatus;
  // What was sent is gone from the balances behind.
  useEffect(() => {
    if (status === undefined) return;
    const isOther = ({ queryKey }: Query) => !queryKey.includes("get_send_transaction_status");
    void queries.invalidateQueries({ predicate: isOther });
  }, [status, queries]);
  return (
    <Answered to={answer}>
      {({ txStatus, eth, solana, error, txError }) => (
        <Stack gap="xs">
          <Text role="status">
            Status: <Name>{txStatus.toLowerCase().replaceAll("_", " ")}</Name>
          </Text>
          <Transaction hash={eth?.txHash ?? solana?.signature} />
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

const Transaction = ({ hash }: { hash: string | undefined }) =>
  hash !== undefined && (
    <Group gap={4}>
      Transaction <Copyable text={hash} label="transaction" whole />
    </Group>
  );
