import { Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import type { ParametersOf, ResultOf } from "../api/api.ts";
import { useSubmit } from "../api/hooks.ts";
import { hexOf } from "../bytes.ts";
import { FormDialog } from "./dialogs.tsx";
import { Copyable, Name } from "./texts.tsx";

/** A key that signs: a private key, or an account of a wallet. */
export interface SigningKey {
  signWith: string;
  curve: "CURVE_SECP256K1" | "CURVE_ED25519" | "CURVE_P256";
  /** Whether messages are signed as Ethereum wallets do it. */
  isEthereum: boolean;
}

/** What is signed of a text: with ERC-191's prefix for Ethereum, plain for Ed25519, its SHA-256 for all else. */
function parametersFor({ signWith, curve, isEthereum }: SigningKey, text: string): ParametersOf<"sign_raw_payload"> {
  if (isEthereum) {
    const message = new TextEncoder().encode(text);
    const prefix = new TextEncoder().encode(`\x19Ethereum Signed Message:\n${message.length}`);
    return {
      signWith,
      payload: hexOf(prefix) + hexOf(message),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    };
  }
  const hashFunction = curve === "CURVE_ED25519" ? "HASH_FUNCTION_NOT_APPLICABLE" : "HASH_FUNCTION_SHA256";
  return { signWith, payload: text, encoding: "PAYLOAD_ENCODING_TEXT_UTF8", hashFunction };
}

const EVM_RECOVERY = 27;

function signatureText({ isEthereum, curve }: SigningKey, { r, s, v }: ResultOf<"sign_raw_payload">): string {
  if (!isEthereum) return curve === "CURVE_SECP256K1" ? r + s + v : r + s;
  return `0x${r}${s}${(Number.parseInt(v, 16) + EVM_RECOVERY).toString(16)}`;
}

const HOW: Record<SigningKey["curve"], string> = {
  CURVE_SECP256K1: "Its SHA-256 is signed; the signature is r, s and v in hex.",
  CURVE_ED25519: "Its UTF-8 bytes are signed as they are; the signature is in hex.",
  CURVE_P256: "Its SHA-256 is signed; the signature is r and s in hex.",
};

export function SignMessage({ signing, onClose }: { signing: SigningKey; onClose: () => void }) {
  const [text, setText] = useState("");
  const sign = useSubmit("sign_raw_payload");
  return (
    <FormDialog
      title="Sign a message"
      act="Sign"
      mutation={sign}
      isReady={text !== ""}
      parameters={() => parametersFor(signing, text)}
      onClose={onClose}
      done={(result) => (
        <Stack gap="xs">
          <Text role="status">Signed:</Text>
          <Text className="name">
            <Name>{text}</Name>
          </Text>
          <Copyable text={signatureText(signing, result)} label="signature" whole />
        </Stack>
      )}
    >
      <Copyable text={signing.signWith} label="key" whole />
      <Textarea
        label="Message"
        description={
          signing.isEthereum
            ? "Signed with the prefix of ERC-191, as `personal_sign` of other wallets."
            : HOW[signing.curve]
        }
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        autosize
        minRows={3}
        maxRows={12}
        required
        data-autofocus
      />
    </FormDialog>
  );
}
