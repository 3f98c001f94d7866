import { type Static, Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { noExternalSigner, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PAYLOAD_LENGTH, MAX_PAYLOADS, MAX_TYPED_DATA_LENGTH } from "../../kernel/limits.ts";
import { HashFunction, Payload, PayloadEncoding, SignWith } from "./payloads.ts";
import { signingFacts } from "./policy-facts.ts";
import { checkPayloads, type RawSigning, signPayloads } from "./sign.ts";
import { requireSameKey } from "./store.ts";

const Intent = Strict({
  signWith: SignWith,
  payloads: SomeOf(Payload, MAX_PAYLOADS),
  encoding: PayloadEncoding,
  hashFunction: HashFunction,
  ...noExternalSigner,
});

const signingOf = (intent: Static<typeof Intent>): RawSigning => ({
  ...intent,
  fieldOf: (index) => `parameters.payloads.${index}`,
});

export const signRawPayloads = activity({
  path: "sign_raw_payloads",
  summary:
    "Sign several payloads with one private key or wallet account. The signatures are in the order of the payloads.",
  asks: ["sign"],
  intent: Intent,
  result: Type.Object({
    signatures: Type.Optional(Type.Array(Type.Object({ r: Type.String(), s: Type.String(), v: Type.String() }))),
  }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  policyFacts: (context) => signingFacts(context, signingOf(context.intent)),
  concurrent: true,
  check(intent) {
    const length = intent.payloads.reduce((sum, payload) => sum + payload.length, 0);
    const limit = intent.encoding === "PAYLOAD_ENCODING_EIP712" ? MAX_TYPED_DATA_LENGTH : MAX_PAYLOAD_LENGTH;
    if (length > limit) {
      const reason = `is longer than ${limit} characters in total`;
      fail("FIELD_INVALID", { field: "parameters.payloads", reason });
    }
    checkPayloads(signingOf(intent));
  },
  prepare: (context) => signPayloads(context, signingOf(context.intent)),
  async run({ intent, tx, organization, prepared: { key, signatures } }) {
    await requireSameKey(tx, organization.id, intent.signWith, key);
    return { signatures };
  },
});
