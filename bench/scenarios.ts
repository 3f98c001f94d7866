import { randomBytes } from "node:crypto";

/** What is measured. The floor gets the very same requests. */
export const scenarioNames = ["read", "write", "sign"] as const;
export type ScenarioName = (typeof scenarioNames)[number];
/** What `npm run bench -- signing` measures, each with a key that fits. */
export const signingNames = [
  "sign_secp256k1",
  "sign_p256",
  "sign_ed25519",
  "transaction_ethereum",
  "transaction_solana",
  "transaction_tron",
  "transaction_bitcoin",
  "transaction_tempo",
] as const;
export type SigningName = (typeof signingNames)[number];
export type AnyScenario = ScenarioName | SigningName;

/** What requests name, as the product made it at its first start. */
export interface Subject {
  organizationId: string;
  userId: string;
  /** A secp256k1 key, unless the scenario says otherwise. */
  privateKeyId: string;
  /** Hex, of the scenarios that sign one. */
  unsignedTransaction?: string;
}

interface Scenario {
  path: string;
  /** The body of request number `index`. The same activity twice would be one; a read may repeat. */
  body: (subject: Subject, index: number) => unknown;
}

const rawPayload = (hashFunction: string): Scenario => ({
  path: "/public/v1/submit/sign_raw_payload",
  body: ({ organizationId, privateKeyId }, index) => ({
    type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
    timestampMs: timestamp(index),
    organizationId,
    parameters: {
      signWith: privateKeyId,
      // A digest that the client made, as wallets send it.
      payload: randomBytes(32).toString("hex"),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction,
    },
  }),
});

const transaction = (chain: string): Scenario => ({
  path: "/public/v1/submit/sign_transaction",
  body: ({ organizationId, privateKeyId: signWith, unsignedTransaction }, index) => ({
    type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
    // The transaction is always the same; the place in the numbering makes it another activity.
    timestampMs: timestamp(index),
    organizationId,
    parameters: { signWith, unsignedTransaction, type: `TRANSACTION_TYPE_${chain}` },
  }),
});

export const scenarios: Record<AnyScenario, Scenario> = {
  read: {
    path: "/public/v1/query/whoami",
    body: ({ organizationId }) => ({ organizationId }),
  },
  write: {
    path: "/public/v1/submit/update_user_name",
    body: ({ organizationId, userId }, index) => ({
      type: "ACTIVITY_TYPE_UPDATE_USER_NAME",
      timestampMs: timestamp(index),
      organizationId,
      parameters: { userId, userName: `Benchmark user ${index}` },
    }),
  },
  sign: rawPayload("HASH_FUNCTION_NO_OP"),
  sign_secp256k1: rawPayload("HASH_FUNCTION_NO_OP"),
  sign_p256: rawPayload("HASH_FUNCTION_NO_OP"),
  sign_ed25519: rawPayload("HASH_FUNCTION_NOT_APPLICABLE"),
  transaction_ethereum: transaction("ETHEREUM"),
  transaction_solana: transaction("SOLANA"),
  transaction_tron: transaction("TRON"),
  transaction_bitcoin: transaction("BITCOIN"),
  transaction_tempo: transaction("TEMPO"),
};

/** Spread over the last ten minutes, well inside what servers accept. */
const timestamp = (index: number): string => String(Date.now() - (index % 600_000));
