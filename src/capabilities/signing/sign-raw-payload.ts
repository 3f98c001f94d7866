import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, noExternalSigner, Strict } from "../../engine/fields.ts";
import { HashFunction, Payload, PayloadEncoding, SignWith } from "./payloads.ts";
import { signingFacts } from "./policy-facts.ts";
import { checkPayloads, type RawSigning, signPayloads } from "./sign.ts";
import { requireSameKey } from "./store.ts";

const Intent = Strict({
  signWith: SignWith,
  payload: Payload,
  encoding: PayloadEncoding,
  hashFunction: HashFunction,
  ...noExternalSigner,
});
const IntentV1 = Strict({ privateKeyId: Id, payload: Payload, encoding: PayloadEncoding, hashFunction: HashFunction });

const signingOf = ({ payload, ...rest }: Static<typeof Intent>): RawSigning => ({
  ...rest,
  payloads: [payload],
  fieldOf: () => "parameters.payload",
});

export const signRawPayload = activity({
  path: "sign_raw_payload",
  summary: "Sign one payload with a private key or a wallet account. The address that names it determines the scheme.",
  asks: ["sign"],
  version: 2,
  intent: Intent,
  result: Type.Object({ r: Type.String(), s: Type.String(), v: Type.String() }),
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ privateKeyId, ...rest }: Static<typeof IntentV1>) => ({ signWith: privateKeyId, ...rest }),
    },
  },
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: (context) => signingFacts(context, signingOf(context.intent)),
  concurrent: true,
  check: (intent) => void checkPayloads(signingOf(intent)),
  prepare: (context) => signPayloads(context, signingOf(context.intent)),
  async run({ intent, tx, organization, prepared: { key, signatures } }) {
    await requireSameKey(tx, organization.id, intent.signWith, key);
    return signatures[0] as (typeof signatures)[number];
  },
});
