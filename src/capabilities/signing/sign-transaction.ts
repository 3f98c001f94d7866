import { type Static, Type } from "typebox";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PSBT_BYTES } from "../../kernel/limits.ts";
import { SignWith } from "./payloads.ts";
import { askSigner, type Signature } from "./sign.ts";
import { findSigningKey, lookUpSigningKey, requireSameKey, signingKeyFacts } from "./store.ts";
import { parseTransactionOf, type SigningTask, transactionTypes } from "./transactions.ts";

/** The largest kind of all, in hex; each chain has its own bound below. */
const UnsignedTransaction = Type.String({ minLength: 2, maxLength: 2 * MAX_PSBT_BYTES + 2 });
const TransactionType = OneOf(transactionTypes);

const Intent = Strict({ signWith: SignWith, unsignedTransaction: UnsignedTransaction, type: TransactionType });
const IntentV1 = Strict({ privateKeyId: Id, unsignedTransaction: UnsignedTransaction, type: TransactionType });
type Intent = Static<typeof Intent>;

export const signTransaction = activity({
  path: "sign_transaction",
  summary: "Sign a transaction of a chain; what is signed is parsed, and policies see it.",
  asks: ["sign"],
  version: 2,
  intent: Intent,
  result: Type.Object({ signedTransaction: Type.String() }),
  versions: {
    1: {
      intent: IntentV1,
      upgrade: ({ privateKeyId, ...rest }: Static<typeof IntentV1>) => ({ signWith: privateKeyId, ...rest }),
    },
  },
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "SIGN" }),
  async policyFacts({ intent: { signWith, unsignedTransaction, type }, read, organization }) {
    const key = await lookUpSigningKey(read, organization.id, signWith);
    const transaction = parseTransactionOf(type, unsignedTransaction);
    const fits = key?.curve === transaction.curve ? key : undefined;
    return {
      ...(await signingKeyFacts(read, organization.id, signWith)),
      ...(await transaction.facts(read, organization.id, fits)),
    };
  },
  unordered: true,
  check: ({ type, unsignedTransaction }) => void parseTransactionOf(type, unsignedTransaction),
  prepare,
  async run({ intent, tx, organization, prepared: { key, signedTransaction } }) {
    await requireSameKey(tx, organization.id, intent.signWith, key);
    return { signedTransaction };
  },
});

async function prepare(context: PrepareContext<Intent, "sign">) {
  const { signWith, unsignedTransaction, type } = context.intent;
  const key = await findSigningKey(context.read, context.organization.id, signWith);
  const transaction = parseTransactionOf(type, unsignedTransaction);
  if (key.curve !== transaction.curve) {
    const reason = `names a key of ${key.curve}, and ${type} takes one of ${transaction.curve}`;
    fail("FIELD_INVALID", { field: "parameters.signWith", reason });
  }
  const tasks = transaction.tasks(key);
  const signatures: Signature[] = new Array(tasks.length);
  for (const [scheme, group] of Map.groupBy(tasks.entries(), ([, task]) => task.scheme)) {
    const payloads = group.map(([, { payload }]: [number, SigningTask]) => payload);
    const made = await askSigner(context, key, { scheme, hash: "none", payloads });
    for (const [at, [index]] of group.entries()) signatures[index] = made[at] as Signature;
  }
  return { key, signedTransaction: transaction.assemble(key, signatures).toString("hex") };
}
