import { type Static, Type } from "typebox";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { Id, noExternalSigner, OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PSBT_BYTES } from "../../kernel/limits.ts";
import { turn } from "../../kernel/turns.ts";
import { SignWith } from "./payloads.ts";
import { askSigner, type Signature } from "./sign.ts";
import { findSigningKey, lookUpSigningKey, requireSameKey, signingKeyFacts } from "./store.ts";
import { type ChainTransaction, parseTransactionOf, type SigningTask, transactionTypes } from "./transactions.ts";

/** In hex. The bound is that of the largest kind, a PSBT; each chain's parser has a bound of its own. */
const UnsignedTransaction = Type.String({ minLength: 2, maxLength: 2 * MAX_PSBT_BYTES + 2 });
const TransactionType = OneOf(transactionTypes);

const Intent = Strict({
  signWith: SignWith,
  unsignedTransaction: UnsignedTransaction,
  type: TransactionType,
  ...noExternalSigner,
});
const IntentV1 = Strict({ privateKeyId: Id, unsignedTransaction: UnsignedTransaction, type: TransactionType });
type Intent = Static<typeof Intent>;

export const signTransaction = activity({
  path: "sign_transaction",
  summary: "Sign a transaction. The transaction is parsed, and policies see its content.",
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
  async policyFacts({ intent, read, organization }) {
    const { signWith } = intent;
    const key = await lookUpSigningKey(read, organization.id, signWith);
    const transaction = transactionOf(intent);
    const fits = key?.curve === transaction.curve ? key : undefined;
    return {
      ...(await signingKeyFacts(read, organization.id, signWith)),
      ...(await transaction.facts(read, organization.id, fits)),
    };
  },
  concurrent: true,
  async check(intent, { organizationId }) {
    if (isLong(intent)) await turn(organizationId);
    transactionOf(intent);
  },
  prepare,
  async run({ intent, tx, organization, prepared: { key, signedTransaction } }) {
    await requireSameKey(tx, organization.id, intent.signWith, key);
    return { signedTransaction };
  },
});

/** Parsing or assembling a longer transaction blocks the event loop noticeably, so the organization must wait its turn for it. */
const LONG_TRANSACTION_LENGTH = 16 * 1024;
const isLong = ({ unsignedTransaction }: Intent): boolean => unsignedTransaction.length > LONG_TRANSACTION_LENGTH;

/** Parsed transactions by intent, so that check, policies and signing parse a transaction only once. */
const parsed = new WeakMap<Intent, ChainTransaction>();

function transactionOf(intent: Intent): ChainTransaction {
  const known = parsed.get(intent);
  if (known) return known;
  const transaction = parseTransactionOf(intent.type, intent.unsignedTransaction);
  parsed.set(intent, transaction);
  return transaction;
}

async function prepare(context: PrepareContext<Intent, "sign">) {
  const { signWith, type } = context.intent;
  const key = await findSigningKey(context.read, context.organization.id, signWith);
  const transaction = transactionOf(context.intent);
  if (key.curve !== transaction.curve) {
    const reason = `names a key on ${key.curve}, but ${type} requires one on ${transaction.curve}`;
    fail("FIELD_INVALID", { field: "parameters.signWith", reason });
  }
  const tasks = await transaction.tasks(key, context.organization.id);
  const signatures: Signature[] = new Array(tasks.length);
  for (const [scheme, group] of Map.groupBy(tasks.entries(), ([, task]) => task.scheme)) {
    const payloads = group.map(([, { payload }]: [number, SigningTask]) => payload);
    const made = await askSigner(context, key, { scheme, hash: "none", payloads });
    for (const [at, [index]] of group.entries()) signatures[index] = made[at] as Signature;
  }
  if (isLong(context.intent)) await turn(context.organization.id);
  return { key, signedTransaction: transaction.assemble(key, signatures).toString("hex") };
}
